import type { Kept } from '../../handler/call-handler';
import type { HeldRow } from '../held';
import { KEPT, keptPiece } from '../kept-end';
import { asking, listPieces, readPiece } from './fan-out';

/** The text that a run keeps, in pieces like those of a fan-out. */
export interface KeptPieces extends Kept {
  /** Whether this attempt has written a piece. */
  readonly isUsed: boolean;
}

/**
 * Each text is a new piece, and the newest counts. Its name begins with the token of its claim: a former
 * holder that writes too late writes an older piece than its successor. Decision 130.
 */
export function keptBy(held: HeldRow): KeptPieces {
  const { job, key, row } = held;
  let written = 0;
  let newest: Promise<string | undefined> | undefined;
  const readNewest = async (): Promise<string | undefined> => {
    const pieces = await listPieces(held, key);
    const last = pieces
      .map((piece) => piece.name)
      .filter((piece) => piece.startsWith(KEPT))
      .toSorted()
      .at(-1);
    const text = last === undefined ? '' : await readPiece(held, last);
    return text === '' ? undefined : text;
  };
  return {
    get isUsed() {
      return written > 0;
    },
    read: () => (newest ??= readNewest()),
    async keep(text) {
      const name = keptPiece(row.token, written);
      written += 1;
      newest = undefined;
      const piece = { body: text, summary: {} };
      await asking(held, (store, signal) => store.createPiece(job.spec.name, key, name, piece, { signal }));
    },
  };
}
