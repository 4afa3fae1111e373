/** Whether a text may select several jobs. */
export function isPattern(text: string): boolean {
  return text.includes('*');
}

/** Whether a text selects the job of this name. A `*` stands for any characters, or none. */
export function selects(text: string, name: string): boolean {
  const [first = '', ...parts] = text.split('*');
  const last = parts.pop();
  if (last === undefined) return text === name;
  // The first place of each part is the best one. A regular expression would try them all.
  let end = first.length;
  for (const part of parts) {
    const found = name.indexOf(part, end);
    if (found < 0) return false;
    end = found + part.length;
  }
  return name.startsWith(first) && name.length - last.length >= end && name.endsWith(last);
}
