import { type Backfill, backfillKey, nextOf } from '../../../src/core/backfill';
import type { Control } from '../../../src/core/control';
import type { JobSpec } from '../../../src/core/job';
import { parseRecordKey, recordKey } from '../../../src/core/key';
import type { Row } from '../../../src/core/row';
import { type JobFacts, type Report, isFinal, keyText, short } from '../world/facts';

/** The facts at the time of a decision for a back-fill. */
interface BackfillView {
  readonly spec: JobSpec;
  /** The controls that the decider may have known. */
  readonly controls: readonly Control[];
  /** When the listing of the decision was made. */
  readonly viewAt: number;
}

/** Whether no one has stopped it, and its schedule is the job's. */
function isWanted(backfill: Backfill | undefined, { scheduleHash }: JobSpec): backfill is Backfill {
  return backfill !== undefined && backfill.stopped === undefined && backfill.scheduleHash === scheduleHash;
}

/** The longest time between two sweeps. */
const SWEEP_MS = 60_000;

/** A claim of a back-filled due time: someone asked for it, no one has stopped it, and it had not succeeded. */
export function checkBackfilled(
  facts: JobFacts,
  { spec, controls, viewAt }: BackfillView,
  row: Row,
  report: Report,
): void {
  const { name, records } = facts;
  const { run } = row;
  if (run === undefined) return;
  const what = keyText(run.key);
  const id = parseRecordKey(run.key)?.request;
  const asked = controls.map(({ backfill }) => backfill).filter((backfill) => backfill?.id === id);
  const active = asked.find((backfill) => isWanted(backfill, spec));
  if (active === undefined) {
    report('wrongBackfill', name, `${what} was claimed, and was not wanted, or had been stopped`);
    return;
  }
  if (run.scheduledFor < active.from || run.scheduledFor > active.through) {
    report('wrongBackfill', name, `${what} lies beyond its back-fill`);
  }
  if (controls.every(({ pauses }) => pauses.some(({ until }) => until === undefined))) {
    report('wrongBackfill', name, `${what} was claimed while the job is paused`);
  }
  const first = records.get(recordKey(run.scheduledFor));
  if (!active.includeSucceeded && first?.record.outcome === 'succeeded' && first.writtenAt < viewAt) {
    report('wrongBackfill', name, `${what} was claimed although the due time has succeeded`);
  }
}

/** Whether no one hinders the job's back-fill any more, and something is left of it. */
export function isBackfilling({ row, controls }: JobFacts, spec: JobSpec): boolean {
  if (row === undefined || !spec.enabled) return false;
  if (row.backfill?.aside !== undefined) return true;
  if (hasOneWaiting(spec, row)) return false;
  const backfill = controls.at(-1)?.control.backfill;
  if (!isWanted(backfill, spec) || row.scheduleHash !== spec.scheduleHash) return false;
  return nextOf(spec, backfill, row.backfill?.id === backfill.id ? row.backfill.at : undefined) !== undefined;
}

/** Whether each sweep may meet a due time that waits for required jobs. It goes before the back-fill. */
function hasOneWaiting({ requires, timetable, requireWithinMs }: JobSpec, { cursor }: Row): boolean {
  const next = timetable.next(cursor);
  return requires.length > 0 && next !== undefined && next - cursor <= requireWithinMs + SWEEP_MS;
}

/** At the end each due time that a back-fill has come to has its own record, or had succeeded. */
export function checkBackfillsEnded(facts: JobFacts, spec: JobSpec, report: Report): void {
  const { name, row, records, controls, failedOver } = facts;
  if (isBackfilling(facts, spec)) report('backfillLeft', name, 'a back-fill is not over although nothing hinders it');
  const backfill = controls.at(-1)?.control.backfill;
  // `recover` ends the back-fills that it finds.
  const { at: recoveredAt = -Infinity } = failedOver?.recovered ?? {};
  const isEnded = controls.some(({ at, control }) => at <= recoveredAt && control.backfill?.id === backfill?.id);
  if (backfill === undefined || isEnded || row?.backfill?.id !== backfill.id || row.backfill.at === undefined) return;
  let due = nextOf(spec, backfill, undefined);
  for (; due !== undefined; due = nextOf(spec, backfill, due)) {
    const isPast = backfill.order === 'oldest' ? due <= row.backfill.at : due >= row.backfill.at;
    if (!isPast) return;
    const at = due;
    const hasSucceeded = [...records].some(
      ([key, { record }]) => parseRecordKey(key)?.scheduledFor === at && record.outcome === 'succeeded',
    );
    const key = backfillKey(backfill, due);
    const isOwn = isFinal(facts, key) || row.run?.key === key;
    if (!isOwn && (backfill.includeSucceeded || !hasSucceeded)) {
      report('backfillLeftOut', name, `${short(due)} was left out by back-fill ${backfill.id}`);
    }
  }
}
