import type { Millis } from '../../../src/core/brand';
import { type Random, seededBy } from '../../simulation/faults/random';
import { type SimulatedProcess, createProcess } from '../../simulation/world/process';
import { createTimeline } from '../../simulation/world/timeline';
import { START } from '../../simulation/world/world';
import type { Member } from '../algorithms/algorithm';
import type { Contender, World } from './world';
import { type DataStore, createDataStore } from './data-store';
import { createLinks } from './links';
import { type Belief, type Observer, createObserver, overlap } from './observer';
import { FAULT_AT_MS, MEASURED_MS, type Scenario, type Stage } from './scenarios';

/** One contender in one scenario, by one seed. */
export interface Trial {
  readonly contender: Contender;
  readonly scenario: Scenario;
  readonly instances: number;
  readonly seed: number;
}

export interface Figures {
  /** How often an instance called an election or, with a store, asked for the lease. */
  readonly elections: number;
  readonly messages: number;
  readonly withoutLeaderMs: Millis;
  /** How often, and for how long, two or more instances believed at once. */
  readonly twoLeaders: { readonly times: number; readonly ms: Millis };
  readonly writes: number;
  readonly stale: number;
  /** Undefined for an algorithm whose leaders have no token. */
  readonly staleFenced: number | undefined;
  readonly beliefs: readonly Belief[];
}

/**
 * Leaders write this often. It is also how often the observer looks at least, because a belief may end only by the
 * passing of time.
 */
export const WRITE_EVERY_MS = 200;
/** How long a leader computes what it writes, after it has checked that it leads. */
export const COMPUTES_MS = [5, 100] as const;

interface Actor {
  readonly process: SimulatedProcess;
  readonly member: Member;
  /** Of its writes. */
  readonly random: Random;
  /** Whether its next write is due, and its process has not begun it. */
  writes: boolean;
}

export async function runTrial({ contender, scenario, instances, seed }: Trial): Promise<Figures> {
  const timeline = createTimeline();
  const ids = Array.from({ length: instances }, (_, index) => index + 1);
  const links = createLinks(timeline, seed);
  const world: World = { timeline, seed, ids, links };
  const observer = createObserver();
  const data = createDataStore();
  const actors = new Map<number, Actor>();
  let elections = 0;
  const start = starter(world, contender, scenario, () => {
    elections += 1;
  });
  const begin = (id: number): void => {
    actors.set(id, start(id));
  };
  const look = (): boolean => {
    const now = timeline.now();
    for (const [instance, { process, member }] of actors) {
      observer.look(now, instance, process.dead ? 'dead' : process.paused ? 'stopped' : 'runs', member);
    }
    return true;
  };
  for (const id of ids) begin(id);
  const tick = (): void => {
    for (const [id, actor] of actors) write(world, actor, observer.beliefOf(id), data);
    timeline.after(WRITE_EVERY_MS, tick);
  };
  tick();
  const faultAt = scenario.fromStart === true ? 0 : FAULT_AT_MS + seededBy(seed, 'fault').whole(0, 5_000);
  await timeline.runUntil(faultAt, look);
  const before = { elections, messages: links.sent, stale: data.stale, staleFenced: data.staleFenced };
  const writesBefore = data.writes;
  scenario.play(stageOf(world, actors, observer, begin));
  await timeline.runUntil(faultAt + MEASURED_MS, look);
  const measured = [faultAt, faultAt + MEASURED_MS] as const;
  const hasToken = observer.beliefs.some(({ token }) => token !== undefined);
  return {
    elections: elections - before.elections,
    messages: links.sent - before.messages,
    withoutLeaderMs: MEASURED_MS - overlap(observer.beliefs, 1, measured).ms,
    twoLeaders: overlap(observer.beliefs, 2, measured),
    writes: data.writes - writesBefore,
    stale: data.stale - before.stale,
    staleFenced: hasToken ? data.staleFenced - before.staleFenced : undefined,
    beliefs: observer.beliefs,
  };
}

/** What starts the process of an instance: the first, or another after a crash, on the same disk. */
function starter(
  world: World,
  contender: Contender,
  { drift = 0 }: Scenario,
  campaigned: () => void,
): (id: number) => Actor {
  const { timeline, seed } = world;
  const join = contender.enter(world);
  const disks = new Map(world.ids.map((id) => [id, new Map<string, number>()]));
  const starts = new Map<number, number>();
  return (id) => {
    const times = (starts.get(id) ?? 0) + 1;
    starts.set(id, times);
    const rate = seededBy(seed, 'drift', id).pick([-drift, drift]);
    const process = createProcess(`${String(id)}#${String(times)}`, timeline, START, { skewMs: 0, drift: rate });
    const random = seededBy(seed, 'instance', id, times);
    const disk = disks.get(id) ?? new Map<string, number>();
    const member = join({ id, process, random, disk, campaigned });
    return { process, member, random: seededBy(seed, 'writes', process.id), writes: false };
  };
}

/** The work of a leader: it checks that it leads, computes for a moment, and writes what it has computed. */
function write({ links }: World, actor: Actor, belief: Belief | undefined, data: DataStore): void {
  const { process, member, random } = actor;
  // A timer of a stopped process fires once when it continues.
  if (belief === undefined || actor.writes) return;
  actor.writes = true;
  process.enter(() => {
    actor.writes = false;
    if (belief.over || !member.leads || member.token !== belief.token) return;
    process.clock.after(random.whole(...COMPUTES_MS), () => {
      links.send(belief.instance, 'data', () => {
        data.write(belief);
      });
    });
  });
}

function stageOf(
  { timeline, ids, seed, links }: World,
  actors: ReadonlyMap<number, Actor>,
  { beliefs }: Observer,
  begin: (id: number) => void,
): Stage {
  const processOf = (id: number): SimulatedProcess => {
    const actor = actors.get(id);
    if (actor === undefined) throw new Error(`there is no instance ${String(id)}`);
    return actor.process;
  };
  const leader = beliefs.findLast(({ over }) => !over)?.instance ?? beliefs.at(-1)?.instance;
  return {
    ids,
    leader: leader ?? 1,
    links,
    random: seededBy(seed, 'scenario'),
    after: (delay, run) => void timeline.after(delay, run),
    kill: (id) => {
      processOf(id).kill();
    },
    restart: begin,
    pause: (id, asleep) => {
      processOf(id).pause(asleep);
    },
    wake: (id) => {
      processOf(id).wake();
    },
    setClock: (id, skewMs) => {
      processOf(id).setSkew(skewMs);
    },
  };
}
