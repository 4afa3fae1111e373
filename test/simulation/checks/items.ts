import { parseItemPiece, PLAN_PIECE } from '../../../src/core/fan-out';
import type { LedgerRecord } from '../../../src/core/record';
import type { Row } from '../../../src/core/row';
import type { StoredRecord } from '../../../src/lease/store';
import { trusts } from './trust';
import { type ItemExecution, type JobFacts, type Report, keyText } from '../world/facts';

/**
 * Once its run has continued without it, an item trusts for at most this long.
 *
 * @see docs/decisions/085-items-trust-their-checks.md
 */
const TRUSTS_ON_MS = 20_000;
/** Clocks may run slower than the service's by this share. */
const DRIFT = 0.01;

/** Notes when a row is no longer left to the items of a token. */
export function leftToItems(facts: JobFacts, before: Row, row: Row, now: number, report: Report): void {
  const isHandedOn = row.phase === 'fanning' && row.token === before.token && row.itemsLeftAt !== undefined;
  const waits = row.phase === 'fanning' && row.token === before.token && !isHandedOn;
  if (before.phase !== 'fanning' || waits) return;
  facts.wentOn.set(before.token, facts.wentOn.get(before.token) ?? now);
  // The run was claimed before its items' deadline, and keeps it.
  const isEarly = row.phase === 'running' && row.notBefore !== undefined;
  if (!isHandedOn && !isEarly) return;
  for (const item of facts.items) {
    const { context, process } = item;
    if (process.dead || process.paused || context.fence.token !== before.token || !trusts(item)) continue;
    const what = `item ${String(context.index)} of ${context.runId} on ${process.id}`;
    report(
      'takenFromItems',
      facts.name,
      `${isHandedOn ? 'the run was handed on' : "the run was claimed for its items' silence"}, and ${what} trusts`,
    );
  }
}

/** A plan is made before its items are worked on: the ends of another plan's items must not count for it. */
export function pieceCreated(
  facts: JobFacts,
  key: string,
  name: string,
  { piece, now }: { readonly piece: StoredRecord; readonly now: number },
  report: Report,
): void {
  const pieces = facts.pieces.get(key) ?? new Map<string, number>();
  // A repeated call may arrive after the end, when some of the pieces are deleted. No one reads that plan.
  const isOver = facts.records.get(key)?.record.state === 'final';
  if (name === PLAN_PIECE && !isOver && [...pieces.keys()].some((other) => parseItemPiece(other) !== undefined)) {
    report('plannedOverItems', facts.name, `a plan of ${keyText(key)} was stored although items of it are done`);
  }
  facts.pieces.set(key, pieces.set(name, now));
  if (name === PLAN_PIECE) facts.planned.set(key, (JSON.parse(piece.body) as readonly unknown[]).length);
}

/** No item trusts for long after its run has continued, and no two calls for an item under two claims trust at once. */
export function checkItems(facts: JobFacts, now: number, report: Report): void {
  if (facts.items.size === 0) return;
  const trusting = new Map<string, ItemExecution>();
  for (const item of facts.items) {
    const { context, process } = item;
    if (process.dead || process.paused || !trusts(item)) continue;
    const { index, runId, fence } = context;
    const wentOn = facts.wentOn.get(fence.token);
    const what = `item ${String(index)} of ${runId} with token ${String(fence.token)} on ${process.id}`;
    if (wentOn !== undefined && now > wentOn + TRUSTS_ON_MS * (1 + DRIFT)) {
      report('itemTrustTooLong', facts.name, `${what} trusts ${(now - wentOn).toFixed(0)} ms after its run continued`);
    }
    const other = trusting.get(`${runId} ${String(index)}`);
    if (other !== undefined && other.context.fence.token !== fence.token) {
      report('itemTrustedTwice', facts.name, `${what} trusts, and so does ${other.process.id} under another claim`);
    }
    trusting.set(`${runId} ${String(index)}`, item);
  }
}

/** A run whose items were all done at its last claim does not end for lack of time. */
export function checkTimedOut(facts: JobFacts, key: string, record: LedgerRecord, report: Report): void {
  if (record.outcome !== 'timedOut' || record.reason !== 'timeout') return;
  const claim = facts.claimOf.get(record.token ?? 0);
  if (claim === undefined || facts.started.has(`${key} ${String(claim.row.attempt)}`)) return;
  const stored = [...(facts.pieces.get(key) ?? [])].filter(
    ([name, at]) => parseItemPiece(name) !== undefined && at < claim.at,
  );
  if (stored.length < (facts.planned.get(key) ?? Infinity)) return;
  report('doneTimedOut', facts.name, `${keyText(key)} timed out although all of its items were done`);
}
