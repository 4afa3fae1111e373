import type { JobName, Millis } from '../../../src/core/brand';
import { sleep } from '../../../src/core/clock';
import { decodeElectionRow } from '../../../src/election/campaign';
import { type ElectionEvent, Elector } from '../../../src/election/elector';
import { type ElectionSettings, type LeaderElectionOptions, checkOptions } from '../../../src/election/options';
import { StaleLeaderError } from '../../../src/lease/fence';
import { type LeaseStore, StoreError } from '../../../src/lease/store';
import { type MemoryService, memoryService } from '../../../src/stores/memory/store';
import { type Random, seedOf, seededAt } from '../faults/random';
import { marginOf } from './facts';
import { type TargetBlob, blobOver, createTarget } from './blob';
import { kindOfThrown, mistakeIn } from './crash';
import { type Network, callOver, storeOver } from './network';
import { type ClockFault, type SimulatedProcess, createProcess } from './process';
import { START, type World } from './world';
import type { Leadership } from '../../../src/election/leadership';

/*
 * An election beside the jobs: candidates are separate processes, with the real elector in each, over a store and a
 * network that fail as those of the jobs do.
 */

const NAME = 'election' as JobName;

export interface PlannedElection {
  readonly leaseMs: Millis;
  readonly candidates: readonly ClockFault[];
  readonly acts: readonly ElectionAct[];
}

/** What is done to a candidate at one instant, or to the lease. */
export type ElectionAct = { readonly at: number } & (
  | { readonly kind: 'kill'; readonly candidate: number; readonly back: Millis }
  | { readonly kind: 'pause'; readonly candidate: number; readonly lasts: Millis; readonly asleep: boolean }
  | { readonly kind: 'setClock'; readonly candidate: number; readonly skewMs: Millis }
  | { readonly kind: 'resign' | 'stop'; readonly candidate: number }
  | { readonly kind: 'breakLease'; readonly period: Millis }
);

interface Candidate {
  readonly process: SimulatedProcess;
  readonly elector: Elector;
  /** The term that its task was called with last. */
  term: Leadership | undefined;
  /** When its acquisition, or a renewal, took effect last. */
  provenAt: number;
  /** The token of its last term that is over. */
  overToken: number;
}

export interface Election {
  /** What holds at each instant. */
  check(): void;
  /** The faults end: everyone is back. */
  quieten(): void;
}

/** Once the faults have ended someone leads within this: a lease that was broken late, its margin, and two polls. */
const LEADS_WITHIN_MS = 120_000;
const STARTED_AGAIN_MS = 1_000;
/** Clocks may run slower than the service's by this share. */
const DRIFT = 0.01;
/** A task that does not obey its signal writes on for this long. */
const DISOBEYS_MS = 20_000;

/** What an election happens in. */
interface Scene {
  readonly world: World;
  readonly planned: PlannedElection;
  readonly service: MemoryService;
  readonly target: TargetBlob;
  readonly candidates: Map<number, Candidate>;
  readonly starts: Map<number, number>;
  /** For how long a leader may trust a proof at most. */
  readonly trustMs: Millis;
}

export function startElection(world: World, planned: PlannedElection): Election {
  const { timeline } = world;
  const scene: Scene = {
    world,
    planned,
    service: memoryService({
      now: () => START + Math.floor(timeline.now()),
      monotonic: timeline.now,
      after: timeline.after,
    }),
    target: targetOf(world),
    candidates: new Map(),
    starts: new Map(),
    trustMs: planned.leaseMs * (1 + DRIFT) - marginOf(planned.leaseMs),
  };
  for (const [place] of planned.candidates.entries()) start(scene, place);
  for (const what of planned.acts) {
    timeline.after(what.at, () => {
      if (world.troubled) act(scene, what);
    });
  }
  let quietSince: number | undefined;
  return {
    check() {
      check(scene, quietSince);
    },
    quieten() {
      quietSince = timeline.now();
      for (const [place, { process }] of scene.candidates) {
        if (process.paused) process.wake();
        if (process.dead) start(scene, place);
      }
    },
  };
}

function targetOf({ observer }: World): TargetBlob {
  let fencedToken = 0;
  return createTarget((token) => {
    if (token < fencedToken) {
      const what = `a fenced write of token ${String(token)} landed after one of ${String(fencedToken)}`;
      observer.report('fencedWentBack', NAME, what);
    }
    fencedToken = token;
  });
}

function check({ world, candidates, trustMs }: Scene, quietSince: number | undefined): void {
  const { timeline, observer } = world;
  const now = timeline.now();
  const leading = [...candidates.values()].filter(leads);
  if (leading.length > 1) {
    const who = leading.map(({ process, term }) => `token ${String(term?.token)} on ${process.id}`);
    observer.report('ledTwice', NAME, `two candidates trust that they lead: ${who.join(', ')}`);
  }
  for (const { process, term, provenAt } of leading) {
    if (now <= provenAt + trustMs) continue;
    observer.report('trustTooLong', NAME, `token ${String(term?.token)} on ${process.id} trusts its lease too long`);
  }
  if (quietSince !== undefined && now - quietSince > LEADS_WITHIN_MS && leading.length === 0) {
    observer.report(
      'nobodyLeads',
      NAME,
      `no candidate leads ${String(LEADS_WITHIN_MS / 1000)} s after the faults' end`,
    );
  }
}

function start(scene: Scene, place: number): void {
  const { world, planned, candidates, starts } = scene;
  const { plan, timeline, trace, observer } = world;
  const clock = planned.candidates[place];
  if (clock === undefined || candidates.get(place)?.process.dead === false) return;
  const times = (starts.get(place) ?? 0) + 1;
  starts.set(place, times);
  const id = `c${String(place)}#${String(times)}`;
  const process = createProcess(id, timeline, START, clock);
  const random = seededAt(seedOf(plan.seed, 'candidate', place), times);
  const network = networkOf(world, id, process, (back) => {
    kill(scene, place, back);
  });
  const proven = (): void => {
    candidate.provenAt = timeline.now();
    // Looks at the very instant at which its trust must be over.
    timeline.after(scene.trustMs + 1, () => undefined);
  };
  const store = storeOver(network, process, watchElection(world, scene.service, proven), {
    sent: () => undefined,
    listed: () => undefined,
  });
  const blob = blobOver(
    scene.target,
    (kind, apply) => callOver(network, process, { kind: `${NAME} ${kind}`, apply }),
    (token) => {
      if (token > candidate.overToken) return;
      observer.report('wroteAfterEnd', NAME, `token ${String(token)} writes through its fence after its term`);
    },
  );
  const settings = settingsOf(id, planned.leaseMs, store, (leadership) => {
    candidate.term = leadership;
    return lead(world, leadership, process, random, () => leadership.fence.write(blob, 'x'));
  });
  const parts = { store, clock: process.clock, random: random.next, newId: () => newId(random) };
  const elector = new Elector(settings, parts, (event) => {
    if (event.kind === 'lost') candidate.overToken = event.leader.token;
    heard(world, id, event);
  });
  const candidate: Candidate = { process, elector, term: undefined, provenAt: -Infinity, overToken: 0 };
  candidates.set(place, candidate);
  elector.start();
  elector.over().catch((error: unknown) => {
    observer.report(kindOfThrown(error), NAME, `${id}: its campaign threw ${String(error)}`);
  });
  trace?.add(id, `${NAME} started`);
}

function settingsOf(
  id: string,
  lease: Millis,
  { limits }: LeaseStore,
  task: LeaderElectionOptions['task'],
): ElectionSettings {
  const container = { url: '', create: unused, getBlockBlobClient: unused };
  return checkOptions({ container, name: NAME, id, lease, task }, () => id, limits.leaseMs);
}

function kill(scene: Scene, place: number, back: Millis): void {
  const { world, candidates } = scene;
  const candidate = candidates.get(place);
  if (candidate === undefined || candidate.process.dead) return;
  candidate.process.kill();
  world.trace?.add(candidate.process.id, `${NAME} killed`);
  world.timeline.after(back, () => {
    start(scene, place);
  });
}

function act(scene: Scene, what: ElectionAct): void {
  const { world, service, candidates } = scene;
  world.trace?.add('', `${NAME} ${JSON.stringify(what)}`);
  if (what.kind === 'breakLease') {
    service.breakLease(NAME, what.period);
    return;
  }
  const candidate = candidates.get(what.candidate);
  if (candidate === undefined || candidate.process.dead) return;
  const { process, elector } = candidate;
  switch (what.kind) {
    case 'kill':
      kill(scene, what.candidate, what.back);
      return;
    case 'setClock':
      process.setSkew(what.skewMs);
      return;
    case 'pause':
      process.pause(what.asleep);
      world.timeline.after(what.lasts, process.wake);
      return;
    case 'resign':
      process.enter(() => void elector.resign());
      return;
    case 'stop':
      // As SIGTERM: its campaign ends, and another process takes its place.
      process.enter(() => {
        void elector.stop().then(() => {
          kill(scene, what.candidate, STARTED_AGAIN_MS);
        });
      });
  }
}

/** Whether it can act on its belief that it leads. */
function leads({ process, elector, term }: Candidate): boolean {
  if (process.dead || process.paused) return false;
  if (elector.isLeader) return true;
  try {
    term?.fence.check();
    return term !== undefined;
  } catch {
    return false;
  }
}

/** The task of a leader: it writes through its fence, and ends, or does not obey, as drawn. */
async function lead(
  world: World,
  { signal }: Leadership,
  process: SimulatedProcess,
  random: Random,
  write: () => Promise<unknown>,
): Promise<void> {
  const { clock } = process;
  const ends = clock.monotonic() + (random.chance(0.3) ? random.whole(1_000, 60_000) : Infinity);
  const obeys = random.chance(0.6);
  let toldAt: number | undefined;
  for (;;) {
    if (world.troubled && clock.monotonic() > ends) return;
    if (signal.aborted) toldAt ??= clock.monotonic();
    if (toldAt !== undefined && (obeys || clock.monotonic() - toldAt > DISOBEYS_MS)) return;
    try {
      await write();
    } catch (error) {
      // A stale leader that ignores its errors writes again.
      if (!(error instanceof StaleLeaderError || error instanceof Error)) throw error;
    }
    await sleep(clock, random.whole(200, 5_000), toldAt === undefined ? signal : undefined);
  }
}

function heard({ trace, observer }: World, id: string, event: ElectionEvent): void {
  if (event.kind !== 'error') {
    trace?.add(
      id,
      `${NAME} ${event.kind} ${event.leader?.id ?? 'nobody'} ${event.kind === 'lost' ? event.reason : ''}`,
    );
    return;
  }
  const mistake = mistakeIn([event.error]);
  if (mistake !== undefined) observer.report('crashed', NAME, `${id} reports ${mistake}`);
  else if (!(event.error instanceof StoreError)) trace?.add(id, `${NAME} error ${String(event.error)}`);
}

/** Each claim raises the token by one. */
function watchElection({ observer, trace }: World, service: MemoryService, proven: () => void): LeaseStore {
  const store = service.open();
  return {
    ...store,
    async acquire(name, request, options) {
      const answer = await store.acquire(name, request, options);
      if (answer.kind === 'acquired') proven();
      return answer;
    },
    async renew(name, leaseId, options) {
      const answer = await store.renew(name, leaseId, options);
      if (answer === 'renewed') proven();
      return answer;
    },
    async writeRow(name, metadata, guard, options) {
      const before = await store.readRow(name);
      const answer = await store.writeRow(name, metadata, guard, options);
      if (answer.kind === 'refused') return answer;
      const { token, leader } = decodeElectionRow(metadata);
      const last = before === undefined ? 0 : decodeElectionRow(before.metadata).token;
      trace?.add('store', `${name} token ${String(token)} for ${String(leader)}`);
      if (token !== last + 1) {
        observer.report('tokenJumped', name, `token went from ${String(last)} to ${String(token)}`);
      }
      return answer;
    },
  };
}

function networkOf(world: World, id: string, process: SimulatedProcess, kill: (back: Millis) => void): Network {
  const { timeline, trace, faults, counts } = world;
  return {
    timeline,
    trace,
    calls: faults.stream(id),
    slowMs: 0,
    outage: () => world.outage,
    era: timeline.leapt,
    denied: () => false,
    crash: kill,
    pause: (lasts, asleep) => {
      process.pause(asleep);
      timeline.after(lasts, process.wake);
    },
    called: () => {
      counts.calls += 1;
    },
  };
}

function newId(random: Random): string {
  const part = (): string => String(random.whole(0, 99_999_999)).padStart(8, '0');
  return `${part()}-0000-4000-8000-0000${part()}`;
}

function unused(): never {
  throw new Error('the simulated store is used instead');
}
