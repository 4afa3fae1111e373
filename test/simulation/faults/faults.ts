import type { Random } from './random';
import { seededAt, seedOf } from './random';

/** What may happen to a storage call, each with how long it takes or lasts, in ms. */
const CALLS = {
  slowThere: [500, 40_000],
  slowBack: [500, 40_000],
  /** It never arrives; the caller hears of it this much later. */
  lostBefore: [0, 0, 1_000, 60_000],
  /** It took effect, and its answer is lost. */
  lostAfter: [0, 0, 1_000, 60_000],
  /** Something on the way asks twice at once, and passes on the second answer. */
  twice: [0],
  /** The request arrives once more, this much later. */
  echo: [100, 60_000],
  /** 503 or 429. */
  throttled: [0],
  /** 403. */
  denied: [0],
  /** Not all of a listing is of one instant: what follows was read this much later. */
  torn: [200, 6_000],
  /** The process dies, and another one is there this much later. */
  crashBefore: [20_000],
  crashAfter: [20_000],
  /** The process dies, or is stopped, as soon as the request has left; it arrives this much later. */
  crashSent: [500, 60_000],
  pauseSent: [500, 60_000],
  /** As `pauseSent`, of the record of a run, and for so long that a successor may be at it. */
  lastRecord: [14_000, 90_000],
  /** As `crashBefore`, of a release: its run has its record, and its row is not let go. */
  lastRelease: [2_000, 20_000],
  /** As `pauseAfter`, of a look whether a run has a record, or of a read of a fan-out's piece. */
  lastLook: [20_000, 40_000, 55_000],
  /** The process stops once the call took effect, or its machine sleeps. */
  pauseAfter: [3_000, 20_000, 40_000, 90_000],
  sleepAfter: [3_000, 20_000, 40_000, 90_000],
} as const;

/** What may happen to a message of a task hub. */
const MESSAGES = {
  late: [500, 90_000],
  /** Delivered once more, this much later. */
  again: [0, 60_000],
  /** As `again`, and carried out although its orchestration has moved on. */
  afterwards: [0, 90_000],
  dropped: [0],
  startRefused: [0],
  startAnswerLost: [0],
  startSlow: [500, 40_000],
  /** A host that has since died had taken it: it stays hidden for this long. */
  hidden: [60_000, 300_000],
} as const;

export type CallFault = keyof typeof CALLS;
export type HubFault = keyof typeof MESSAGES;
/** Those that plain histories draw. */
export const CALL_FAULTS = (Object.keys(CALLS) as CallFault[]).filter((kind) => kind !== 'lastRelease');
/** Those of any call. */
const ANY_CALL = CALL_FAULTS.filter((kind) => kind !== 'lastRecord' && kind !== 'lastLook');
const ANY_CREATE: readonly CallFault[] = ['lastRecord', ...ANY_CALL];
const ANY_RELEASE: readonly CallFault[] = ['lastRelease', ...ANY_CALL];
const ANY_LOOK: readonly CallFault[] = ['lastLook', ...ANY_CALL];
/** Only themes and mixes say how often messages are hidden, or come afterwards. */
export const HUB_FAULTS = (Object.keys(MESSAGES) as HubFault[]).filter(
  (kind) => kind !== 'afterwards' && kind !== 'hidden',
);

/** Those whose two values are the ends of a range; all others pick one of theirs. */
const RANGES: ReadonlySet<CallFault | HubFault> = new Set([
  ...(['slowThere', 'slowBack', 'echo', 'torn', 'crashSent', 'pauseSent', 'lastRecord'] as const),
  ...(['late', 'again', 'afterwards', 'startSlow'] as const),
]);

/** What may happen to a call of this kind. */
export function faultsOfCall(kind: string): readonly CallFault[] {
  if (kind.endsWith('createRecord')) return ANY_CREATE;
  if (kind.endsWith('release')) return ANY_RELEASE;
  return kind.endsWith('readRecord') || kind.endsWith('readPiece') ? ANY_LOOK : ANY_CALL;
}

/** One fault that struck: where, and with what. A history can be told by them alone. */
export interface Fault {
  /** A process, by its place and how often it was started, or a hub. */
  readonly stream: string;
  /** Which call or message of it, from 1. */
  readonly n: number;
  readonly kind: CallFault | HubFault;
  readonly ms: number;
}

export type Rates = Readonly<Record<CallFault | HubFault, number>>;

/** Where a history's faults come from: drawn by the seed with these probabilities, or from a list, and no others. */
export type FaultPlan =
  { readonly kind: 'drawn'; readonly rates: Rates } | { readonly kind: 'listed'; readonly faults: readonly Fault[] };

/** The calls of one process, or the messages of one hub, each with what befalls it. */
export interface FaultStream {
  /** The next one: what befalls it, and a source for all else about it, which no fault changes. */
  next<Kind extends CallFault | HubFault>(
    kinds: readonly Kind[],
  ): { readonly fault: (Fault & { readonly kind: Kind }) | undefined; readonly random: Random };
}

export interface Faults {
  stream(name: string): FaultStream;
  /** From now on nothing strikes any more. */
  end(): void;
  /** What has struck so far. */
  readonly struck: readonly Fault[];
}

export function createFaults(seed: number, plan: FaultPlan): Faults {
  const struck: Fault[] = [];
  const listed = new Map(
    plan.kind === 'listed' ? plan.faults.map((fault) => [`${fault.stream} ${String(fault.n)}`, fault]) : [],
  );
  let over = false;
  return {
    struck,
    end: () => {
      over = true;
    },
    stream(name) {
      const base = seedOf(seed, 'calls', name);
      const drawn = seedOf(seed, 'faults', name);
      let n = 0;
      const strike = (kinds: readonly (CallFault | HubFault)[]): Fault | undefined => {
        if (over) return undefined;
        if (plan.kind === 'drawn') return draw(plan.rates, kinds, seededAt(drawn, n), { stream: name, n });
        const fault = listed.get(`${name} ${String(n)}`);
        return kinds.some((kind) => kind === fault?.kind) ? fault : undefined;
      };
      return {
        next(kinds) {
          n += 1;
          const fault = strike(kinds);
          if (fault !== undefined) struck.push(fault);
          return {
            fault: fault as (Fault & { readonly kind: (typeof kinds)[number] }) | undefined,
            random: seededAt(base, n),
          };
        },
      };
    },
  };
}

function draw(
  rates: Rates,
  kinds: readonly (CallFault | HubFault)[],
  random: Random,
  site: { readonly stream: string; readonly n: number },
): Fault | undefined {
  let left = random.next();
  for (const kind of kinds) {
    left -= rates[kind];
    if (left < 0) return { ...site, kind, ms: lengthOf(kind, random) };
  }
  return undefined;
}

function lengthOf(kind: CallFault | HubFault, random: Random): number {
  const values: readonly number[] = { ...CALLS, ...MESSAGES }[kind];
  const [first = 0, second = first] = values;
  if (RANGES.has(kind)) return random.whole(first, second);
  return values[random.whole(0, values.length - 1)] ?? first;
}
