import type { Millis } from '../../../src/core/brand';
import type { Member } from '../algorithms/algorithm';

/** A stretch of true time. */
export interface Span {
  readonly from: Millis;
  /** Infinity while it lasts. */
  until: Millis;
}

/** One leadership of one instance, as the instance itself sees it. */
export interface Belief {
  readonly instance: number;
  readonly token: number | undefined;
  readonly from: Millis;
  over: boolean;
  /** When the instance could act on it: not while its process was stopped. */
  readonly acts: Span[];
}

/** `stopped`: by SIGSTOP or the sleep of its machine. What it believes is unknown until it continues. */
export type State = 'runs' | 'stopped' | 'dead';

export interface Observer {
  /** Looks at an instance. Call it after every event: beliefs change with events, or with the time that clocks show. */
  look(now: Millis, instance: number, state: State, member: Member): void;
  /** The belief of an instance at the last look. */
  beliefOf(instance: number): Belief | undefined;
  readonly beliefs: readonly Belief[];
}

export function createObserver(): Observer {
  const beliefs: Belief[] = [];
  const current = new Map<number, Belief>();
  const suspend = (belief: Belief, now: Millis): void => {
    const last = belief.acts.at(-1);
    if (last?.until === Infinity) last.until = now;
  };
  const end = (belief: Belief, now: Millis): void => {
    suspend(belief, now);
    belief.over = true;
    current.delete(belief.instance);
  };
  return {
    look(now, instance, state, member) {
      const before = current.get(instance);
      if (state === 'stopped') {
        if (before !== undefined) suspend(before, now);
        return;
      }
      const leads = state === 'runs' && member.leads;
      const token = leads ? member.token : undefined;
      if (before !== undefined && (!leads || before.token !== token)) end(before, now);
      if (!leads) return;
      const belief = current.get(instance) ?? { instance, token, from: now, over: false, acts: [] };
      if (!current.has(instance)) beliefs.push(belief);
      current.set(instance, belief);
      if (belief.acts.at(-1)?.until !== Infinity) belief.acts.push({ from: now, until: Infinity });
    },
    beliefOf: (instance) => current.get(instance),
    beliefs,
  };
}

/** How often, and for how long, at least `least` instances believed at once within a stretch of time. */
export function overlap(
  beliefs: readonly Belief[],
  least: number,
  [start, end]: readonly [Millis, Millis],
): { readonly times: number; readonly ms: Millis } {
  const steps = beliefs
    .flatMap(({ acts }) => acts)
    .map(({ from, until }) => ({ from: Math.max(from, start), until: Math.min(until, end) }))
    .filter(({ from, until }) => from < until)
    .flatMap(({ from, until }) => [
      { at: from, change: 1 },
      { at: until, change: -1 },
    ])
    // At one instant, ends come first: a leader that ends as another begins is not an overlap.
    .sort((a, b) => a.at - b.at || a.change - b.change);
  let count = 0;
  let since = start;
  let times = 0;
  let ms = 0;
  for (const { at, change } of steps) {
    if (count + change === least && change > 0) {
      times += 1;
      since = at;
    }
    if (count === least && change < 0) ms += at - since;
    count += change;
  }
  return { times, ms };
}
