import { parseRecordKey } from '../../src/core/key';
import type { Note } from './app/note';
import { dueTimes, type Evidence, outcomesOf, say } from './evidence';

/** What must never be, each occurrence of it in words. */
export interface Violations {
  /** Attempts that ran twice, handlers called after their run had ended, runs that ended twice, two who led at once. */
  readonly duplicates: readonly string[];
  /** Duplicates that the emulator's own loss of confirmed writes explains. */
  readonly forgiven: readonly string[];
  /** Due times without exactly one outcome in the ledger. */
  readonly losses: readonly string[];
  /** Losses that it explains. */
  readonly forgivenLosses: readonly string[];
  /** Fenced writes of an older leader that went in after a newer one's. */
  readonly staleWrites: readonly string[];
  /** Jobs that a deployment left alone, because it could not read what lies in storage. */
  readonly unreadable: readonly string[];
}

export function violationsIn(evidence: Evidence): Violations {
  const all = [...ranTwice(evidence), ...ranAfterEnd(evidence), ...endedTwice(evidence), ...ledTogether(evidence)];
  return {
    duplicates: all.filter((one) => !isForgiven(evidence, one)).map(({ what }) => what),
    forgiven: all.filter((one) => isForgiven(evidence, one)).map(({ what }) => what),
    ...lossesIn(evidence),
    staleWrites: staleWrites(evidence),
    unreadable: evidence.events.flatMap(({ event, reason = '', deployment }) =>
      event === 'unhealthy' && reason.includes('is left alone') ? [`${deployment}: ${reason}`] : [],
    ),
  };
}

function lossesIn(evidence: Evidence): Pick<Violations, 'losses' | 'forgivenLosses'> {
  const { jobs, span, ledger, traffic, forgotten } = evidence;
  const losses: string[] = [];
  const forgivenLosses: string[] = [];
  for (const { job, due } of dueTimes(jobs, span)) {
    const outcomes = outcomesOf(ledger, job, due).map(({ outcome }) => outcome);
    if (outcomes.length === 1) continue;
    // A run whose claim was forgotten was recorded all the same, and is in the way of a stretch that begins with it.
    const inTheWay = traffic.some(
      ({ call, status }) =>
        call.kind === 'record' &&
        call.job === job &&
        status === 409 &&
        due <= (call.through ?? 0) &&
        due >= (parseRecordKey(call.key)?.scheduledFor ?? Infinity),
    );
    // One that ran, and whose claim was forgotten, may lie within a stretch that was decided from the older row.
    const ran = claimWasForgotten(evidence, { first: { job, scheduledFor: due } });
    const found = forgotten !== undefined && (inTheWay || ran) ? forgivenLosses : losses;
    found.push(`${say(job, due)} has ${outcomes.length === 0 ? 'no outcome' : outcomes.join(' and ')}`);
  }
  return { losses, forgivenLosses };
}

interface Duplicate {
  readonly what: string;
  /** The earliest execution that it involves. */
  readonly first: Pick<Note, 'job' | 'scheduledFor'>;
}

/** Storage had confirmed a claim of the first execution, or the record of its end, and forgotten it. */
function isForgiven(evidence: Evidence, duplicate: Duplicate): boolean {
  return claimWasForgotten(evidence, duplicate) || recordWasForgotten(evidence, duplicate);
}

function claimWasForgotten({ forgotten, notes, traffic }: Evidence, { first }: Pick<Duplicate, 'first'>): boolean {
  const { job } = first;
  const started = notes.find(
    (note) => note.what === 'started' && note.job === job && note.scheduledFor === first.scheduledFor,
  );
  return traffic.some(
    ({ call, status, at }) =>
      call.kind === 'row' &&
      call.job === job &&
      call.token === started?.token &&
      status === 200 &&
      isWithin(forgotten, at),
  );
}

/** The row then shows a holder that died in mid-run. */
function recordWasForgotten({ forgotten, traffic }: Evidence, { first }: Duplicate): boolean {
  return traffic.some(
    ({ call, status, at }) =>
      call.kind === 'record' &&
      call.job === first.job &&
      call.state === 'final' &&
      parseRecordKey(call.key)?.scheduledFor === first.scheduledFor &&
      status === 201 &&
      isWithin(forgotten, at),
  );
}

function isWithin(span: Evidence['forgotten'], at: number): boolean {
  return span !== undefined && span.from <= at && at <= span.until;
}

/** No scenario requests a run, so a run that is not of the schedule is of the back-fill. */
function runOf(run: Pick<Note, 'job' | 'scheduledFor' | 'isBackfill'>): string {
  return say(run.job, run.scheduledFor) + (run.isBackfill === true ? ' back-filled' : '');
}

/** Two handler calls for one attempt of one due time. */
function ranTwice({ notes }: Evidence): Duplicate[] {
  const seen = new Set<string>();
  return notes
    .filter(({ what }) => what === 'started')
    .flatMap((note) => {
      const attempt = `${runOf(note)} attempt ${String(note.attempt)}`;
      if (!seen.has(attempt)) {
        seen.add(attempt);
        return [];
      }
      return [{ what: `${attempt} ran twice`, first: note }];
    });
}

/** A handler call after the run's final record was there. */
function ranAfterEnd({ notes, traffic }: Evidence): Duplicate[] {
  const ended = new Map<string, number>();
  for (const { call, status, at } of traffic) {
    if (call.kind !== 'record' || call.state !== 'final' || status !== 201) continue;
    const { scheduledFor = 0, request } = parseRecordKey(call.key) ?? {};
    const run = runOf({ job: call.job, scheduledFor, isBackfill: request !== undefined });
    if (!ended.has(run)) ended.set(run, at);
  }
  return notes
    .filter(({ what }) => what === 'started')
    .flatMap((note) => {
      const run = runOf(note);
      if (note.at <= (ended.get(run) ?? Infinity)) return [];
      return [{ what: `${run} attempt ${String(note.attempt)} ran after the run had ended`, first: note }];
    });
}

const ENDS = new Set(['succeeded', 'failed', 'timedOut', 'stalled', 'cancelled']);

function endedTwice({ events }: Evidence): Duplicate[] {
  const seen = new Set<string>();
  return events
    .filter(({ event }) => ENDS.has(event))
    .flatMap(({ runId = '', job = '', scheduledFor = '' }) => {
      if (!seen.has(runId)) {
        seen.add(runId);
        return [];
      }
      return [{ what: `${runId} ended twice`, first: { job, scheduledFor: Date.parse(scheduledFor) } }];
    });
}

/** Two executions of one job that trusted their leases at one time. */
function ledTogether({ notes, faults }: Evidence): Duplicate[] {
  const killed = new Map(faults.flatMap(({ kind, pid, from }) => (kind === 'killed' ? [[pid, from] as const] : [])));
  const terms = notes
    .filter(({ what }) => what === 'started')
    .map((note) => {
      const end = notes.find(({ what, ...other }) => what === 'ended' && isSameExecution(note, other));
      return { note, until: end?.trustedAt ?? killed.get(note.pid) ?? note.at };
    });
  return terms.flatMap(({ note, until }) =>
    terms
      .filter((other) => other.note.job === note.job && other.note.token > note.token && other.note.at < until)
      .map((other) => ({
        what: `${note.job} had tokens ${String(note.token)} and ${String(other.note.token)} at one time`,
        first: note,
      })),
  );
}

export function isSameExecution(a: Note, b: Pick<Note, 'job' | 'token' | 'pid' | 'scheduledFor'>): boolean {
  return a.job === b.job && a.token === b.token && a.pid === b.pid && a.scheduledFor === b.scheduledFor;
}

function staleWrites({ notes, traffic }: Evidence): string[] {
  const highest = new Map<string, number>();
  const overwritten = traffic.flatMap(({ call, status }) => {
    if (call.kind !== 'fenced' || status !== 201) return [];
    const before = highest.get(call.blob) ?? 0;
    highest.set(call.blob, Math.max(before, call.token));
    return call.token < before ? [`${call.blob}: token ${String(call.token)} wrote over ${String(before)}`] : [];
  });
  const late = notes
    .filter(({ what }) => what === 'wrote')
    .filter(({ job, token, begunAt }) =>
      notes.some(
        (other) =>
          other.what === 'started' && other.job === job && other.token > token && other.at < (begunAt ?? Infinity),
      ),
    )
    .map(({ job, token }) => `${job}: token ${String(token)} wrote after its successor had started`);
  return [...overwritten, ...late];
}
