/** True time, in ms since the start of the history, and the events to come. */
export interface Timeline {
  now(): number;
  /** Runs once, `delay` from now; several at one instant run in the order of their calls. Returns a cancel function. */
  after(delay: number, run: () => void): () => void;
  /**
   * Lets time pass. The promises of one event come to rest before the next event.
   *
   * @param afterEach called when an event has come to rest; false ends it
   */
  runUntil(instant: number, afterEach: () => boolean): Promise<void>;
  /** Stops everything for this long: all coming events are that much later. */
  leap(ms: number): void;
  /** The total time for which everything has stood still. */
  leapt(): number;
}

interface Event {
  at: number;
  readonly order: number;
  run: (() => void) | undefined;
}

export function createTimeline(): Timeline {
  const heap: Event[] = [];
  let leapt = 0;
  let now = 0;
  let orders = 0;
  return {
    now: () => now,
    after(delay, run) {
      orders += 1;
      const event: Event = { at: now + Math.max(0, delay), order: orders, run };
      push(heap, event);
      return () => {
        event.run = undefined;
      };
    },
    leapt: () => leapt,
    leap(ms) {
      now += ms;
      leapt += ms;
      // All events move by the same time, so that the heap's order stays.
      for (const event of heap) event.at += ms;
    },
    runUntil(planned, afterEach) {
      const before = leapt;
      const nextBy = (): Event | undefined => {
        for (let event = heap[0]; event !== undefined && event.at <= planned + leapt - before; event = heap[0]) {
          pop(heap);
          if (event.run !== undefined) return event;
        }
        return undefined;
      };
      return new Promise((resolve, reject) => {
        const step = (): void => {
          try {
            const event = nextBy();
            now = event?.at ?? planned + leapt - before;
            if (event === undefined) {
              resolve();
              return;
            }
            event.run?.();
            whenAtRest(() => {
              if (afterEach()) step();
              else resolve();
            });
          } catch (error) {
            reject(error instanceof Error ? error : new Error(String(error)));
          }
        };
        whenAtRest(step);
      });
    },
  };
}

const SETTLED = Promise.resolve();

/**
 * Calls once all chains of promises that need no further event have ended: Node runs a callback that a promise put on
 * its tick queue when no promise has anything left to do. A turn of the event loop would do too, at ten times the cost.
 */
function whenAtRest(run: () => void): void {
  void SETTLED.then(() => {
    process.nextTick(run);
  });
}

function before(a: Event, b: Event): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}

function push(heap: Event[], event: Event): void {
  let index = heap.length;
  heap.push(event);
  while (index > 0) {
    const above = (index - 1) >> 1;
    const parent = heap[above];
    if (parent === undefined || !before(event, parent)) break;
    heap[index] = parent;
    index = above;
  }
  heap[index] = event;
}

function pop(heap: Event[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  let index = 0;
  for (;;) {
    const left = heap[2 * index + 1];
    const right = heap[2 * index + 2];
    if (left === undefined) break;
    const [child, at] = right !== undefined && before(right, left) ? [right, 2 * index + 2] : [left, 2 * index + 1];
    if (!before(child, last)) break;
    heap[index] = child;
    index = at;
  }
  heap[index] = last;
}
