/** The most names in {@link choiceInWords}. */
const NAMED = 5;

/** Which jobs an operator chose, the same words for the same choice: the end of planned work finds its beginning by it. */
export function choiceInWords({
  names,
  tag,
}: {
  readonly names: readonly string[];
  readonly tag?: string | undefined;
}): string {
  if (tag !== undefined) return `tag ${tag}`;
  if (names.length <= NAMED) return names.join(', ');
  return `${names.slice(0, NAMED).join(', ')} and ${String(names.length - NAMED)} more`;
}
