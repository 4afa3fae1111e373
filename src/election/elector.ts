import type { Millis } from '../core/brand';
import { sleep } from '../core/clock';
import { type Won, type World, claim } from './campaign';
import {
  type Candidate,
  createCandidate,
  type ElectionEvent,
  isSameTerm,
  orStopped,
  pauseAfter,
  pollWait,
} from './candidate';
import { type Leader, LeadershipEndedError, TaskNotEndedError } from './leadership';
import type { ElectionSettings } from './options';
import { healthProblem, startTerm, type Term, type TermOver } from './term';

/** How soon the winner is read after a lost race. */
const READ_AFTER_RACE_MS = 500;

/** The election was stopped permanently. */
export class ElectionStoppedError extends Error {
  readonly code = 'ElectionStopped';
  override readonly name = 'ElectionStoppedError';
}

/** One instance's part in an election. */
export interface Elector {
  readonly isLeader: boolean;
  start(): void;
  /** Resolves once the campaign has ended. */
  over(): Promise<void>;
  stop(): Promise<void>;
  resign(): Promise<boolean>;
  leader(): Promise<Leader | undefined>;
  observe(signal?: AbortSignal): AsyncGenerator<Leader | undefined, void, undefined>;
}

/** The state of an instance that campaigns: at any time one of these two. */
type Role =
  /** Waits, then reads the row, and claims the term if there is no leader. */
  | { readonly kind: 'follower'; readonly waitMs: Millis }
  /** Runs the task for as long as it holds the lease. */
  | { readonly kind: 'leader'; readonly won: Won };

export function createElector(settings: ElectionSettings, world: World, tell: (event: ElectionEvent) => void): Elector {
  const candidate = createCandidate(settings, world, tell);
  const { scout, stopping } = candidate;
  let campaign: Promise<void> | undefined;

  return {
    get isLeader() {
      return candidate.term?.leads ?? false;
    },
    start() {
      if (stopping.signal.aborted) {
        throw new ElectionStoppedError(`election "${settings.name}" was stopped: create a new LeaderElection`);
      }
      campaign ??= run(candidate);
    },
    over: () => campaign ?? Promise.resolve(),
    async stop() {
      stopping.abort();
      candidate.term?.end('draining', `election "${settings.name}" is being stopped`);
      await campaign;
    },
    async resign() {
      const { term } = candidate;
      if (term === undefined || !term.leads) return false;
      term.end('resigned', `the leader of election "${settings.name}" resigns`);
      await term.over;
      return true;
    },
    leader: () => scout.leader(),
    observe: (signal) => observe(candidate, () => campaign !== undefined, signal),
  };
}

/**
 * Runs the campaign until it is stopped. A claim that succeeds after the stop still becomes a term, so that its lease
 * is released.
 */
async function run(candidate: Candidate): Promise<void> {
  const { world, stopping } = candidate;
  const follow = follower(candidate);
  const lead = leader(candidate);
  let role: Role = { kind: 'follower', waitMs: 0 };
  while (role.kind === 'leader' || !stopping.signal.aborted) {
    if (role.kind === 'leader') {
      role = { kind: 'follower', waitMs: await lead(role.won) };
    } else {
      await sleep(world.clock, role.waitMs, stopping.signal);
      if (stopping.signal.aborted) return;
      const turn = await follow();
      role = 'won' in turn ? { kind: 'leader', won: turn.won } : { kind: 'follower', waitMs: turn.waitMs };
    }
  }
}

/** Yields the leader whenever it changes, by the campaign's sightings or, without a campaign, by its own. */
async function* observe(
  candidate: Candidate,
  campaigns: () => boolean,
  signal?: AbortSignal,
): AsyncGenerator<Leader | undefined, void, undefined> {
  const { settings, world, sightings, stopping } = candidate;
  const ends = signal === undefined ? stopping.signal : AbortSignal.any([signal, stopping.signal]);
  let yielded: typeof sightings.last;
  while (!ends.aborted) {
    const wait = campaigns() ? settings.pollMs : await readLeader(candidate);
    const changed = sightings.changed();
    const now = sightings.last;
    if (now !== undefined && (yielded === undefined || !isSameTerm(yielded.leader, now.leader))) {
      yielded = now;
      yield now.leader;
    } else {
      await sleep(world.clock, wait, AbortSignal.any([ends, changed]));
    }
  }
}

/** Reads the leader once, for an instance that does not campaign. Returns the wait before the next read. */
async function readLeader(candidate: Candidate): Promise<Millis> {
  try {
    candidate.sightings.note(await candidate.scout.leader());
    candidate.trouble.over();
    return pollWait(candidate);
  } catch (error) {
    return pauseAfter(candidate, error);
  }
}

/** A follower's turn: one read, and one attempt to lead if there is no leader. */
type Follow = () => Promise<{ readonly won: Won } | { readonly waitMs: Millis }>;

function follower(candidate: Candidate): Follow {
  const { settings, world, scout, sightings, trouble, stopping } = candidate;
  let isUnfit = false;

  return async () => {
    try {
      const seen = await orStopped(candidate, scout.read());
      if (seen === undefined) return { waitMs: 0 };
      trouble.over();
      sightings.note(seen.leader);
      // A task that ignores its signal keeps only its own instance from leading.
      const mayLead = candidate.term?.taskRuns !== true;
      if (!seen.free || !mayLead || !(await orStopped(candidate, isFit()))) return { waitMs: pollWait(candidate) };
      const won = await claim(settings, world, seen, stopping.signal);
      return won === undefined ? { waitMs: READ_AFTER_RACE_MS } : { won };
    } catch (error) {
      return { waitMs: pauseAfter(candidate, error) };
    }
  };

  /** Checks the instance's health. Reports a failure once, until the check succeeds again. */
  async function isFit(): Promise<boolean> {
    const problem = await healthProblem(settings, world.clock);
    if (problem !== undefined && !isUnfit) {
      const message = `this instance does not campaign in election "${settings.name}": ${problem.message}`;
      const error = new LeadershipEndedError('unhealthy', message, { cause: problem.cause });
      candidate.tell({ kind: 'error', error });
    }
    isUnfit = problem !== undefined;
    return !isUnfit;
  }
}

/** A leader's term, from the claim to the release of the lease. Resolves to the wait before the next read. */
type Lead = (won: Won) => Promise<Millis>;

function leader(candidate: Candidate): Lead {
  const { settings, world, sightings, stopping, tell } = candidate;
  /** How many terms in a row failed early. */
  let failures = 0;

  return async (won) => {
    const began = world.clock.monotonic();
    const term = startTerm(settings, world, won, (error) => tell({ kind: 'error', error }));
    candidate.term = term;
    sightings.note(won.leader);
    tell({ kind: 'elected', leader: won.leader });
    if (stopping.signal.aborted) term.end('draining', `election "${settings.name}" is being stopped`);
    const over = await term.over;
    if (over.reason !== 'leaseLost') sightings.note(undefined);
    tell({ kind: 'lost', leader: won.leader, reason: over.reason });
    if (isError(over)) tell({ kind: 'error', error: over.error });
    watchTask(candidate, term, over);
    return waitAfter(over, world.clock.monotonic() - began);
  };

  function waitAfter({ reason }: TermOver, lasted: Millis): Millis {
    failures = reason === 'failed' ? (lasted >= settings.maxBackoffMs ? 1 : failures + 1) : 0;
    switch (reason) {
      case 'failed':
        return jittered(Math.min(settings.maxBackoffMs, settings.backoffMs * 2 ** (failures - 1)));
      case 'completed':
        if (settings.afterTask === 'stop') stopping.abort();
        return holdOff();
      case 'leaseLost':
      case 'draining':
        return 0;
      case 'resigned':
      case 'stalled':
      case 'unhealthy':
        return holdOff();
    }
  }

  /** Longer than a poll interval, so that after a release every other candidate reads first. */
  function holdOff(): Millis {
    return settings.pollMs * (1.25 + 0.25 * world.random());
  }

  function jittered(ms: Millis): Millis {
    return ms * (0.5 + 0.5 * world.random());
  }
}

function isError({ reason }: TermOver): boolean {
  return reason === 'failed' || reason === 'leaseLost' || reason === 'stalled' || reason === 'unhealthy';
}

/**
 * Reports a task that outlives its grace. After the loss of a lease, the grace begins now; after any other end, it is
 * over.
 */
function watchTask({ settings, world, tell }: Candidate, term: Term, { reason }: TermOver): void {
  if (!term.taskRuns) return;
  const { name, graceMs } = settings;
  world.clock.after(reason === 'leaseLost' ? graceMs : 0, () => {
    if (!term.taskRuns) return;
    const error = new TaskNotEndedError(
      `the task of election "${name}" has ignored its signal for ${String(graceMs / 1000)} s: ` +
        'others may lead, and this instance may not until the task has ended',
    );
    tell({ kind: 'error', error });
  });
}
