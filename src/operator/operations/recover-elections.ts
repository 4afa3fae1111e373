import type { JobName } from '../../core/brand';
import { decodeFields, wholeIn } from '../../core/metadata';
import type { ElectionStore, ListedRow } from '../../lease/store';
import { inParallel } from '../../core/in-parallel';
import { type Refusal, orRefusal } from './refusal';
import { type LeaseTaker, letGo, takeLease, writeMetadata } from './take-lease';

/** The recovery of one election, planned or carried out. */
export type ElectionRecovery =
  | {
      readonly kind: 'recovered';
      readonly election: JobName;
      readonly token: { readonly from: number; readonly to: number };
    }
  | (Refusal & { readonly election: JobName });

/**
 * Raises the token of every election in the container after an asynchronous failover of its account. Stop every program
 * that campaigns before.
 */
export async function recoverElections(
  desk: LeaseTaker<ElectionStore>,
  { raiseBy, apply }: { readonly raiseBy: number; readonly apply: boolean },
): Promise<readonly ElectionRecovery[]> {
  const rows = await desk.store.listRows();
  return inParallel(rows, async ([election, row]) => ({
    election,
    ...(await orRefusal(() => recoverElection(desk, election, row, raiseBy, apply))),
  }));
}

const TOKEN = { token: wholeIn('token') };

async function recoverElection(
  desk: LeaseTaker<ElectionStore>,
  election: JobName,
  row: ListedRow,
  raiseBy: number,
  apply: boolean,
): Promise<Omit<Extract<ElectionRecovery, { kind: 'recovered' }>, 'election'>> {
  const from = decodeFields(TOKEN, row.metadata).token;
  const to = from + raiseBy;
  if (apply) {
    const holding = await takeLease(desk, election, row, `election "${election}"`);
    await writeMetadata(desk, holding, { ...row.metadata, token: String(to) });
    await letGo(desk, holding);
  }
  return { kind: 'recovered', token: { from, to } };
}
