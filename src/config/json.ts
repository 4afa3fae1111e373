import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { ConfigError, type FilePosition, type Path, type PathIssue, valueAt } from './config-error';

/** Counted from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** A member that a file has twice. JSON.parse would silently keep the last one. */
interface DuplicateMember extends Position {
  readonly path: Path;
  /** The value that came last. */
  readonly value: unknown;
}

interface ReadJson {
  readonly value: unknown;
  readonly duplicates: readonly DuplicateMember[];
  /** Where the name of a member, or an item of a list, begins. Of a member that is missing: where its parent does. */
  readonly positionAt: (path: Path) => Position;
}

/** Text that is not JSON, with the place of the first error. Lines and columns count from 1. */
export class JsonError extends Error {
  readonly code = 'InvalidJson';
  override readonly name = 'JsonError';

  constructor(
    message: string,
    readonly line: number,
    readonly column: number,
  ) {
    super(message);
  }
}

const SPACE = /[ \t\r\n]*/y;
// Everything except quotes, backslashes and control characters; then the same after each escape.
const STRING = /"[ !#-[\]-\uffff]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[ !#-[\]-\uffff]*)*"/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /true|false|null/y;
const WORDS: ReadonlyMap<string, boolean | null> = new Map([
  ['true', true],
  ['false', false],
  ['null', null],
]);
const DEEPEST = 200;

/** Where the members of an object, or the items of a list, begin. */
type Starts = Map<string | number, number>;

/**
 * Reads JSON as JSON.parse does. It also reports duplicate members, and the line and column of an error.
 * @throws JsonError
 */
export function parseJson(text: string): ReadJson {
  const duplicates: DuplicateMember[] = [];
  const startsIn = new WeakMap<object, Starts>();
  const positionOf = positionsIn(text);
  const path: (string | number)[] = [];
  let at = 0;

  const fail = (message: string): never => {
    const { line, column } = positionOf(at);
    throw new JsonError(message, line, column);
  };
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0];
    at += found?.length ?? 0;
    return found;
  };
  /** The next character after white space. */
  const peek = (): string | undefined => {
    take(SPACE);
    return text[at];
  };
  const string = (): string => {
    const found = take(STRING);
    if (found === undefined) return fail('text is not closed, or holds a line break or a wrong escape');
    return found.includes('\\') ? String(JSON.parse(found)) : found.slice(1, -1);
  };

  const object = (): Record<string, unknown> => {
    const members: Record<string, unknown> = {};
    const starts: Starts = new Map();
    startsIn.set(members, starts);
    at += 1;
    if (peek() === '}') at += 1;
    else {
      do {
        const next = peek();
        const start = at;
        if (next !== '"') fail(`expected a member's name in double quotes, ${found(text, at)}`);
        const key = string();
        starts.set(key, start);
        if (peek() !== ':') fail(`expected ":" after ${JSON.stringify(key)}, ${found(text, at)}`);
        at += 1;
        path.push(key);
        const value = parse();
        if (Object.hasOwn(members, key)) duplicates.push({ path: [...path], value, ...positionOf(start) });
        if (key === '__proto__') defineMember(members, key, value);
        else members[key] = value;
        path.pop();
      } while (more('}'));
    }
    return members;
  };
  const array = (): unknown[] => {
    const items: unknown[] = [];
    const starts: Starts = new Map();
    startsIn.set(items, starts);
    at += 1;
    if (peek() === ']') at += 1;
    else {
      do {
        path.push(items.length);
        peek();
        starts.set(items.length, at);
        items.push(parse());
        path.pop();
      } while (more(']'));
    }
    return items;
  };
  /** Whether another member or item follows. */
  const more = (close: string): boolean => {
    const next = peek();
    if (next !== ',' && next !== close) fail(`expected "," or "${close}", ${found(text, at)}`);
    at += 1;
    if (next === close) return false;
    if (peek() === close) fail(`a comma before "${close}"`);
    return true;
  };
  const parse = (): unknown => {
    if (path.length > DEEPEST) fail(`nested deeper than ${DEEPEST} levels`);
    const next = peek();
    if (next === '{') return object();
    if (next === '[') return array();
    if (next === '"') return string();
    const word = take(WORD);
    if (word !== undefined) return WORDS.get(word);
    const number = take(NUMBER);
    return number === undefined ? fail(`expected a value, ${found(text, at)}`) : Number(number);
  };

  const value = parse();
  if (peek() !== undefined) fail(`expected the end of the file, ${found(text, at)}`);
  const positionAt = (wanted: Path): Position => {
    let start = text.search(/\S/);
    let inner = value;
    for (const key of wanted) {
      const next = typeof inner === 'object' && inner !== null ? startsIn.get(inner)?.get(key) : undefined;
      if (next === undefined) break;
      start = next;
      inner = valueAt(inner, [key]);
    }
    return positionOf(start);
  };
  return { value, duplicates, positionAt };
}

/** An assignment would change the object's prototype, and the member would vanish. */
function defineMember(members: object, key: string, value: unknown): void {
  Object.defineProperty(members, key, { value, enumerable: true, configurable: true, writable: true });
}

function found(text: string, at: number): string {
  const next = text[at];
  if (next === undefined) return 'but the file ends';
  if (text.startsWith('//', at) || text.startsWith('/*', at)) return 'found a comment, which JSON does not allow';
  if (next === "'") return 'found a single quote: JSON allows only double quotes';
  return `found ${JSON.stringify(next)}`;
}

/** Finds lines and columns. A file may have an issue on each of its lines. */
function positionsIn(text: string): (at: number) => Position {
  let starts: readonly number[] | undefined;
  return (at) => {
    starts ??= [0, ...Array.from(text.matchAll(/\n/g), ({ index }) => index + 1)];
    let [low, high] = [0, starts.length];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((starts[middle] ?? 0) <= at) low = middle;
      else high = middle;
    }
    return { line: low + 1, column: at - (starts[low] ?? 0) + 1 };
  };
}

const EXAMPLE = '{"jobs": {"nightly-report": {"schedule": "0 3 * * *"}}}';

/** Reads a file, from a file system or elsewhere. Its errors have the codes of `node:fs`. */
export type ReadFile = (path: string) => Uint8Array;

interface ReadJsonFile {
  readonly value: unknown;
  /** The second of two members with one name. The first is ignored. */
  readonly duplicates: readonly PathIssue[];
  readonly placeAt: (path: Path) => FilePosition;
}

/**
 * Reads a JSON file.
 * @throws ConfigError if the file does not exist, cannot be read, or is not JSON in UTF-8
 */
export function readJsonFile(file: string, baseFolder: string, readFile: ReadFile = readFileSync): ReadJsonFile {
  const text = decode(readBytes(resolve(baseFolder, file), file, readFile), file);
  try {
    const { value, duplicates, positionAt } = parseJson(text);
    return {
      value,
      duplicates: duplicates.map(({ path, value: last, line, column }) => ({
        path,
        value: last,
        message: 'is a duplicate',
        place: { file, line, column },
        remedy: 'keep one of the two, or give this one another name',
      })),
      placeAt: (path) => ({ file, ...positionAt(path) }),
    };
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    const { line, column, message } = error;
    const issue = { path: '$', value: null, message: `the file is not JSON: ${message}`, remedy: 'correct that place' };
    throw new ConfigError([{ ...issue, place: { file, line, column } }], [], file, { cause: error });
  }
}

function readBytes(path: string, file: string, readFile: ReadFile): Uint8Array {
  try {
    return readFile(path);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    switch (code) {
      case 'ENOENT':
      case 'ENOTDIR':
        throw unusable(file, `${path} does not exist`, `create it, such as ${EXAMPLE}, or name another file`, error);
      case 'EISDIR':
        throw unusable(file, `${path} is a folder`, 'name the file in it', error);
      case 'EACCES':
      case 'EPERM':
        throw unusable(file, `${path} cannot be read: permission denied`, 'give this user read permission', error);
      default:
        throw unusable(file, `${path} cannot be read: ${String(error)}`, 'name a file that can be read', error);
    }
  }
}

/** The bytes as text, without a byte order mark. */
function decode(bytes: Uint8Array, file: string): string {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw unusable(file, 'the file is not text in UTF-8', 'save it as UTF-8', error);
  }
  if (text.trim() === '') throw unusable(file, 'the file is empty', `must be such as ${EXAMPLE}`);
  return text;
}

function unusable(file: string, message: string, remedy: string, cause?: unknown): ConfigError {
  return new ConfigError([{ path: '$', value: null, message, remedy }], [], file, { cause });
}
