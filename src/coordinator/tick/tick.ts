import type { EpochMs, JobName, Millis } from '../../core/brand';
import { type Clock, sleep } from '../../core/clock';
import type { Poked } from '../../core/poked';
import { claimRank, compareRanks } from '../../core/ranked-queue';
import { backOff } from '../../lease/deadline';
import { StoreError } from '../../lease/store';
import { elapsedSince, moment } from '../../lease/trust';
import type { Coordinator, Hub, Report } from '../coordinator';
import { createGate } from '../gate';
import { sayTroublesAgain, storageAnswers, storageTroubled } from '../reachability';
import { createBatches } from './batches';
import { Board } from './board';
import { Background, ClaimRate, CLAIMS_AT_ONCE, type Fire, type TickState } from './fire';
import { HubWatch } from './hub-watch';
import { noticeWatch, overdueWatch } from './notice-watch';
import { OrchestrationWatch } from './orchestrations';
import { announcer } from './presence';
import { requiredWatch, backfillWatch } from '../ledger-watch';
import { historyPurger } from './purge-records';
import { createSurvey } from './survey';

/** A tick returns this long before its next fire, because a timer skips fires during a call. Decision 013. */
const RETURN_BEFORE_MS = 300;
/** A timer may fire this much early. A fire within this time is the current one. */
const FIRES_EARLY_MS = 500;
const STORE_AGAIN_FIRST_MS = 500;
const STORE_AGAIN_MS = 2_000;

/** A poke checks what comes due within this time, so that its caller gets an answer soon. */
const POKE_MS = 8_000;

type NextFire = (after: EpochMs) => EpochMs;

/** One call of a ticker. */
interface Turn {
  readonly hub: Hub;
  readonly report: Report;
  readonly nextFire: NextFire;
  /** Aborted when the process is being shut down. */
  readonly stopped: AbortSignal;
  readonly isPoke: boolean;
}

interface Served {
  /** The last fire that it served. */
  readonly fire: Fire;
  /** The end of its last check, or of none. */
  readonly end: 'done' | 'stopping' | StoreError;
}

export type Ticker = ReturnType<typeof createTicker>;

/** The tick timer's side of the coordinator. One for each process, called at each fire. */
export function createTicker(coordinator: Coordinator) {
  const { clock, serviceTime } = coordinator;
  const overdue = overdueWatch(coordinator);
  const state: TickState = {
    coordinator,
    board: new Board(inClaimOrder(coordinator)),
    background: new Background(clock),
    gate: createGate(CLAIMS_AT_ONCE),
    batches: createBatches(coordinator),
    hubWatch: new HubWatch(coordinator),
    overdue,
    notices: noticeWatch(coordinator, overdue),
    orchestrations: new OrchestrationWatch(coordinator),
    required: requiredWatch(coordinator),
    backfills: backfillWatch(coordinator),
    claimRate: new ClaimRate(coordinator.settings.claimsPerSecond),
    losses: 0,
  };
  const { board, background } = state;
  const survey = createSurvey(state);
  const announce = announcer(coordinator);
  const purge = historyPurger(coordinator);
  let fires = 0;

  return {
    /** @param nextFire the timer's next fire after an instant of this machine's clock */
    async tick(hub: Hub, nextFire: NextFire, report: Report): Promise<void> {
      await whileTicking(state, (stopped) => serve({ hub, report, nextFire, stopped, isPoke: false }));
    },
    /**
     * A tick that something other than the timer starts: it begins with a sweep, and ends once nothing is due in the
     * next seconds. The timer's ticks continue beside it.
     *
     * @returns undefined if this process is being shut down
     * @throws StoreError if storage did not answer
     */
    async poke(hub: Hub, report: Report): Promise<Poked | undefined> {
      const at = serviceTime.now();
      const nextFire: NextFire = (after) => after + POKE_MS;
      const { fire, end } = await whileTicking(state, (stopped) =>
        serve({ hub, report, nextFire, stopped, isPoke: true }),
      );
      if (end === 'stopping') return undefined;
      if (end !== 'done') throw end;
      const { due, handedOver } = fire;
      return {
        at,
        due: due.size,
        handedOver,
        hubProven: state.hubWatch.mayRace,
        cordoned: coordinator.cordon !== undefined,
      };
    },
  };

  /** Checks jobs and acts until shortly before the timer's next fire. */
  async function serve({ hub, report, nextFire, stopped, isPoke }: Turn): Promise<Served> {
    let untilFire = countdown(clock, nextFire(clock.now() + FIRES_EARLY_MS));
    const left = (): Millis => untilFire() - RETURN_BEFORE_MS;
    const newFire = (): Fire => ({ number: (fires += 1), untilNext: left, hub, report, due: new Set(), handedOver: 0 });
    let fire = newFire();
    let isFirst = true;
    let again = backOff(coordinator.random, STORE_AGAIN_FIRST_MS, STORE_AGAIN_MS);
    let end: Served['end'] = 'stopping';
    while (!coordinator.stopping) {
      coordinator.tickedAt = clock.monotonic();
      if (left() <= 0) {
        await background.allOver();
        if (isPoke || untilFire() > 0) break;
        // This tick has outlived a fire, which the timer skips, so it serves that fire's time as well.
        untilFire = countdown(clock, nextFire(clock.now()));
        fire = newFire();
        isFirst = true;
      }
      try {
        // Taken before the step: an action that ends during it may set an earlier check than the step returns.
        const backgroundOver = background.nextEnd();
        proveHub(state, fire, left, stopped);
        if (isFirst) await state.orchestrations.prepare(hub, report);
        const wait = await survey.step(fire, { isFirst, mustSweep: isPoke && isFirst, leftMs: left() });
        end = 'done';
        proveHub(state, fire, left, stopped);
        if (state.hubWatch.mayRace) announce(hub, report, { hubProven: true, isPoke });
        isFirst = false;
        storageAnswers(coordinator, 'storage', report);
        again = backOff(coordinator.random, STORE_AGAIN_FIRST_MS, STORE_AGAIN_MS);
        // A poke does not stay for the next sweep, but for the rows of new jobs.
        const rest = isPoke && wait > 0 ? board.nextCheckAt() - serviceTime.now() : wait;
        // While the hub is in doubt, the tick stays: a claim may be waiting for the proof.
        if (rest <= left() || !state.hubWatch.mayRace) {
          await sleep(clock, Math.max(0, Math.min(rest, left())), backgroundOver);
        } else {
          if (background.count === 0 && untilFire() > 0) break;
          await background.allOver();
        }
      } catch (error) {
        if (!(error instanceof StoreError)) throw error;
        end = error;
        storageTroubled(coordinator, 'storage', error, report);
        await sleep(clock, Math.min(again(error), Math.max(0, left())), stopped);
      }
    }
    await background.allOver();
    await background.asidesOver(left);
    sayTroublesAgain(coordinator, report);
    purge(hub, report);
    if (survey.prepared) announce(hub, report, { hubProven: state.hubWatch.mayRace, isPoke });
    return { fire, end };
  }
}

/** Seeks the proof of the task hub beside the checks. A doubt stops only claims. */
function proveHub(
  { coordinator, board, background, hubWatch }: TickState,
  { hub, report }: Fire,
  left: () => Millis,
  stopped: AbortSignal,
): void {
  const proof = hubWatch.prove(hub, left, stopped, report);
  background.start(
    proof?.then((proven) => {
      if (proven) board.noteAll('hubProven', { now: coordinator.serviceTime.now() });
    }),
  );
}

/** Keeps the tick among those that a shutdown wakes and awaits. */
async function whileTicking<T>(
  { coordinator: { ticks }, background }: TickState,
  work: (stopped: AbortSignal) => Promise<T>,
): Promise<T> {
  const stop = new AbortController();
  const wake = (): void => {
    stop.abort();
    background.wake();
  };
  const done = work(stop.signal);
  // An error reaches the caller. A second promise that rejects, and that is not awaited, would end the process.
  const over = (): void => undefined;
  const running = { wake, done: done.then(over, over) };
  ticks.add(running);
  try {
    return await done;
  } finally {
    ticks.delete(running);
  }
}

/**
 * The jobs in the order in which they are checked and claimed, if they are due together. Equal ones are in an order of
 * this instance's own, so that instances that are late acquire different jobs first, and rarely the same without
 * effect. Decision 016.
 */
function inClaimOrder({ jobs, random }: Coordinator): readonly JobName[] {
  const ranked = [...jobs.values()].map(({ spec }) => ({ name: spec.name, rank: [...claimRank(spec), random()] }));
  return ranked.sort((one, other) => compareRanks(one.rank, other.rank)).map(({ name }) => name);
}

/**
 * The time until an instant, by the clock that gives less. A wall clock that is set back must not make a tick outlast
 * its host.
 */
function countdown(clock: Clock, instant: EpochMs): () => Millis {
  const start = moment(clock);
  return () => instant - start.wall - elapsedSince(clock, start);
}

/** Within this time of its beginning, further pokes get the answer of the last one. */
const POKE_AGAIN_MS: Millis = 5_000;

/** Starts a tick now. Undefined: this process is being shut down. Rejects with `StoreError`. */
type Poke = (hub: Hub, report: Report) => Promise<Poked | undefined>;

/**
 * However many callers poke at once, this process runs one tick for them, and at most one in five seconds: monitors call
 * from several places at the same time, and none of them may cost storage calls at will. Decision 022.
 */
export function onePokeAtOnce({ clock }: Coordinator, ticker: Ticker): Poke {
  let last: { readonly at: Millis; isOver: boolean; readonly answer: Promise<Poked | undefined> } | undefined;
  return (hub, report) => {
    const now = clock.monotonic();
    if (last !== undefined && (!last.isOver || now - last.at < POKE_AGAIN_MS)) return last.answer;
    const own = { at: now, isOver: false, answer: ticker.poke(hub, report) };
    const over = (): void => {
      own.isOver = true;
    };
    own.answer.then(over, over);
    last = own;
    return own.answer;
  };
}
