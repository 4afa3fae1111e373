/** Whether a JOB of the command line may select several jobs. */
export function isPattern(text: string): boolean {
  return text.includes('*');
}

/** Whether a JOB of the command line selects the job of this name. A `*` stands for any characters, or none. */
export function selects(text: string, name: string): boolean {
  const parts = text.split('*').map((part) => part.replaceAll(/[^a-z0-9]/gi, String.raw`\$&`));
  return new RegExp(`^${parts.join('.*')}$`).test(name);
}
