export interface LogicalLine {
  /** Of its beginning. Lines count from 1. */
  readonly line: number;
  readonly text: string;
}

/** The lines of a file of settings: trimmed, without empty lines and comments, and joined where a backslash ends one. */
export function logicalLines(text: string, comment: RegExp): readonly LogicalLine[] {
  const found: { line: number; text: string }[] = [];
  let open: { line: number; text: string } | undefined;
  for (const [index, raw] of text.split(/\r?\n/).entries()) {
    const part = raw.trim();
    if (open === undefined && (part === '' || comment.test(part))) continue;
    const line: { line: number; text: string } = open ?? { line: index + 1, text: '' };
    const continues = /(?<!\\)(?:\\\\)*\\$/.test(part);
    line.text += continues ? part.slice(0, -1) : part;
    if (continues) open = line;
    else {
      found.push(line);
      open = undefined;
    }
  }
  if (open !== undefined) found.push(open);
  return found;
}
