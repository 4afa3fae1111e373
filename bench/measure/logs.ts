import os from 'node:os';
import type { JobName } from '../../src/core/brand';
import { recordKey } from '../../src/core/key';
import { readLog } from '../../src/operator/read-log';
import { openStore } from '../../src/stores/open';
import { systemClock } from '../../src/system-clock';
import { pause, trueNow } from '../../test/chaos/time';
import type { BenchJob } from '../load';
import { CONTAINER } from '../systems/cronlease/system';
import type { System } from '../systems/system';
import { inWorld, type WorldOptions } from './world';

/** What is kept of the log of a run that says much while others run. */
export interface LogsResult {
  /** Jobs beside it that are due each second. */
  readonly beside: number;
  /** The machine's load average at the end of the run. */
  readonly load: number;
  readonly lines: number;
  /** How long it wrote them. */
  readonly seconds: number;
  readonly kept: number;
  /** The log's gaps. */
  readonly missing: number;
}

export interface LogsOptions extends Pick<WorldOptions, 'scratch' | 'guard'> {
  readonly system: System;
  readonly beside: number;
  readonly signal: AbortSignal;
}

export const TALKER = 'talker';
const LINES = 1_500;
const WRITES_MS = 7_600;
/** By then the others run. */
const BEFORE_MS = 40_000;
const WAIT_MS = 180_000;
const POLL_MS = 500;

/** Lets one run write 1,500 lines, and reads its log. */
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
    for (let from: string | undefined, kept = 0, missing = 0; trueNow() < at + WAIT_MS; await pause(POLL_MS, signal)) {
      const page = await readLog(store, TALKER as JobName, recordKey(at), { from });
      from = page.next;
      for (const entry of page.entries) {
        if ('text' in entry) kept += 1;
        if ('gap' in entry) missing += entry.gap.lines;
      }
      if (page.ended)
        return { beside, load: os.loadavg()[0] ?? 0, lines: LINES, seconds: WRITES_MS / 1_000, kept, missing };
    }
    throw new Error(`the run had not ended after ${String(WAIT_MS / 1_000)} s`);
  });
}
