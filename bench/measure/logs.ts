import os from 'node:os';
import type { JobName } from '../../src/core/brand';
import { recordKey } from '../../src/core/key';
import { ATTEMPT_LOG } from '../../src/core/log-entry';
import { readLog } from '../../src/operator/views/read-log';
import { openStore } from '../../src/stores/open';
import { systemClock } from '../../src/system-clock';
import { pause, trueNow } from '../../test/chaos/time';
import type { BenchJob } from '../load';
import { CONTAINER } from '../systems/cronlease/system';
import type { System } from '../systems/system';
import { inWorld, type WorldOptions } from './world';

/** What is kept of the log of a run that says much while others run. */
export interface LogsResult {
  /** Jobs beside it that are due every second. */
  readonly beside: number;
  /** The machine's load average at the end of the run. */
  readonly load: number;
  readonly lines: number;
  /** How long it wrote them. */
  readonly seconds: number;
  readonly kept: number;
  /** Of its first 1,000 lines, and of its last: as many as {@link ATTEMPT_LOG} says are always kept. */
  readonly keptFirst: number;
  readonly keptLast: number;
  /** The log's gaps. */
  readonly missing: number;
}

export interface LogsOptions extends Pick<WorldOptions, 'scratch' | 'guard'> {
  readonly system: System;
  readonly beside: number;
  readonly signal: AbortSignal;
}

export const TALKER = 'talker';
/** More than the log of an attempt keeps. */
const LINES = 3_000;
const WRITES_MS = 15_200;
/** By then the others run. */
const BEFORE_MS = 40_000;
const WAIT_MS = 180_000;
const POLL_MS = 500;

/** Lets one run write 3,000 lines, and reads its log. */
export async function logsOnce(options: LogsOptions): Promise<LogsResult> {
  const { beside, signal } = options;
  const at = Math.ceil((trueNow() + BEFORE_MS) / 1_000) * 1_000;
  const others = Array.from({ length: beside }, (_, index): BenchJob => ({
    ...{ name: `quick-${String(index + 1)}`, schedule: { kind: 'second' }, handlerMs: 20 },
  }));
  const talker: BenchJob = { name: TALKER, schedule: { kind: 'once', at }, handlerMs: WRITES_MS, lines: LINES };
  return inWorld({ ...options, jobs: [...others, talker], clockShiftsMs: [0, 0, 0] }, async ({ backend }) => {
    const settings = { CRONLEASE_STORAGE: backend.address };
    const store = openStore({ settings, container: CONTAINER, clock: systemClock, callTimeoutMs: 30_000 });
    await pause(at - trueNow(), signal);
    const { lines: half } = ATTEMPT_LOG.half;
    const kept = new Set<number>();
    for (let from: string | undefined, missing = 0; trueNow() < at + WAIT_MS; await pause(POLL_MS, signal)) {
      const page = await readLog(store, TALKER as JobName, recordKey(at), { from });
      from = page.next;
      for (const entry of page.entries) {
        if ('text' in entry) kept.add(entry.n);
        if ('gap' in entry) missing += entry.gap.lines;
      }
      if (page.ended) {
        const of = { beside, load: os.loadavg()[0] ?? 0, lines: LINES, seconds: WRITES_MS / 1_000 };
        const keptFirst = [...kept].filter((n) => n <= half).length;
        const keptLast = [...kept].filter((n) => n > LINES - half).length;
        return { ...of, kept: kept.size, keptFirst, keptLast, missing };
      }
    }
    throw new Error(`the run had not ended after ${String(WAIT_MS / 1_000)} s`);
  });
}
