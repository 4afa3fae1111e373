import type { JobSpec } from '../../../src/core/job';
import { parseRecordKey, recordKey } from '../../../src/core/key';
import { type Row, keptForMs } from '../../../src/core/row';
import { metAt } from './requires';
import {
  type Execution,
  type FailedOver,
  type JobFacts,
  type Report,
  isFinal,
  isRequest,
  keyText,
  short,
} from '../world/facts';

/** The first tick of a process that was started, and a probe of its task hub by the next one. */
export const RUNS_AGAIN_WITHIN_MS = 45_000;

const UNRUN_REASONS: ReadonlySet<string> = new Set(['failedOver', 'disabled']);
const RUN_REASONS: ReadonlySet<string> = new Set(['failedOver', 'holderLost']);

/** `recover` raises the token above all that were given out, even those that storage has lost. */
export function tokenRaised({ name }: JobFacts, { tokens }: FailedOver, row: Row, report: Report): void {
  if (row.token <= tokens) {
    report('tokenUsedAgain', name, `recovered with token ${String(row.token)}, and ${String(tokens)} was given out`);
  }
}

/** Looks at a job that `recover` has just repaired. */
export function checkRecovered(facts: JobFacts, spec: JobSpec, until: number, report: Report): void {
  const { name, row, records, failedOver } = facts;
  if (row === undefined) {
    report('notRecovered', name, 'it has no row after recovery');
    return;
  }
  if (row.token <= (failedOver?.tokens ?? 0)) report('notRecovered', name, 'its token was not raised');
  if (spec.kind === 'timed' && row.cursor < until - spec.offsetMs) {
    report(
      'notRecovered',
      name,
      `its cursor is ${short(row.cursor)}, and everything up to ${short(until)} may have run`,
    );
  }
  for (const [key, { record }] of records) {
    if (record.state === 'open' && key !== row.run?.key) {
      report('notRecovered', name, `record ${keyText(key)} is open, and no row continues it`);
    }
  }
  if (failedOver !== undefined) checkRequests(facts, spec, failedOver, until, report);
  if (failedOver !== undefined) checkReasons(facts, failedOver, { until, offsetMs: spec.offsetMs }, report);
}

/** Nothing tells a record of an earlier time that the failover lost from one that retention has deleted. */
export function keptSinceAt({ at, row }: FailedOver, { keepMs }: JobSpec): number {
  return at - (row === undefined ? keepMs : keptForMs(row, keepMs));
}

/**
 * A request that the control still shows has its record, unless the row continues it or the ticks take it, or retention
 * may have deleted it.
 */
function checkRequests(
  { name, row, records, controls }: JobFacts,
  spec: JobSpec,
  failedOver: FailedOver,
  until: number,
  report: Report,
): void {
  const { at } = failedOver;
  const keptSince = keptSinceAt(failedOver, spec);
  const returned = controls.find((version) => version.at === at)?.control.manualRuns ?? [];
  for (const { id, time, number } of returned) {
    const key = recordKey(time, id);
    const isOpen = number > (row?.manualTaken ?? 0) || row?.run?.key === key;
    if (time > keptSince && time <= until && !isOpen && !records.has(key)) {
      report('notRecovered', name, `request ${keyText(key)} was taken, and has no outcome`);
    }
  }
}

/** A record that was written since the failover has one of the reasons of `recover`, unless the old row owed it. */
function checkReasons(
  { name, records }: JobFacts,
  { at, row, called }: FailedOver,
  { until, offsetMs }: { readonly until: number; readonly offsetMs: number },
  report: Report,
): void {
  for (const [key, { record, span, writtenAt }] of records) {
    if (writtenAt < at || row?.owed.some(({ from }) => from === span[0]) === true) continue;
    const reasons = record.trigger === null ? UNRUN_REASONS : RUN_REASONS;
    // No one knew the end of that run before the failover.
    const isUnknown = record.reason === 'outcomeUnknown' && row?.phase === 'idle' && row.run?.key === key;
    if (!isUnknown && !reasons.has(String(record.reason))) {
      report('wrongReason', name, `${keyText(key)} is ${String(record.reason)} after its recovery`);
    }
    const ran = [...called].find((run) => isWithin(run, key, span));
    if (record.reason !== 'failedOver' && record.trigger === null && ran !== undefined) {
      report('wrongReason', name, `${keyText(key)} is ${String(record.reason)} after its recovery, and ran before it`);
    }
    if (!isRequest(key) && record.trigger === null && span[1] + offsetMs > until && !passed(row, span[1])) {
      report('wrongReason', name, `${keyText(key)} is decided up to ${short(span[1])}, later than ${short(until)}`);
    }
  }
}

/** Whether a run is that of a record, or of a due time that the record covers. */
function isWithin(run: string, key: string, [from, through]: readonly [number, number]): boolean {
  if (isRequest(run) || isRequest(key)) return run === key;
  const due = parseRecordKey(run)?.scheduledFor ?? 0;
  return from <= due && due <= through;
}

/** Whether the row that returned had decided this due time. */
function passed(row: Row | undefined, due: number): boolean {
  return row !== undefined && due <= row.cursor;
}

/** After the recovery, no run that may have run is called again, except the run of the row. */
export function checkNotAgain(
  { name, failedOver, specs }: JobFacts,
  { process }: Execution,
  key: string,
  report: Report,
): void {
  const recovered = failedOver?.recovered;
  if (failedOver === undefined || recovered === undefined || key === recovered.run) return;
  // A person's machine slept between the time of the request and its write, which came after the failover.
  const isNew = isRequest(key) && !recovered.manualRuns.has(key);
  const offsetMs = isRequest(key) ? 0 : (specs[0]?.offsetMs ?? 0);
  const due = (parseRecordKey(key)?.scheduledFor ?? 0) + offsetMs;
  const what = `handler of ${keyText(key)} was called on ${process.id} after the recovery`;
  if (failedOver.called.has(key)) report('ranAgain', name, `${what}, and before the failover`);
  else if (due <= recovered.until && !isNew) {
    report('ranAgain', name, `${what}, and everything up to ${short(recovered.until)} may have run`);
  }
}

/** No job stands still once the deployments have started again. */
export function checkRunsAgain(facts: JobFacts, spec: JobSpec, now: number, report: Report): void {
  const { name, row, started, claims, controls, failedOver } = facts;
  const { at } = failedOver?.recovered ?? { at: now };
  if (spec.kind !== 'timed' || !spec.enabled) return;
  // The end of a pause may take the pause out of the control, and only a sweep shows it.
  const first = Math.max(
    0,
    controls.findLastIndex((version) => version.at <= at),
  );
  const pauses = controls.slice(first).flatMap(({ control }) => control.pauses);
  if (pauses.some(({ until = Infinity }) => until > at)) return;
  const due = spec.timetable.next(at - spec.offsetMs);
  if (due === undefined || due + spec.offsetMs > now - RUNS_AGAIN_WITHIN_MS) return;
  if (spec.requires.length > 0) {
    // It waits for the jobs that it requires, or has expired.
    if ((row?.cursor ?? 0) >= due || metAt(facts, spec, due) > now - RUNS_AGAIN_WITHIN_MS) return;
  }
  const isAtWork = row?.run !== undefined && row.phase !== 'idle' && !isFinal(facts, row.run.key);
  if (isAtWork || [...started.values(), ...claims.values()].some((one) => one.at > at)) return;
  report('standsStill', name, `${short(due)} is due, and nothing was claimed since its recovery at ${short(at)}`);
}
