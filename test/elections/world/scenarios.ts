import type { Millis } from '../../../src/core/brand';
import type { Random } from '../../simulation/faults/random';
import type { End, Links } from './links';

/** A fault begins about here: every algorithm has long elected a leader. */
export const FAULT_AT_MS: Millis = 30_000;
const FAULT_MS: Millis = 60_000;
/** Figures are those of this long from the fault on, so that they include what happens after its end. */
export const MEASURED_MS: Millis = 120_000;

/** What a scenario can do to its world. */
export interface Stage {
  readonly ids: readonly number[];
  /** The instance that led when the fault began. */
  readonly leader: number;
  readonly links: Links;
  readonly random: Random;
  after(delay: Millis, run: () => void): void;
  kill(id: number): void;
  restart(id: number): void;
  /** Stops a process. `asleep`: its machine sleeps, and its monotonic clock stands still. */
  pause(id: number, asleep: boolean): void;
  wake(id: number): void;
  /** Sets the wall clock of an instance this far ahead. */
  setClock(id: number, skewMs: Millis): void;
}

export interface Scenario {
  readonly name: string;
  /** One sentence for the page. */
  readonly what: string;
  /** Clocks run slower or faster by this share, drawn for each instance. */
  readonly drift?: number;
  /** Measured from the start on. */
  readonly fromStart?: true;
  /** It concerns only the store of the leases. */
  readonly ofStore?: true;
  play(stage: Stage): void;
}

export const SCENARIOS: readonly Scenario[] = [
  {
    name: 'calm start',
    what: 'All instances start at once. Nothing fails.',
    fromStart: true,
    play: () => undefined,
  },
  {
    name: 'crash',
    what: 'The leader is killed, and starts again after 60 s.',
    play: (stage) => {
      crash(stage, FAULT_MS);
    },
  },
  {
    name: 'quick restart',
    what: 'The leader is killed, and starts again after 0.5 to 2 s.',
    play: (stage) => {
      crash(stage, stage.random.whole(500, 2_000));
    },
  },
  {
    name: 'partition',
    what: 'For 60 s, the leader and a minority are cut off from the others and from the store of the leases.',
    play: isolateMinority,
  },
  {
    name: 'cannot send',
    what: 'For 60 s, everything that the leader sends is lost. It still receives.',
    play: (stage) => {
      oneWay(stage, (leader, other) => [leader, other]);
    },
  },
  {
    name: 'cannot hear',
    what: 'For 60 s, everything that is sent to the leader is lost. Its own messages arrive.',
    play: (stage) => {
      oneWay(stage, (leader, other) => [other, leader]);
    },
  },
  {
    name: 'flapping link',
    what: 'For 60 s, the leader is cut off for 1 to 6 s and reachable for 1 to 6 s, in turn.',
    play: flap,
  },
  {
    name: 'lost messages',
    what: 'For 60 s, each message is lost with a probability of 30 %.',
    play: ({ links, after }) => {
      links.loss = 0.3;
      after(FAULT_MS, () => {
        links.loss = 0;
      });
    },
  },
  {
    name: 'slow links',
    what: 'For 60 s, each message takes 2 to 8 s: longer than the timeouts of 3 s.',
    play: ({ links, after }) => {
      links.slowMs = [2_000, 8_000];
      after(FAULT_MS, () => {
        links.slowMs = [0, 0];
      });
    },
  },
  {
    name: 'stopped process',
    what: 'The leader is stopped for 20 to 40 s (SIGSTOP, a long pause of its host), perhaps in the middle of a write.',
    play: (stage) => {
      stop(stage, false);
    },
  },
  {
    name: 'sleeping machine',
    what: 'The same, with a machine that sleeps: the monotonic clock of the leader stands still.',
    play: (stage) => {
      stop(stage, true);
    },
  },
  {
    name: 'drift of 5 %',
    what: 'Each clock runs 5 % too fast or too slow, and the leader is cut off as in "partition".',
    drift: 0.05,
    play: isolateMinority,
  },
  {
    name: 'drift of 25 %',
    what: 'The same with 25 %: more than the margin of any lease here.',
    drift: 0.25,
    play: isolateMinority,
  },
  {
    name: 'clock set',
    what: 'The wall clock of the leader is set forward or back by 30 s.',
    play: ({ setClock, leader, random }) => {
      setClock(leader, random.pick([-30_000, 30_000]));
    },
  },
  {
    name: 'store, others cut',
    what: 'For 60 s, all instances but the leader cannot reach the store of the leases.',
    ofStore: true,
    play: (stage) => {
      cutStore(stage, ({ ids, leader }) => ids.filter((id) => id !== leader));
    },
  },
  {
    name: 'store down',
    what: 'For 60 s, the store of the leases does not answer.',
    ofStore: true,
    play: (stage) => {
      cutStore(stage, ({ ids }) => ids);
    },
  },
];

export function scenarioOf(name: string): Scenario {
  const found = SCENARIOS.find((one) => one.name === name);
  if (found === undefined) throw new Error(`there is no scenario "${name}"`);
  return found;
}

function crash({ kill, restart, after, leader }: Stage, downMs: Millis): void {
  kill(leader);
  after(downMs, () => {
    restart(leader);
  });
}

function stop({ pause, wake, after, leader, random }: Stage, asleep: boolean): void {
  pause(leader, asleep);
  after(random.whole(20_000, 40_000), () => {
    wake(leader);
  });
}

/** The leader, and as many others as leave a majority, lose all links to the rest. */
function isolateMinority({ ids, leader, links, after }: Stage): void {
  const others = ids.filter((id) => id !== leader);
  const minority = [leader, ...others.slice(0, Math.ceil(ids.length / 2) - 2)];
  const majority: readonly End[] = [...others.filter((id) => !minority.includes(id)), 'leases'];
  for (const one of minority) for (const other of majority) cutBoth(links, one, other);
  after(FAULT_MS, links.mend);
}

function oneWay({ ids, leader, links, after }: Stage, linkOf: (leader: End, other: End) => [End, End]): void {
  for (const other of othersOf(ids, leader)) links.cut(...linkOf(leader, other));
  after(FAULT_MS, links.mend);
}

function flap({ ids, leader, links, after, random }: Stage): void {
  const ends: readonly End[] = othersOf(ids, leader);
  const next = (passed: Millis, isCut: boolean): void => {
    if (isCut || passed >= FAULT_MS) links.mend();
    else for (const other of ends) cutBoth(links, leader, other);
    if (passed >= FAULT_MS) return;
    const lasts = random.whole(1_000, 6_000);
    after(lasts, () => {
      next(passed + lasts, !isCut);
    });
  };
  next(0, false);
}

function cutStore(stage: Stage, whose: (stage: Stage) => readonly number[]): void {
  for (const id of whose(stage)) cutBoth(stage.links, id, 'leases');
  stage.after(FAULT_MS, stage.links.mend);
}

function othersOf(ids: readonly number[], leader: number): readonly End[] {
  return [...ids.filter((id) => id !== leader), 'leases'];
}

function cutBoth(links: Links, one: End, other: End): void {
  links.cut(one, other);
  links.cut(other, one);
}
