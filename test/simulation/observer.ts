import type { ETag, JobName } from '../../src/core/brand';
import type { Stretch } from '../../src/core/fate';
import type { JobSpec } from '../../src/core/job';
import { parseRecordKey, recordKey } from '../../src/core/key';
import type { LedgerRecord } from '../../src/core/record';
import { parseRecord } from '../../src/core/record';
import type { Row } from '../../src/core/row';
import { decodeRow } from '../../src/core/row';
import type { LeaseStore, Metadata, StoredRecord } from '../../src/lease/store';
import type { JobContext } from '../../src/coordinator/handler';
import type { SimulatedProcess } from './process';
import type { Trace } from './trace';

/** One handler at work. */
export interface Execution {
  readonly context: JobContext;
  readonly process: SimulatedProcess;
  running: boolean;
}

/** What the observer knows of one job. */
export interface JobHistory {
  readonly name: JobName;
  row: Row | undefined;
  etag: ETag | undefined;
  /** When its row was created, in the service's time: the first cursor. */
  firstCursor: number | undefined;
  readonly records: Map<string, { record: LedgerRecord; etag: ETag }>;
  /** Claims by run and attempt, with their tokens. */
  readonly claims: Map<string, number>;
  readonly started: Map<string, number>;
  readonly executions: Set<Execution>;
  fencedToken: number;
}

export interface Observer {
  readonly violations: string[];
  readonly jobs: ReadonlyMap<JobName, JobHistory>;
  /** The service's store, watched: every call that is applied is looked at. */
  watch(store: LeaseStore): LeaseStore;
  handlerStarted(execution: Execution): void;
  fencedWrite(job: string, token: number): void;
  /** Of all handlers at work at this instant. */
  checkTrust(): void;
  violation(job: string, what: string): void;
}

/** Looks at every write that storage applies, and at every handler, independently of what the coordinator believes. */
export function createObserver(specs: ReadonlyMap<JobName, readonly JobSpec[]>, trace: Trace): Observer {
  const violations: string[] = [];
  const jobs = new Map<JobName, JobHistory>();
  for (const name of specs.keys()) {
    jobs.set(name, {
      name,
      row: undefined,
      etag: undefined,
      firstCursor: undefined,
      records: new Map(),
      claims: new Map(),
      started: new Map(),
      executions: new Set(),
      fencedToken: 0,
    });
  }
  const historyOf = (name: string): JobHistory => {
    const history = jobs.get(name as JobName);
    if (history === undefined) throw new Error(`unknown job ${name}`);
    return history;
  };
  const violation = (job: string, what: string): void => {
    violations.push(`${job}: ${what}`);
    trace.add('!!!', `${job}: ${what}`);
  };

  return {
    violations,
    jobs,
    violation,
    watch: (store) => ({
      ...store,
      async createRow(job, metadata, options) {
        const answer = await store.createRow(job, metadata, options);
        if (answer === 'created') {
          const history = historyOf(job);
          history.row = decodeRow(metadata);
          history.firstCursor = history.row.cursor;
          trace.add('store', `${job} created, cursor ${short(history.row.cursor)}`);
        }
        return answer;
      },
      async acquire(job, request, options) {
        const answer = await store.acquire(job, request, options);
        trace.add('store', `${job} acquire ${request.leaseId.slice(0, 8)} ${answer.kind}`);
        return answer;
      },
      async renew(job, leaseId, options) {
        const answer = await store.renew(job, leaseId, options);
        if (answer === 'lost') trace.add('store', `${job} renew ${leaseId.slice(0, 8)} lost`);
        return answer;
      },
      async writeRow(job, metadata, guard, options) {
        const answer = await store.writeRow(job, metadata, guard, options);
        trace.add('store', `${job} writeRow ${guard.leaseId.slice(0, 8)} ${answer.kind} ${describeRow(metadata)}`);
        if (answer.kind === 'written') rowWritten(historyOf(job), decodeRow(metadata));
        return answer;
      },
      async release(job, leaseId, options) {
        const answer = await store.release(job, leaseId, options);
        trace.add('store', `${job} release ${leaseId.slice(0, 8)} ${answer}`);
        if (answer === 'released') released(historyOf(job));
        return answer;
      },
      async createRecord(job, key, record, options) {
        const answer = await store.createRecord(job, key, record, options);
        if (answer.kind === 'created') recordWritten(historyOf(job), key, record, answer.etag);
        else trace.add('store', `${job} createRecord ${keyText(key)} exists`);
        return answer;
      },
      async replaceRecord(job, key, record, ifMatch, options) {
        const answer = await store.replaceRecord(job, key, record, ifMatch, options);
        if (answer.kind === 'replaced') recordWritten(historyOf(job), key, record, answer.etag);
        else trace.add('store', `${job} replaceRecord ${keyText(key)} refused`);
        return answer;
      },
    }),
    handlerStarted(execution) {
      const { context } = execution;
      const history = historyOf(context.job);
      const run = runOf(context);
      const attempt = `${run} attempt ${String(context.attempt)}`;
      if (history.records.get(run)?.record.state === 'final') {
        violation(context.job, `handler of ${keyText(run)} started although its final record exists`);
      }
      try {
        context.fence.check();
      } catch {
        violation(context.job, `handler of ${keyText(run)} started without trust in its lease`);
      }
      if (history.started.has(attempt)) violation(context.job, `handler of ${attempt} was called twice`);
      if (history.claims.get(attempt) !== context.fence.token) {
        violation(
          context.job,
          `handler of ${attempt} started with token ${String(context.fence.token)}, not its claim's`,
        );
      }
      history.started.set(attempt, context.fence.token);
      history.executions.add(execution);
    },
    fencedWrite(job, token) {
      const history = historyOf(job);
      if (token < history.fencedToken) {
        violation(job, `a fenced write of token ${String(token)} landed after one of ${String(history.fencedToken)}`);
      }
      history.fencedToken = token;
    },
    checkTrust() {
      for (const history of jobs.values()) {
        if (history.executions.size < 2) continue;
        const trusting = [...history.executions].filter(({ running, process, context }) => {
          if (!running || process.dead || process.paused) return false;
          try {
            context.fence.check();
            return true;
          } catch {
            return false;
          }
        });
        if (trusting.length < 2) continue;
        const tokens = trusting.map(({ context, process }) => `${String(context.fence.token)} on ${process.id}`);
        violation(history.name, `two executions trust their lease: ${tokens.join(', ')}`);
      }
    },
  };

  function rowWritten(history: JobHistory, row: Row): void {
    const { name, row: before } = history;
    history.row = row;
    if (before === undefined) return;
    if (row.cursor < before.cursor)
      violation(name, `cursor went back from ${short(before.cursor)} to ${short(row.cursor)}`);
    if (row.manualTaken < before.manualTaken) violation(name, 'the last manual request taken went back');
    if (row.token < before.token)
      violation(name, `token went back from ${String(before.token)} to ${String(row.token)}`);
    for (const stretch of before.owed) {
      if (!row.owed.some((other) => sameStretch(other, stretch)) && !isWritten(history, stretch)) {
        violation(name, `owed record of ${short(stretch.from)} was dropped unwritten`);
      }
    }
    if (row.token === before.token) return;
    const { run } = row;
    if (run === undefined) {
      violation(name, 'a claim without a run');
      return;
    }
    if (row.token !== before.token + 1)
      violation(name, `token jumped from ${String(before.token)} to ${String(row.token)}`);
    const attempt = `${run.key} attempt ${String(row.attempt)}`;
    if (history.claims.has(attempt))
      violation(name, `${keyText(run.key)} attempt ${String(row.attempt)} was claimed twice`);
    if (row.attempt === 1) {
      if (history.records.has(run.key)) violation(name, `${keyText(run.key)} was claimed although its record exists`);
      if (
        run.trigger !== 'manual' &&
        row.run?.scheduledFor !== undefined &&
        before.cursor >= run.scheduledFor &&
        isTimed(name)
      ) {
        violation(name, `${short(run.scheduledFor)} was claimed although the cursor is past it`);
      }
      const settled = before.run === undefined || before.phase === 'idle' || isFinal(history, before.run.key);
      if (!settled)
        violation(name, `${keyText(run.key)} was claimed while run ${keyText(before.run?.key ?? '')} is unfinished`);
    } else if (before.run?.key !== run.key || row.attempt !== before.attempt + 1) {
      violation(name, `attempt ${String(row.attempt)} of ${keyText(run.key)} does not follow the row`);
    }
    history.claims.set(attempt, row.token);
  }

  function isTimed(name: JobName): boolean {
    return specs.get(name)?.[0]?.kind === 'timed';
  }

  function released(history: JobHistory): void {
    const { row, name } = history;
    if (row === undefined) return;
    if (row.phase === 'running' && row.run !== undefined && !isFinal(history, row.run.key)) {
      violation(name, `released over unfinished run ${keyText(row.run.key)}`);
    }
    for (const stretch of row.owed) {
      if (!isWritten(history, stretch)) violation(name, `released over owed record of ${short(stretch.from)}`);
    }
  }

  function recordWritten(history: JobHistory, key: string, stored: StoredRecord, etag: ETag): void {
    const { name, records } = history;
    const record = parseRecord(name, key, stored.body);
    const before = records.get(key)?.record;
    trace.add(
      'store',
      `${name} record ${keyText(key)} ${record.outcome ?? record.state} token ${String(record.token)}` +
        (record.through === undefined ? '' : ` through ${record.through.slice(11, 19)}`),
    );
    if (before?.state === 'final') violation(name, `final record ${keyText(key)} was overwritten`);
    if (before !== undefined && (record.token ?? 0) < (before.token ?? 0)) {
      violation(
        name,
        `record ${keyText(key)} of token ${String(before.token)} was overwritten by ${String(record.token)}`,
      );
    }
    if (before === undefined) {
      const [from, through] = spanOf(record);
      for (const [other, { record: others }] of records) {
        if (isRequest(key) || isRequest(other)) continue;
        const [otherFrom, otherThrough] = spanOf(others);
        if (from <= otherThrough && otherFrom <= through) {
          violation(
            name,
            `record ${keyText(key)} (${String(record.outcome)}) overlaps record ${keyText(other)} (${String(others.outcome)})`,
          );
        }
      }
      if (record.through !== undefined && !fitsSchedule(name, record)) {
        violation(
          name,
          `stretch ${keyText(key)} counts ${String(record.count)} due times, and its schedule has others`,
        );
      }
    }
    records.set(key, { record, etag });
  }

  function fitsSchedule(name: JobName, record: LedgerRecord): boolean {
    const [from, through] = spanOf(record);
    return (specs.get(name) ?? []).some(({ timetable }) => {
      let counted = 0;
      for (let due = timetable.next(from - 1); due !== undefined && due <= through; due = timetable.next(due))
        counted += 1;
      return counted === (record.count ?? 1);
    });
  }
}

export function spanOf(record: LedgerRecord): readonly [number, number] {
  return [Date.parse(record.scheduledFor), Date.parse(record.through ?? record.scheduledFor)];
}

export function isRequest(key: string): boolean {
  return parseRecordKey(key)?.request !== undefined;
}

export function isFinal({ records }: JobHistory, key: string): boolean {
  return records.get(key)?.record.state === 'final';
}

function isWritten(history: JobHistory, stretch: Stretch): boolean {
  return isFinal(history, recordKey(stretch.from, stretch.request));
}

function sameStretch(a: Stretch, b: Stretch): boolean {
  return a.from === b.from && a.through === b.through && a.fate === b.fate && a.request === b.request;
}

/** The run's key, from what its handler is told. */
function runOf(context: JobContext): string {
  const request = /-m-([0-9a-z]+)$/.exec(context.runId)?.[1];
  return recordKey(context.scheduledFor.getTime(), request);
}

export function short(instant: number): string {
  return new Date(instant).toISOString().slice(11, 23).replace('.000', '');
}

export function keyText(key: string): string {
  const parts = parseRecordKey(key);
  return parts === undefined
    ? key
    : short(parts.scheduledFor) + (parts.request === undefined ? '' : `(${parts.request})`);
}

function describeRow(metadata: Metadata): string {
  const { token, cursor, run, phase, attempt, owed, busyuntil, notbefore } = metadata;
  return [
    `token ${String(token)}`,
    `cursor ${String(cursor).slice(11, 19)}`,
    `run ${keyText(run ?? '')}`,
    `${String(phase)} ${String(attempt)}`,
    ...(owed === undefined || owed === '[]' ? [] : [`owes ${owed}`]),
    ...(busyuntil === undefined ? [] : [`busy until ${busyuntil.slice(11, 23)}`]),
    ...(notbefore === undefined ? [] : [`not before ${notbefore.slice(11, 23)}`]),
  ].join(', ');
}
