import { readFileSync } from 'node:fs';
import path from 'node:path';

/** A name that an entry of the package exports. */
export interface Exported {
  readonly name: string;
  /** The first sentence of its comment. */
  readonly text: string;
}

/** The entries of the package: the specifier, and its source. */
export const ENTRIES: Readonly<Record<string, string>> = {
  cronlease: 'src/index.ts',
  'cronlease/runner': 'src/runner/index.ts',
  'cronlease/client': 'src/client/index.ts',
  'cronlease/testing': 'src/testing/index.ts',
};

/** Every export of an entry, in order. Each must have a comment, or be the answer of an operation of the client. */
export function exportsOf(root: string, entry: string): Exported[] {
  const source = readFileSync(path.join(root, entry), 'utf8');
  return statements(source).flatMap(({ names, from }) => {
    const file = from === undefined ? entry : `${path.posix.join(path.posix.dirname(entry), from)}.ts`;
    const declaring = readFileSync(path.join(root, file), 'utf8');
    return (names ?? declaredIn(declaring)).map((name) => exported(declaring, name, file, source));
  });
}

interface Statement {
  /** Undefined for all that the file declares. */
  readonly names: readonly string[] | undefined;
  readonly from?: string;
}

function statements(source: string): Statement[] {
  const found = [...source.matchAll(/^export (?:type )?(?:\{([^}]*)\}|(\*)) from '([^']+)';/gm)].map(
    ([, list = '', star, from = '']): Statement => ({ names: star === undefined ? namesIn(list) : undefined, from }),
  );
  return [...found, { names: declaredIn(source) }];
}

function namesIn(list: string): string[] {
  return list
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

function declaredIn(source: string): string[] {
  return [...source.matchAll(/^export (?:interface|type|function|class|const) (\w+)/gm)].map(([, name = '']) => name);
}

function exported(declaring: string, name: string, file: string, entry: string): Exported {
  const comment = String.raw`(?:/\*\*((?:(?!\*/).)*)\*/\n)?`;
  const declaration = new RegExp(
    `${comment}export (?:async |abstract )?(?:function|class|interface|type|const) ${name}\\b`,
    's',
  ).exec(declaring);
  if (declaration === null) throw new Error(`${file} does not declare ${name}`);
  const [, text] = declaration;
  const meaning = text === undefined ? answerOf(entry, name) : firstSentence(text);
  if (meaning === undefined) throw new Error(`${file}: ${name} has no comment`);
  return { name, text: meaning };
}

function answerOf(client: string, name: string): string | undefined {
  const methods = [...client.matchAll(/^ {2}(\w+)\((?:(?!Promise<).)*\): Promise<(?:api\.)?(\w+)>;/gms)]
    .filter(([, , answer]) => answer === name)
    .map(([, method]) => `\`${method}\``);
  return methods.length === 0 ? undefined : `The answer of ${methods.join(', ')}.`;
}

function firstSentence(comment: string): string {
  const [before = ''] = comment.replaceAll(/\s*\n\s*\*?[ ]?/g, '\n').split(/\n\n|\n@/);
  const text = before
    .trim()
    .replaceAll('\n', ' ')
    .replaceAll(/\{@link (?:\w+\.)?(\w+)\}/g, '`$1`');
  return /^.*?\.(?= [A-Z`]|$)/s.exec(text)?.[0] ?? text;
}
