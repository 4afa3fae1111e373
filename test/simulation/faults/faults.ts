import { type Random, seedOf, seededAt } from './random';

/** The faults of a storage call, each with its duration in ms. */
const CALLS = {
  slowThere: [500, 40_000],
  slowBack: [500, 40_000],
  /** The call never arrives; the caller gets an error this much later. */
  lostBefore: [0, 0, 1_000, 60_000],
  /** The call takes effect, but its answer is lost. */
  lostAfter: [0, 0, 1_000, 60_000],
  /** A proxy sends the call twice at once, and passes on the second answer. */
  twice: [0],
  /** The request arrives once more, this much later. */
  echo: [100, 60_000],
  /** 503 or 429. */
  throttled: [0],
  /** 403. */
  denied: [0],
  /** A listing is not of one instant: its later part was read this much later. */
  torn: [200, 6_000],
  /** The process dies, and another one starts this much later. */
  crashBefore: [20_000],
  crashAfter: [20_000],
  /** The process dies, or is stopped, as soon as the request has left; it arrives this much later. */
  crashSent: [500, 60_000],
  pauseSent: [500, 60_000],
  /** As `pauseSent`, for the record of a run, and so long that a successor may have the run. */
  lastRecord: [14_000, 90_000],
  /** As `crashBefore`, for the record of a run: its row may have counted how it ended. */
  lostRecord: [2_000, 20_000],
  /** As `crashBefore`, for a release: the run has its record, but its row is not released. */
  lastRelease: [2_000, 20_000],
  /** As `slowThere`, for a release, and so long that its lease may have been acquired again. */
  lateRelease: [20_000, 75_000],
  /** As `pauseAfter`, for a look whether a run has a record, or a read of a fan-out's piece. */
  lastRead: [20_000, 40_000, 55_000],
  /** The process stops, or its machine sleeps, once the call has taken effect. */
  pauseAfter: [3_000, 20_000, 40_000, 90_000],
  sleepAfter: [3_000, 20_000, 40_000, 90_000],
} as const;

/** The faults of a task hub's message. */
const MESSAGES = {
  late: [500, 90_000],
  /** Delivered once more, this much later. */
  again: [0, 60_000],
  /** As `again`, and carried out although its orchestration has continued. */
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
/** The faults of plain histories. */
export const CALL_FAULTS = (Object.keys(CALLS) as CallFault[]).filter(
  (kind) => kind !== 'lostRecord' && kind !== 'lastRelease' && kind !== 'lateRelease',
);
/** The faults of any call. */
const ANY_CALL = CALL_FAULTS.filter((kind) => kind !== 'lastRecord' && kind !== 'lastRead');
const ANY_CREATE: readonly CallFault[] = ['lastRecord', 'lostRecord', ...ANY_CALL];
const ANY_RELEASE: readonly CallFault[] = ['lastRelease', 'lateRelease', ...ANY_CALL];
const ANY_READ: readonly CallFault[] = ['lastRead', ...ANY_CALL];
/** Only themes and mixes set how often messages are hidden, or come afterwards. */
export const HUB_FAULTS = (Object.keys(MESSAGES) as HubFault[]).filter(
  (kind) => kind !== 'afterwards' && kind !== 'hidden',
);

/** The faults whose two values are the ends of a range; all others pick one of their values. */
const RANGES: ReadonlySet<CallFault | HubFault> = new Set([
  ...(['slowThere', 'slowBack', 'echo', 'torn', 'crashSent', 'pauseSent', 'lastRecord', 'lateRelease'] as const),
  ...(['late', 'again', 'afterwards', 'startSlow'] as const),
]);

/** The faults of a call of this kind. */
export function faultsOfCall(kind: string): readonly CallFault[] {
  if (kind.endsWith('createRecord')) return ANY_CREATE;
  if (kind.endsWith('release')) return ANY_RELEASE;
  return kind.endsWith('readRecord') || kind.endsWith('readPiece') ? ANY_READ : ANY_CALL;
}

/** One fault that struck, with its place. A list of these describes a whole history. */
export interface Fault {
  /** A process, by its place and its number of starts, or a hub. */
  readonly stream: string;
  /** The number of its call or message, from 1. */
  readonly n: number;
  readonly kind: CallFault | HubFault;
  readonly ms: number;
}

export type Rates = Readonly<Record<CallFault | HubFault, number>>;

/** The source of a history's faults: the seed, with these probabilities, or a list of all faults. */
export type FaultPlan =
  { readonly kind: 'drawn'; readonly rates: Rates } | { readonly kind: 'listed'; readonly faults: readonly Fault[] };

/** The calls of one process, or the messages of one hub, each with its fault. */
export interface FaultStream {
  /** The fault of the next one, and a source for its other random values, which no fault changes. */
  next<Kind extends CallFault | HubFault>(
    kinds: readonly Kind[],
  ): { readonly fault: (Fault & { readonly kind: Kind }) | undefined; readonly random: Random };
}

export interface Faults {
  stream(name: string): FaultStream;
  /** Ends all faults. */
  end(): void;
  /** The faults that have struck so far. */
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
