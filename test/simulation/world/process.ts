import type { Clock } from '../../../src/core/clock';
import type { Timeline } from './timeline';

/** The errors of one machine's clocks. */
export interface ClockFault {
  /** Its wall clock is this far ahead. */
  readonly skewMs: number;
  /** Both of its clocks run faster by this share. */
  readonly drift: number;
}

/** One operating system process: all its actions pass through its gate. */
export interface SimulatedProcess {
  readonly id: string;
  readonly clock: Clock;
  /** Kills it, as by `kill -9`. */
  kill(): void;
  readonly dead: boolean;
  /** Ends it, as a worker exits whose shutdown hook has returned: the requests that it has just begun are not sent. */
  exit(): void;
  /** When it has ended so, on the timeline; undefined: it has not. */
  readonly exitedAt: number | undefined;
  /** Stops it where it is. `asleep`: its machine sleeps, and the monotonic clock stands still. */
  pause(asleep: boolean): void;
  wake(): void;
  readonly paused: boolean;
  /** When it was last woken, in true time since 1970; -Infinity: never. */
  wokeAt(): number;
  /** Sets its machine's wall clock. */
  setSkew(skewMs: number): void;
  /** Runs now, or when the process wakes, or never. */
  enter(run: () => void): void;
}

/** A shorter wait is lost when it is added to the time of a history that lasts a year. */
const LEAST_MS = 1e-5;

export function createProcess(id: string, timeline: Timeline, start: number, fault: ClockFault): SimulatedProcess {
  const rate = 1 + fault.drift;
  const born = timeline.now();
  let { skewMs } = fault;
  let dead = false;
  let exitedAt: number | undefined;
  let waiting: (() => void)[] | undefined;
  let asleepSince: number | undefined;
  let slept = 0;
  let wokeAt = -Infinity;
  const awake = (): number => (asleepSince ?? timeline.now()) - born - slept;
  const enter = (run: () => void): void => {
    if (dead) return;
    if (waiting === undefined) run();
    else waiting.push(run);
  };
  const after: Clock['after'] = (delay, run) => {
    // As Node's timers: whole milliseconds, at least one.
    const due = awake() + Math.max(1, Math.ceil(delay)) / rate;
    let cancel = (): void => undefined;
    const arm = (): void => {
      cancel = timeline.after(due - awake(), () => {
        // A timer follows the monotonic clock, which may have stood still meanwhile.
        enter(() => {
          if (due - awake() > LEAST_MS) arm();
          else if (!cancelled) run();
        });
      });
    };
    let cancelled = false;
    arm();
    return () => {
      cancelled = true;
      cancel();
    };
  };
  const kill = (): void => {
    dead = true;
    waiting = undefined;
  };
  return {
    id,
    clock: {
      now: () => Math.floor(start + born + (timeline.now() - born) * rate + skewMs),
      monotonic: () => awake() * rate,
      after,
    },
    kill,
    get dead() {
      return dead;
    },
    exit: () => {
      kill();
      exitedAt = timeline.now();
    },
    get exitedAt() {
      return exitedAt;
    },
    pause: (asleep) => {
      if (waiting !== undefined || dead) return;
      waiting = [];
      if (asleep) asleepSince = timeline.now();
    },
    wokeAt: () => wokeAt,
    wake: () => {
      wokeAt = start + timeline.now();
      if (asleepSince !== undefined) slept += timeline.now() - asleepSince;
      asleepSince = undefined;
      const held = waiting ?? [];
      waiting = undefined;
      for (const run of held)
        timeline.after(0, () => {
          enter(run);
        });
    },
    get paused() {
      return waiting !== undefined;
    },
    setSkew: (value) => {
      skewMs = value;
    },
    enter,
  };
}
