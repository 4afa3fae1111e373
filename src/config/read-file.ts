import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { ConfigError, type Path, type PathIssue, type FilePosition } from './config-error';
import { JsonError, parseJson } from './json';

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
