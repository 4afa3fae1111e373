import { FORMAT } from './metadata';

/**
 * A row that changes its storage account, as metadata. Older versions do not touch these forms, as those of a newer
 * one.
 */

type RowMetadata = Readonly<Record<string, string>>;

const LIVE = String(FORMAT);
const ARRIVING = 'arriving';
const MOVED = 'moved';

/** `arriving`: a copy that counts once the original has been marked as moved. `moved`: another account has the job. */
export type RowForm = 'live' | 'arriving' | 'moved';

/** Rows that something else wrote count as live: they are left where they are. */
export function formOf({ format }: RowMetadata): RowForm {
  return format === ARRIVING || format === MOVED ? format : 'live';
}

/**
 * The copy of a row, for its new account. Its token is never lower than one that this account has seen.
 *
 * @param there the row of the job in that account, from an earlier time
 */
export function arrivingRow(row: RowMetadata, there: RowMetadata | undefined): RowMetadata {
  const token = Math.max(tokenOf(row), there === undefined ? 0 : tokenOf(there));
  return { ...row, token: String(token), format: ARRIVING };
}

/** The row that remains in the old account. */
export function movedRow(row: RowMetadata, to: string): RowMetadata {
  return { format: MOVED, token: String(tokenOf(row)), movedto: to };
}

export function arrivedRow(row: RowMetadata): RowMetadata {
  return { ...row, format: LIVE };
}

/** Where a row has moved; undefined: it has not. */
export function movedTo(row: RowMetadata): string | undefined {
  return formOf(row) === 'moved' ? row['movedto'] : undefined;
}

/** Why a row that is not live cannot be used here, and what to do; undefined for any other row. */
export function notHere(row: RowMetadata): string | undefined {
  switch (formOf(row)) {
    case 'live':
      return undefined;
    case 'arriving':
      return 'the job is on its way here from another store: repeat the command that moves it';
    case 'moved':
      return `the job has moved to ${row['movedto'] ?? 'another store'}: look for it there`;
  }
}

function tokenOf({ token }: RowMetadata): number {
  return /^\d{1,16}$/.test(token ?? '') ? Number(token) : 0;
}
