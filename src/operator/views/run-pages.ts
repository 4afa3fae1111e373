import { given } from '../../core/given';
import type { EpochMs, JobName, Millis, Token } from '../../core/brand';
import { type Outcome, RAN_OUTCOMES, UNRUN_OUTCOMES } from '../../core/outcome';
import { type JobSpec, actualTime } from '../../core/job';
import { wholeOf } from '../../core/item-table';
import { invertedTime, parseRecordKey, recordKey, runIdOf } from '../../core/key';
import { parsedJson } from '../../core/metadata';
import { type Origin, SCHEDULED, readOrigin } from '../../core/origin';
import { type Row, isAtRest } from '../../core/row';
import type { LedgerStore, ListedRecord } from '../../lease/store';
import { isWaiting } from '../../core/why';
import { inParallel } from '../../core/in-parallel';
import { type JobState, asideState } from '../job-state';
import type { JobEntry } from './list-jobs';
import { byText } from '../../core/text';

export interface ListedRun {
  readonly job: JobName;
  readonly key: string;
  readonly runId: string;
  readonly scheduledFor: EpochMs;
  readonly through?: EpochMs | undefined;
  readonly count: number | undefined;
  readonly outcome: Outcome | 'running' | 'retrying';
  readonly reason?: string | undefined;
  readonly trigger: string | undefined;
  readonly token: number | undefined;
  readonly startedAt: EpochMs | undefined;
  readonly endedAt?: EpochMs | undefined;
  readonly latenessMs?: Millis | undefined;
  /** How long it waited between its attempts. */
  readonly waitedMs: Millis;
  readonly origin: Origin | undefined;
  readonly rerunOf: EpochMs | undefined;
}

/** Who or what started a run, and why. Undefined: whether or not anything did. */
export interface StartFilter {
  readonly trigger?: string | undefined;
  /** Asked for by this person, or by the key of this name. */
  readonly actor?: string | undefined;
  /** Asked for from there: `schedule`, or a channel of {@link Origin}. */
  readonly channel?: string | undefined;
  /** Asked for with this text in the note, in upper or lower case. */
  readonly note?: string | undefined;
}

export interface RunFilter extends StartFilter {
  readonly outcomes?: readonly string[] | undefined;
  /** Failed, timed out or stalled. */
  readonly failed?: boolean | undefined;
  /** Due at this time or later. */
  readonly since?: EpochMs | undefined;
  /** Due before this time. */
  readonly until?: EpochMs | undefined;
}

export interface PagedJob {
  readonly name: JobName;
  readonly spec: JobSpec | undefined;
  /** Undefined: no coordinator has seen the job, or its row cannot be read. */
  readonly row: Row | undefined;
  /** The state of the row's run, unless its record has its end. Undefined: there is none in progress. */
  readonly current: 'running' | 'retrying' | undefined;
  /** Whether there is a row that cannot be read: it may have records of any age. */
  readonly isUnreadable: boolean;
  /** The row as if the back-filled run that waits while due times go first were its own. Undefined: there is none. */
  readonly aside?: Row | undefined;
  /** The time of the newest manual run that its control has. Undefined: it has none. */
  readonly requestedAt?: EpochMs | undefined;
}

export function pagedJob({ name, spec, listed, state }: JobEntry): PagedJob {
  const row = state?.row;
  const current = row === undefined ? undefined : stateOfRun(row, state?.lease);
  const isUnreadable = listed !== undefined && state === undefined;
  const requests = state?.control.manualRuns.map(({ time }) => time) ?? [];
  const requestedAt = requests.toSorted((a, b) => a - b).at(-1);
  return { name, spec, row, current, isUnreadable, aside: state && asideState(state).row, requestedAt };
}

function stateOfRun(row: Row, lease: JobState['lease'] | undefined): PagedJob['current'] {
  if (isAtRest(row, lease)) return undefined;
  return isWaiting(row, lease) ? 'retrying' : 'running';
}

/** The outcomes of runs that did not succeed, other than by a person's wish. */
export const FAILED_OUTCOMES: readonly string[] = ['failed', 'timedOut', 'stalled'];

/** The last run of the page before. */
export interface PageStart {
  readonly key: string;
  readonly job: string;
}

export interface RunPage {
  readonly runs: readonly ListedRun[];
  /** Where the next page begins; undefined: there is none. A page may be short, or empty, before the end. */
  readonly next: PageStart | undefined;
}

const OUTCOMES: readonly string[] = [...RAN_OUTCOMES, ...UNRUN_OUTCOMES];
/** The most listings of one job for one page, without those that find nothing. */
const LISTINGS = 10;
/** Records of one listing: some hundred bytes each. */
const RECORDS = 1_000;
const KEY_DIGITS = 13;
const LATEST: EpochMs = 10 ** KEY_DIGITS - 1;
/** For a job without a timetable: a prefix with as many digits stands for 28 hours. */
const HEAD_DIGITS = 5;

/**
 * One page of the runs of one job or several, newest first. Rows show which jobs have anything new enough, and only
 * those are listed: at most one listing of each for the first page of runs without a filter.
 */
export async function pageOfRuns(
  store: LedgerStore,
  jobs: readonly PagedJob[],
  filter: RunFilter,
  { limit, start }: { readonly limit: number; readonly start: PageStart | undefined },
): Promise<RunPage> {
  const found: ListedRun[] = [];
  /** Nothing older than this is complete: a job was not searched any further. */
  let horizon: PageStart | undefined;
  const waiting = jobs.toSorted((a, b) => newest(b) - newest(a));
  while (waiting.length > 0) {
    const enough = found.sort(byAge)[limit - 1];
    // Its keys are later than the page's last one, so the job has nothing for this page.
    const next = waiting
      .filter((job) => enough === undefined || recordKey(newest(job)) <= enough.key)
      .slice(0, AT_ONCE);
    if (next.length === 0) break;
    for (const job of next) waiting.splice(waiting.indexOf(job), 1);
    const searched = await inParallel(next, (job) => search(store, job, filter, { limit, start }));
    for (const { runs, stoppedAt } of searched) {
      found.push(...runs);
      if (stoppedAt !== undefined && (horizon === undefined || isBefore(stoppedAt, horizon))) horizon = stoppedAt;
    }
  }
  const complete = found.sort(byAge).filter((run) => horizon === undefined || !isBefore(horizon, run));
  const runs = complete.slice(0, limit);
  const last = runs.at(-1);
  if (complete.length > limit && last !== undefined) return { runs, next: { key: last.key, job: last.job } };
  return { runs, next: horizon };
}

const AT_ONCE = 32;

/** The newest time that the job may have a record of. A manual or back-filled run may be newer than the cursor. */
function newest({ row, isUnreadable, requestedAt = 0 }: PagedJob): EpochMs {
  if (row === undefined) return isUnreadable ? LATEST : requestedAt;
  const { cursor, run, claimedAt = 0, forgotten = 0 } = row;
  return Math.max(cursor, run?.scheduledFor ?? 0, claimedAt, forgotten, requestedAt);
}

/**
 * The first runs of a job after `start` that pass the filter: one more than the limit where there are more. `stoppedAt`
 * is the last record that was looked at, if there may be more.
 */
async function search(
  store: LedgerStore,
  job: PagedJob,
  filter: RunFilter,
  { limit, start }: { readonly limit: number; readonly start: PageStart | undefined },
): Promise<{ readonly runs: readonly ListedRun[]; readonly stoppedAt?: PageStart | undefined }> {
  const runs: ListedRun[] = [];
  const pending = [...unendedRuns(job)];
  const take = (run: ListedRun): void => {
    if (isBefore(start ?? BEFORE_ALL, run) && passes(run, filter)) runs.push(run);
  };
  let last: string | undefined;
  let isOver = false;
  let listings = 0;
  const first = firstKey(filter, start);
  for (const prefix of prefixesFrom(first, headDigits(job, limit))) {
    let continuation: string | undefined;
    do {
      if (runs.length > limit || isOver) {
        return { runs, stoppedAt: runs.length > limit ? at(job, runs[limit]?.key ?? last) : undefined };
      }
      if (listings >= LISTINGS && last !== undefined) return { runs, stoppedAt: at(job, last) };
      const few = isSelective(filter) || first !== undefined ? RECORDS : limit + 1;
      const request = { prefix, limit: Math.min(RECORDS, few), ...given({ continuation }) };
      const page = await store.listRecords(job.name, request);
      if (page.records.length > 0) listings += 1;
      for (const record of page.records) {
        const run = listedRun(job, record);
        if (run === undefined) continue;
        last = run.key;
        isOver ||= endsSearch(job, run, filter);
        while (pending[0] !== undefined && pending[0].key <= run.key) {
          if (pending[0].key < run.key) take(pending[0]);
          pending.shift();
        }
        take(run);
      }
      continuation = page.continuation;
    } while (continuation !== undefined);
  }
  for (const open of pending) take(open);
  return { runs };
}

const BEFORE_ALL: PageStart = { key: '', job: '' };

function at(job: PagedJob, key: string | undefined): PageStart | undefined {
  return key === undefined ? undefined : { key, job: job.name };
}

/** The smallest key that is wanted; undefined: the newest record. */
function firstKey({ until }: RunFilter, start: PageStart | undefined): string | undefined {
  const keys = [start?.key, until === undefined ? undefined : invertedTime(until)].filter((key) => key !== undefined);
  return keys.length === 0 ? undefined : keys.reduce((a, b) => (a > b ? a : b));
}

/** Prefixes of all keys from this one on, in order: a listing without a prefix begins with the newest record. */
function* prefixesFrom(key: string | undefined, head: number): Generator<string> {
  if (key === undefined) {
    yield '';
    return;
  }
  const digits = key.slice(0, KEY_DIGITS);
  yield digits.slice(0, head);
  for (let length = head - 1; length >= 0; length -= 1) {
    const before = digits.slice(0, length);
    for (const digit of '123456789'.slice(Number(digits[length]))) yield before + digit;
  }
}

/** As many digits as let one prefix contain about a page of the job's due times. */
function headDigits({ spec, row }: PagedJob, limit: number): number {
  const one = spec?.timetable.previous(row?.cursor ?? 0);
  const other = one === undefined ? undefined : spec?.timetable.previous(one);
  if (one === undefined || other === undefined) return HEAD_DIGITS;
  return Math.min(9, Math.max(1, KEY_DIGITS - Math.ceil(Math.log10(limit * (one - other)))));
}

/** Whether all later records are too old. A stretch, keyed by its oldest due time, may follow older manual runs. */
function endsSearch({ spec }: PagedJob, { key, scheduledFor }: ListedRun, { since }: RunFilter): boolean {
  if (since === undefined || scheduledFor >= since) return false;
  return spec?.kind !== 'timed' || parseRecordKey(key)?.request === undefined;
}

/** Whether records in between may not pass, so that a page takes more of them than it shows. */
function isSelective({ outcomes, failed, trigger, actor, channel, note }: RunFilter): boolean {
  return [outcomes, failed, trigger, actor, channel, note].some((wanted) => wanted !== undefined);
}

function passes(run: ListedRun, filter: RunFilter): boolean {
  const { outcomes, failed, since, until, trigger, actor, channel, note } = filter;
  const newestOf = run.through ?? run.scheduledFor;
  const origin = run.origin ?? (run.trigger === undefined || run.trigger === 'manual' ? undefined : SCHEDULED);
  return (
    (outcomes === undefined || outcomes.includes(run.outcome)) &&
    (failed !== true || FAILED_OUTCOMES.includes(run.outcome)) &&
    (since === undefined || newestOf >= since) &&
    (until === undefined || run.scheduledFor < until) &&
    (trigger === undefined || run.trigger === trigger) &&
    (actor === undefined || origin?.actor === actor) &&
    (channel === undefined || origin?.channel === channel) &&
    (note === undefined || (origin?.note?.toLowerCase().includes(note.toLowerCase()) ?? false))
  );
}

/** The run of the row and the one that is aside, if not over. They may have no record before their second attempt. */
function unendedRuns({ name, row, current, aside }: PagedJob): readonly ListedRun[] {
  const own = row === undefined || current === undefined ? undefined : unendedRun(name, row, current);
  const token = aside?.past.at(-1)?.token as Token | undefined;
  const started = aside?.past[0]?.start;
  const other = aside && unendedRun(name, { ...aside, started, ...given({ token }) }, 'retrying');
  return [own, other].filter((run) => run !== undefined).sort(byAge);
}

function unendedRun(
  name: JobName,
  { run, token, started: startedAt }: Row,
  outcome: 'running' | 'retrying',
): ListedRun | undefined {
  if (run === undefined) return undefined;
  const { key, scheduledFor, trigger, origin, rerunOf } = run;
  return {
    job: name,
    key,
    runId: runIdOf(name, key),
    scheduledFor,
    count: 1,
    outcome,
    trigger,
    token,
    startedAt,
    waitedMs: 0,
    origin,
    rerunOf,
  };
}

function listedRun(job: PagedJob, { key, summary }: ListedRecord): ListedRun | undefined {
  const parts = parseRecordKey(key);
  if (parts === undefined) return undefined;
  const { name, spec, row } = job;
  const isManual = parts.request !== undefined;
  const startedAt = instantOf(summary['started']);
  const due = isManual || spec === undefined ? parts.scheduledFor : actualTime(spec, parts.scheduledFor);
  // A back-filled run is due when its turn comes, which only its record has.
  const isUnknown = isManual ? summary['trigger'] === 'backfill' : spec === undefined;
  const isOpen = summary['state'] === 'open';
  const waits = (row?.run?.key === key && job.current === 'retrying') || job.aside?.run?.key === key;
  const outcome = OUTCOMES.find((outcome) => outcome === summary['outcome']) as Outcome | undefined;
  const through = instantOf(summary['through']);
  return {
    job: name,
    key,
    runId: runIdOf(name, key),
    scheduledFor: parts.scheduledFor,
    through,
    count: summary['count'] === undefined ? (through === undefined ? 1 : undefined) : wholeOf(summary['count']),
    outcome: isOpen ? (waits ? 'retrying' : 'running') : (outcome ?? 'failed'),
    reason: summary['reason'],
    trigger: summary['trigger'],
    token: wholeOf(summary['token']),
    startedAt,
    endedAt: instantOf(summary['ended']),
    latenessMs: startedAt === undefined || isUnknown ? undefined : startedAt - due,
    waitedMs: wholeOf(summary['waited']) ?? 0,
    origin: originOf(summary['origin']),
    rerunOf: instantOf(summary['rerunof']),
  };
}

/** A summary is for people: one that cannot be read is left out. */
function originOf(text: string | undefined): Origin | undefined {
  return text === undefined ? undefined : readOrigin(parsedJson(text));
}

function instantOf(text: string | undefined): EpochMs | undefined {
  const at = Date.parse(text ?? '');
  return Number.isNaN(at) ? undefined : at;
}

function byAge(a: PageStart, b: PageStart): number {
  return a.key === b.key ? byText(a.job, b.job) : byText(a.key, b.key);
}

/** Whether `a` comes before `b` in a list: it is newer, or of the same time with a smaller name. */
function isBefore(a: PageStart, b: PageStart): boolean {
  return byAge(a, b) < 0;
}
