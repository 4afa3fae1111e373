import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

const root = path.join(__dirname, '../..');

/** A block of code in README.md or a page of docs. */
export interface Example {
  readonly file: string;
  readonly language: string;
  readonly code: string;
  /** The end of the text before it. */
  readonly before: string;
}

export function docExamples(): readonly Example[] {
  const pages = readdirSync(path.join(root, 'docs'), { recursive: true, encoding: 'utf8' });
  return ['README.md', ...pages.filter((file) => file.endsWith('.md')).map((file) => path.join('docs', file))].flatMap(
    (file) => {
      const text = readFileSync(path.join(root, file), 'utf8');
      return [...text.matchAll(/^ *```(\w+)[^\n]*\n(.*?)^ *```$/gms)].map(
        ({ 1: language = '', 2: code = '', index }) => ({
          ...{ file, language, code },
          before: text.slice(Math.max(0, index - 400), index),
        }),
      );
    },
  );
}
