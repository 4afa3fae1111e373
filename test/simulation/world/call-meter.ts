/** The limit of a process's storage calls in a minute, for each job and one more: above it, the process loops hot. */
const CALLS_A_MINUTE = 1_200;
/** The extra calls for one attempt, or for one call for an item: a backlog of fan-outs is worked on fast. */
const CALLS_AN_ATTEMPT = 20;
const CALLS_AN_ITEM = 12;

/** Counts the storage calls of one process, minute by minute. */
export interface CallMeter {
  called(): void;
  /** The process began an attempt, or a call for an item. A repeated beginning counts once. */
  attempt(id: string): void;
  item(id: string): void;
}

/**
 * @param now true time, in ms
 * @param hot called once in every minute in which the process makes more calls than its work explains
 */
export function callMeter(now: () => number, jobs: number, hot: (calls: number) => void): CallMeter {
  const known = new Set<string>();
  let minute = 0;
  let calls = 0;
  let allowed = 0;
  const enter = (): void => {
    const current = Math.floor(now() / 60_000);
    if (current === minute) return;
    minute = current;
    calls = 0;
    allowed = 0;
  };
  const allow = (id: string, more: number): void => {
    enter();
    if (known.has(id)) return;
    known.add(id);
    allowed += more;
  };
  return {
    called: () => {
      enter();
      calls += 1;
      if (calls === CALLS_A_MINUTE * (jobs + 1) + allowed) hot(calls);
    },
    attempt: (id) => {
      allow(id, CALLS_AN_ATTEMPT);
    },
    item: (id) => {
      allow(id, CALLS_AN_ITEM);
    },
  };
}
