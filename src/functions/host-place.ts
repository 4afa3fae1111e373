import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Place } from '../config/config-error';
import { JsonError, parseJson } from '../config/json';

/** A text, or a comment, which the host allows in this file. */
const TEXT_OR_COMMENT = /"(?:\\.|[^"\\])*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//g;

/**
 * The place of a member of host.json; of one that is missing, that of the object in which it is missing. Undefined: the
 * file has something besides comments that is not JSON, and that the host reads all the same.
 */
export function hostPlace(appFolder: string, member: readonly string[]): Place | undefined {
  const file = path.join(appFolder, 'host.json');
  const text = readFileSync(file, 'utf8').replace(/^\uFEFF/, '');
  const plain = text.replace(TEXT_OR_COMMENT, (found) =>
    found.startsWith('"') ? found : found.replace(/[^\n]/g, ' '),
  );
  try {
    return { file: path.relative(process.cwd(), file), ...parseJson(plain).positionAt(member) };
  } catch (error) {
    if (error instanceof JsonError) return undefined;
    throw error;
  }
}
