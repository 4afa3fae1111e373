import { pause } from '../../test/chaos/time';
import { type Expected, type Figures, judge } from '../figures/judge';
import type { World } from './world';

/** Longer than from one sweep to the next: a sweep may write what rows owe. */
const RECORDS_MS = 90_000;
const POLL_MS = 1_000;

/** Judges the starts, and gives its own system with records some time to write those of what did not run. */
export async function judgeSettled(
  { starts, running }: World,
  expected: Expected,
  signal: AbortSignal,
): Promise<Figures> {
  const deadline = performance.now() + RECORDS_MS;
  for (;;) {
    const figures = judge(starts.read(), expected, await running.recorded?.());
    const isOver = figures.unrecorded === 0 || running.recorded === undefined || performance.now() > deadline;
    if (isOver) return figures;
    await pause(POLL_MS, signal);
  }
}
