// Two days of 305 jobs, written as deployments would have left them: running them would take hours.
import type { EpochMs, Token } from '../../src/core/brand';
import type { RanOutcome, Reason, Stretch, UnrunOutcome } from '../../src/core/outcome';
import type { JobSpec } from '../../src/core/job';
import { type Action, auditKey, encodeAudit } from '../../src/core/audit';
import { encodeControl, NO_CONTROL } from '../../src/core/control';
import { recordKey } from '../../src/core/key';
import type { LogLine } from '../../src/core/log-entry';
import { withGaps, withRun } from '../../src/core/recent';
import { runEntry } from '../../src/core/recent-run';
import { type AttemptRecord, type LedgerRecord, finalRecord, storeRecord, stretchRecord } from '../../src/core/record';
import type { RecordedError } from '../../src/core/recorded-error';
import { type Row, encodeRow, newRow } from '../../src/core/row';
import { defineFanOut } from '../../src/handler/define-fan-out';
import { NonRetryableError } from '../../src/handler/handler';
import type { LeaseStore } from '../../src/lease/store';
import { jobSpec } from './job';
import type { SimulatedHandler, SimulationOptions } from './rival-ticks';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
/** What was missed in the outage of one hour runs once. */
const OUTAGE = { hour: 2, ms: HOUR };

const PLACES = ['at', 'be', 'ch', 'de', 'dk', 'es', 'fi', 'fr', 'it', 'nl', 'no', 'pl', 'pt', 'se', 'uk'];
const TASKS: readonly (readonly [task: string, schedule: (place: number) => string, tag: string, usualMs: number])[] = [
  ['import-orders', () => '* * * * *', 'orders', 3 * SECOND],
  ['poll-payments', () => '* * * * *', 'billing', SECOND],
  ['sync-stock', () => '*/5 * * * *', 'warehouse', 20 * SECOND],
  ['send-order-mails', () => '*/5 * * * *', 'mail', 6 * SECOND],
  ['refresh-prices', () => '2-59/5 * * * *', 'catalogue', 45 * SECOND],
  ['push-tracking-numbers', () => '*/5 * * * *', 'warehouse', 4 * SECOND],
  ['charge-subscriptions', (place) => `${String(place)} * * * *`, 'billing', 90 * SECOND],
  ['rebuild-search-index', (place) => `${String(place + 15)} * * * *`, 'search', 6 * MINUTE],
  ['purge-sessions', () => '0 * * * *', 'accounts', 2 * SECOND],
  ['import-supplier-prices', (place) => `${String(place + 30)} * * * *`, 'catalogue', 70 * SECOND],
  ['check-fraud-scores', () => '30 * * * *', 'billing', 12 * SECOND],
  ['update-exchange-rates', () => '5 * * * *', 'billing', 800],
  ['recompute-recommendations', (place) => `${String(place + 40)} * * * *`, 'catalogue', 11 * MINUTE],
  ['archive-carts', (place) => `${String(place * 3)} * * * *`, 'accounts', 9 * SECOND],
  ['close-books', (place) => `${String(place)} 1 * * *`, 'billing', 14 * MINUTE],
  ['export-ledger', (place) => `${String(place * 2)} 3 * * *`, 'billing', 4 * MINUTE],
  ['send-daily-report', () => '0 6 * * *', 'mail', 25 * SECOND],
  ['back-up-orders', (place) => `${String(place * 4)} 0 * * *`, 'orders', 22 * MINUTE],
  ['anonymise-customers', (place) => `15 ${String(place)} * * *`, 'accounts', 3 * MINUTE],
  ['print-picking-lists', () => '30 4 * * 1-5', 'warehouse', 50 * SECOND],
];

const LEFT_OVER: readonly JobSpec[] = [
  jobSpec('resize-product-images', '*/2 * * * *', {
    description: 'Resizes new images, an item for each',
    tags: ['catalogue'],
  }),
  jobSpec('rotate-certificates', '@manual', { description: 'Asks for new certificates', tags: ['accounts'] }),
  jobSpec('legacy-import', '*/30 * * * *', {
    enabled: false,
    description: 'Replaced by import-orders',
    tags: ['orders'],
  }),
  jobSpec('reconcile-marketplace-payouts-with-the-ledger-of-the-holding', '20 * * * *', {
    description: 'Compares what marketplaces paid out with what the ledger of the holding expects, line by line',
    tags: ['billing', 'marketplaces', 'holding'],
    retry: { attempts: 3, backoffMs: 5 * MINUTE, factor: 2, maxBackoffMs: HOUR, jitter: 'none' },
  }),
  jobSpec('year-end-closing', '0 0 1 1 *', { tags: ['billing'] }),
];

export const MANY_JOBS: readonly JobSpec[] = [
  ...TASKS.flatMap(([task, schedule, tag], index) =>
    PLACES.map((place, nth) =>
      jobSpec(`${task}-${place}`, schedule(nth), {
        description: `${task.slice(0, 1).toUpperCase()}${task.slice(1).replaceAll('-', ' ')} of the shop in ${place.toUpperCase()}`,
        tags: [tag, place],
        timeZone: index % 3 === 0 ? 'Europe/Berlin' : 'UTC',
        retry: { attempts: 3, backoffMs: 20 * SECOND, factor: 2, maxBackoffMs: 5 * MINUTE, jitter: 'none' },
        ...(task === 'back-up-orders' && { alertAfterMs: 26 * HOUR }),
      }),
    ),
  ),
  ...LEFT_OVER,
];

interface Trouble {
  /** For so long until now. */
  readonly forMs: number;
  readonly error: RecordedError;
  readonly attempts: number;
  readonly outcome: RanOutcome;
  readonly reason: Reason;
}

const REFUSED: RecordedError = {
  name: 'TypeError',
  message: 'fetch failed',
  stack: 'TypeError: fetch failed\n    at charge (/home/site/wwwroot/dist/jobs/charge-subscriptions.js:41:13)',
  cause: { name: 'Error', message: 'connect ECONNREFUSED 10.2.0.4:5432', code: 'ECONNREFUSED' },
};

function thrown(name: string, message: string): RecordedError {
  return { name, message, stack: `${name}: ${message}\n    at run (/home/site/wwwroot/dist/jobs/run.js:17:9)` };
}

const FAILED = { attempts: 3, outcome: 'failed', reason: 'handlerError' } as const;

/** Jobs that have been failing until now. */
const TROUBLES: Readonly<Record<string, Trouble>> = {
  'charge-subscriptions-fr': { ...FAILED, forMs: 7 * HOUR, error: REFUSED },
  'charge-subscriptions-es': { ...FAILED, forMs: 7 * HOUR, error: REFUSED },
  'sync-stock-it': { ...FAILED, forMs: 40 * MINUTE, error: thrown('Error', 'The warehouse closed the connection') },
  'import-supplier-prices-pl': {
    ...{ forMs: 3 * HOUR, attempts: 1, outcome: 'failed', reason: 'nonRetryable' },
    error: thrown('NonRetryableError', 'Column 14 of cennik-2026-11.csv is "brak", which is no price'),
  },
  'rebuild-search-index-uk': {
    ...{ forMs: 5 * HOUR, attempts: 1, outcome: 'timedOut', reason: 'timeout' },
    error: thrown('TimeoutError', 'the attempt took longer than its timeout of 10 min'),
  },
  'back-up-orders-be': {
    ...{ forMs: 50 * HOUR, attempts: 1, outcome: 'stalled', reason: 'stallAfter' },
    error: thrown('StalledError', 'the handler has reported no progress for 5 min'),
  },
  'reconcile-marketplace-payouts-with-the-ledger-of-the-holding': {
    ...{ ...FAILED, forMs: 9 * HOUR },
    error: thrown(
      'RangeError',
      'The payout 2026-11-26/EUR/4471 of 1,204,311.07 has no counterpart in the ledger of the holding',
    ),
  },
};

/** A number below 1 that a job and a due time always have. */
function spread(name: string, at: EpochMs): number {
  let hash = at / SECOND;
  for (const letter of name) hash = (hash * 31 + (letter.codePointAt(0) ?? 0)) % 1_000_003;
  return ((hash * 7_919) % 1_000_003) / 1_000_003;
}

function usualMs(name: string): number {
  return TASKS.find(([task]) => name.startsWith(task))?.[3] ?? 5 * SECOND;
}

/** What the rest of a night looks like to a job. */
export const manyHandler: SimulatedHandler = async ({ job, scheduledFor, signal }, on) => {
  const lasting = usualMs(job) * (0.7 + spread(job, scheduledFor.getTime()));
  await new Promise<void>((resolve) => {
    const stop = on.coordinator.clock.after(lasting, resolve);
    signal.addEventListener('abort', () => {
      stop();
      resolve();
    });
  });
  const trouble = TROUBLES[job];
  if (trouble !== undefined) throw new NonRetryableError(trouble.error.message);
};

/** Jobs that fan out: each fourth run has an item that fails. */
export const MANY_FAN_OUTS: NonNullable<SimulationOptions['fanOut']> = {
  'resize-product-images': (on) =>
    defineFanOut<unknown, string>({
      ...{ concurrency: 4, onItemFailure: 'collect', itemRetry: { attempts: 2, backoff: '2s', jitter: 'none' } },
      plan: ({ log }) => {
        log('40 images are new');
        return Array.from({ length: 40 }, (_, index) => `sku-${String(1_000 + index * 37)}.tiff`);
      },
      async each({ log, index }, image) {
        log(`reading ${image}`);
        await new Promise<void>((resolve) => void on.coordinator.clock.after(2 * SECOND, resolve));
        if (index % 13 === 7) throw new Error(`${image} is no TIFF: it begins with "<!DOCTYPE html>"`);
        log(`${image} has its five sizes`);
      },
      gather: (_, outcomes) => ({ resized: outcomes.length }),
    }),
};

/** Writes the rows and the records of two days that end at `until`. */
export async function writeHistory(store: LeaseStore, specs: readonly JobSpec[], until: EpochMs): Promise<void> {
  for (const spec of specs) {
    const story = storyOf(spec, until);
    for (const { key, record } of story.records) await store.createRecord(spec.name, key, storeRecord(record));
    await store.createRow(spec.name, encodeRow(story.row));
    const since = story.pausedSince;
    if (since === undefined) continue;
    const pauses = [{ by: 'anna@example.com', note: 'the mail server is full', since, until: undefined }];
    await store.writeControl(spec.name, encodeControl({ ...NO_CONTROL, pauses }), undefined);
  }
  for (let index = 0; index < 400; index += 1) {
    const at = until - Math.round(48 * HOUR * (index / 400) ** 2) - 5 * SECOND;
    const change = CHANGES[index % CHANGES.length];
    if (change === undefined) throw new Error('there is no change');
    const [actor, channel, action, note] = change;
    const target = action.endsWith('cordon') ? 'd2' : (specs[(index * 71) % specs.length]?.name ?? '');
    const entry = { at, origin: { actor, channel, note }, action, target, state: 'done', after: {} } as const;
    await store.writeAudit(auditKey(at, `h${String(index)}`), encodeAudit(entry), undefined);
  }
}

const CHANGES: readonly (readonly [actor: string, channel: string, action: Action, note: string])[] = [
  ['anna@example.com', 'browser', 'pause', 'the warehouse moves'],
  ['anna@example.com', 'browser', 'resume', 'it has moved'],
  ['ben@example.com', 'shell', 'rerun', 'the file came late'],
  ['deploy-key', 'key', 'cordon', 'roll-out 2026.11.4'],
  ['deploy-key', 'key', 'uncordon', 'roll-out 2026.11.4 is done'],
  ['chioma.okonkwo-fitzgerald@subsidiary.example.com', 'browser', 'ack', 'INC-20441, the bank works on it'],
  ['ben@example.com', 'browser', 'cancel', 'it hangs since the last release'],
];

interface Story {
  readonly pausedSince: EpochMs | undefined;
  readonly row: Row;
  readonly records: readonly { readonly key: string; readonly record: LedgerRecord }[];
}

function storyOf(spec: JobSpec, until: EpochMs): Story {
  const since = until - 48 * HOUR;
  const outage = outageBefore(until);
  const records: { key: string; record: LedgerRecord }[] = [];
  let row = newRow(since, 0, spec.scheduleHash);
  let busyUntil = 0;
  const skip = (outcome: UnrunOutcome, reason: Reason, times: readonly EpochMs[]): void => {
    const [from = 0, through = from] = [times[0], times.at(-1)];
    const stretch: Stretch = { outcome, reason, from, through, count: times.length };
    records.push(stretchRecord(spec.name, stretch));
    row = { ...row, recent: withGaps(row.recent, [stretch]) };
  };
  const pausedSince = spec.name === 'send-order-mails-uk' ? until - 9 * HOUR : undefined;
  let missed: EpochMs[] = [];
  const paused: EpochMs[] = [];
  let due = spec.enabled ? spec.timetable.next(since) : undefined;
  for (; due !== undefined && due < until; due = spec.timetable.next(due)) {
    row = { ...row, cursor: due };
    if (pausedSince !== undefined && due >= pausedSince) paused.push(due);
    else if (due >= outage.from && due < outage.until) missed.push(due);
    else if (due < busyUntil) skip('overlapped', 'overlapSkip', [due]);
    else {
      const last = missed.pop();
      if (missed.length > 0) skip('collapsed', 'catchUpLatest', missed);
      missed = [];
      if (last !== undefined) ran(last, outage.until + 8 * SECOND);
      if (due >= busyUntil) ran(due, due);
    }
  }
  if (paused.length > 0) skip('paused', 'paused', paused);
  return { row, records, pausedSince };

  function ran(scheduledFor: EpochMs, startsAt: EpochMs): void {
    const run = runOf(spec, row, { scheduledFor, startsAt, until });
    busyUntil = run.endsAt;
    row = run.row;
    records.push(run);
  }
}

/** The last hour of an outage that is over. */
function outageBefore(until: EpochMs): { readonly from: EpochMs; readonly until: EpochMs } {
  const today = new Date(until).setUTCHours(OUTAGE.hour, 0, 0, 0);
  const from = today + OUTAGE.ms < until ? today : today - 24 * HOUR;
  return { from, until: from + OUTAGE.ms };
}

interface Times {
  readonly scheduledFor: EpochMs;
  readonly startsAt: EpochMs;
  readonly until: EpochMs;
}

type Run = { readonly key: string; readonly record: LedgerRecord; readonly row: Row; readonly endsAt: EpochMs };

function runOf(spec: JobSpec, before: Row, { scheduledFor, startsAt, until }: Times): Run {
  const key = recordKey(scheduledFor);
  const chance = spread(spec.name, scheduledFor);
  const known = TROUBLES[spec.name];
  const trouble = known !== undefined && until - scheduledFor < known.forMs ? known : undefined;
  const isFlaky = trouble === undefined && chance < 0.004;
  const count = trouble?.attempts ?? (isFlaky ? 2 : 1);
  const lasted = usualMs(spec.name) * (chance > 0.995 ? 4 : 0.7 + chance * 0.6);
  const [outcome, reason] =
    trouble === undefined ? (['succeeded', 'completed'] as const) : [trouble.outcome, trouble.reason];
  const error = trouble?.error ?? thrown('Error', 'HTTP 503 from https://pay.example.com/v1/charges');
  let at = startsAt;
  const attempts = Array.from({ length: count }, (_, index): AttemptRecord => {
    const isGood = index === count - 1 && outcome === 'succeeded';
    const start = at;
    at = Math.round(start + (isGood ? lasted : lasted / 3));
    const [startedAt, endedAt] = [new Date(start).toISOString(), new Date(at).toISOString()];
    if (index < count - 1) at += spec.retry.backoffMs * spec.retry.factor ** index;
    return {
      ...{ attempt: index + 1, token: before.token + index + 1, deployment: scheduledFor % 7 < 3 ? 'd1' : 'd2' },
      ...{
        startedAt,
        endedAt,
        outcome: isGood ? 'succeeded' : (trouble?.outcome ?? 'failed'),
        error: isGood ? null : error,
      },
    };
  });
  const failures = outcome === 'succeeded' ? 0 : before.failures + 1;
  const row: Row = {
    ...before,
    ...{
      token: (before.token + count) as Token,
      phase: 'running',
      attempt: count,
      started: startsAt,
      claimedAt: startsAt,
    },
    run: {
      key,
      scheduledFor,
      trigger: startsAt > scheduledFor + MINUTE ? 'catchUp' : 'schedule',
      since: startsAt - 4 * SECOND,
    },
    ...{ incumbent: 'd1', leaseMs: spec.leaseMs, keepMs: spec.keepMs, failures },
    ...(outcome === 'succeeded' ? { lastGoodAt: at, lastFailedKey: undefined } : { lastFailedKey: key }),
  };
  const log = { kept: 'inline', entries: logOf(attempts) } as const;
  const record = finalRecord(spec, row, attempts, { outcome, reason, at, log });
  const entry = runEntry(spec, row, { outcome, at, startedAt: startsAt, waitedMs: record.waitedMs });
  return { key, record, endsAt: at, row: { ...row, recent: withRun(row.recent, entry) } };
}

/** The lines of the last attempt: a record has no others. */
function logOf(attempts: readonly AttemptRecord[]): readonly LogLine[] {
  const { attempt, startedAt, endedAt, error } = attempts.at(-1) ?? {};
  const said = { attempt: attempt ?? 1, level: 'info' } as const;
  const lines: LogLine[] = [{ ...said, n: 1, at: startedAt ?? '', text: 'starting' }];
  if (error === null) lines.push({ ...said, n: 2, at: endedAt ?? '', text: 'done' });
  return lines;
}
