import type { Millis } from '../core/brand';
import { sleep } from '../core/clock';
import { ForeignMetadataError } from '../core/metadata';
import { backOff } from '../lease/back-off';
import { StoreError } from '../lease/store';
import type { Won, World } from './campaign';
import { claim, createScout } from './campaign';
import { healthProblem } from './health';
import type { Leader, TermEnd } from './leadership';
import { LeadershipEndedError, TaskNotEndedError } from './leadership';
import type { ElectionSettings } from './options';
import type { Term, TermOver } from './term';
import { startTerm } from './term';

/** Storage that does not answer is asked again after this long, and ever more seldom up to the poll interval. */
const ASK_AGAIN_MS = 1_000;
/** After a lost race the winner is read this soon. */
const READ_AFTER_RACE_MS = 500;

export type ElectionEvent =
  | { readonly kind: 'elected'; readonly leader: Leader }
  | { readonly kind: 'lost'; readonly leader: Leader; readonly reason: TermEnd }
  | { readonly kind: 'observed'; readonly leader: Leader | undefined }
  | { readonly kind: 'error'; readonly error: unknown };

/** The election was stopped, and is over for good. */
export class ElectionStoppedError extends Error {
  readonly code = 'ElectionStopped';
  override readonly name = 'ElectionStoppedError';
}

/** One instance's part in an election. */
export interface Elector {
  readonly isLeader: boolean;
  start(): void;
  /** Settles when the campaign has ended. */
  over(): Promise<void>;
  stop(): Promise<void>;
  resign(): Promise<boolean>;
  leader(): Promise<Leader | undefined>;
  observe(signal?: AbortSignal): AsyncGenerator<Leader | undefined, void, undefined>;
}

export function createElector(settings: ElectionSettings, world: World, tell: (event: ElectionEvent) => void): Elector {
  const { clock, random } = world;
  const scout = createScout(settings, world);
  const stopping = new AbortController();
  const trouble = troubleReport(settings, world, tell);
  let term: Term | undefined;
  let campaign: Promise<void> | undefined;
  /** Undefined: nobody has looked yet. */
  let observed: { readonly leader: Leader | undefined } | undefined;
  let change = new AbortController();
  let failures = 0;
  let unfit = false;

  return {
    get isLeader() {
      return term?.leads ?? false;
    },
    start() {
      if (stopping.signal.aborted) {
        throw new ElectionStoppedError(`election "${settings.name}" was stopped: make a new LeaderElection`);
      }
      campaign ??= run();
    },
    over: () => campaign ?? Promise.resolve(),
    async stop() {
      stopping.abort();
      term?.end('draining', `election "${settings.name}" is being stopped`);
      await campaign;
    },
    async resign() {
      const current = term;
      if (current === undefined || !current.leads) return false;
      current.end('resigned', `the leader of election "${settings.name}" resigns`);
      await current.over;
      return true;
    },
    leader: () => scout.leader(),
    observe,
  };

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      const wait = await turn();
      await sleep(clock, wait, stopping.signal);
    }
  }

  /** One look, and a term if it is won. Returns how long to wait. */
  async function turn(): Promise<Millis> {
    try {
      const seen = await orStopped(scout.read());
      if (seen === undefined) return 0;
      trouble.over();
      note(seen.leader);
      // A task that ignores its signal keeps this instance out, and nobody else.
      if (!seen.free || term?.taskRuns === true || !(await orStopped(isFit()))) return pollWait();
      const won = await claim(settings, world, seen, stopping.signal);
      return won === undefined ? READ_AFTER_RACE_MS : await lead(won);
    } catch (error) {
      if (!(error instanceof StoreError) && !(error instanceof ForeignMetadataError)) throw error;
      return trouble.wait(error);
    }
  }

  async function lead(won: Won): Promise<Millis> {
    const began = clock.monotonic();
    const current = startTerm(settings, world, won, report);
    term = current;
    note(won.leader);
    tell({ kind: 'elected', leader: won.leader });
    if (stopping.signal.aborted) current.end('draining', `election "${settings.name}" is being stopped`);
    const over = await current.over;
    if (over.reason !== 'leaseLost') note(undefined);
    tell({ kind: 'lost', leader: won.leader, reason: over.reason });
    reportEnd(over);
    watchTask(current, over);
    return afterTerm(over, clock.monotonic() - began);
  }

  function afterTerm({ reason }: TermOver, lasted: Millis): Millis {
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

  /** Who let go lets every other candidate look first. */
  function holdOff(): Millis {
    return settings.pollMs * (1.25 + 0.25 * random());
  }

  function pollWait(): Millis {
    return settings.pollMs * (0.8 + 0.4 * random());
  }

  function jittered(ms: Millis): Millis {
    return ms * (0.5 + 0.5 * random());
  }

  async function isFit(): Promise<boolean> {
    const problem = await healthProblem(settings, clock);
    if (problem !== undefined && !unfit) {
      const message = `this instance does not campaign in election "${settings.name}": ${problem.message}`;
      report(new LeadershipEndedError('unhealthy', message, { cause: problem.cause }));
    }
    unfit = problem !== undefined;
    return !unfit;
  }

  function report(error: unknown): void {
    tell({ kind: 'error', error });
  }

  function reportEnd({ reason, error }: TermOver): void {
    if (reason === 'failed' || reason === 'leaseLost' || reason === 'stalled' || reason === 'unhealthy') report(error);
  }

  /** A lost leader's task gets its grace from the loss on; any other has had it. */
  function watchTask(current: Term, { reason }: TermOver): void {
    if (!current.taskRuns) return;
    clock.after(reason === 'leaseLost' ? settings.graceMs : 0, () => {
      if (!current.taskRuns) return;
      report(
        new TaskNotEndedError(
          `the task of election "${settings.name}" has ignored its signal for ${String(settings.graceMs / 1000)} s: ` +
            'others may lead, and this instance may not until the task has ended',
        ),
      );
    });
  }

  function note(leader: Leader | undefined): void {
    const before = observed;
    observed = { leader };
    if (before !== undefined && before.leader?.token === leader?.token) return;
    change.abort();
    change = new AbortController();
    tell({ kind: 'observed', leader });
  }

  /** Settles with undefined as soon as the election is stopped, whatever storage does. */
  async function orStopped<T>(work: Promise<T>): Promise<T | undefined> {
    const finished = new AbortController();
    const stopped = sleep(clock, Infinity, AbortSignal.any([stopping.signal, finished.signal])).then(() => undefined);
    try {
      return await Promise.race([work, stopped]);
    } finally {
      finished.abort();
    }
  }

  async function* observe(signal?: AbortSignal): AsyncGenerator<Leader | undefined, void, undefined> {
    const ends = signal === undefined ? stopping.signal : AbortSignal.any([signal, stopping.signal]);
    let yielded: typeof observed;
    while (!ends.aborted) {
      const wait = campaign === undefined ? await readLeader() : settings.pollMs;
      const changed = change.signal;
      const now = observed;
      if (now !== undefined && (yielded === undefined || yielded.leader?.token !== now.leader?.token)) {
        yielded = now;
        yield now.leader;
      } else {
        await sleep(clock, wait, AbortSignal.any([ends, changed]));
      }
    }
  }

  /** An observer that does not campaign reads the row itself. */
  async function readLeader(): Promise<Millis> {
    try {
      note(await scout.leader());
      trouble.over();
      return pollWait();
    } catch (error) {
      if (!(error instanceof StoreError) && !(error instanceof ForeignMetadataError)) throw error;
      return trouble.wait(error);
    }
  }
}

/** One report for each trouble, and ever longer waits until it is over. */
function troubleReport(
  { pollMs }: ElectionSettings,
  { random }: World,
  tell: (event: ElectionEvent) => void,
): { wait(error: StoreError | ForeignMetadataError): Millis; over(): void } {
  const newBackOff = (): ReturnType<typeof backOff> => backOff(random, ASK_AGAIN_MS, Math.max(ASK_AGAIN_MS, pollMs));
  let again = newBackOff();
  let reported: string | undefined;
  return {
    wait(error) {
      if (reported !== error.code) tell({ kind: 'error', error });
      reported = error.code;
      return again(error);
    },
    over() {
      again = newBackOff();
      reported = undefined;
    },
  };
}
