import { columnsOf } from './output';

const WIDTH = 80;

/** A text in lines of at most 80 columns; those after the first are indented. */
export function folded(text: string, indent = 2): readonly string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/(?<=\S) (?=\S)/)) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (line === '' || columnsOf(longer) <= WIDTH) line = longer;
    else {
      lines.push(line);
      line = ' '.repeat(indent) + word;
    }
  }
  return [...lines, line];
}
