import type { Attributes, Counter, UpDownCounter } from '@opentelemetry/api';

/** What is counted since the last export, of one metric. */
export interface Tally {
  /** @param values of the metric's attributes, in their order */
  add(count: number, ...values: readonly string[]): void;
  /** Passes the sums on to the SDK. They start again at nothing. */
  flush(): void;
}

/**
 * Counts in a map of its own. The SDK makes a text of all attributes at each `add`, so that each series gets one `add`
 * for each export, and not one for each event.
 *
 * @param names of the attributes
 */
export function tally(counter: Counter | UpDownCounter, names: readonly string[]): Tally {
  // Emptied by each export: a series that no longer grows takes no memory here.
  let sums = new Map<string, { sum: number; readonly values: readonly string[] }>();
  return {
    add(count, ...values) {
      // No value contains a line break: they are names of jobs, and words of this project.
      const key = values.join('\n');
      const known = sums.get(key);
      if (known === undefined) sums.set(key, { sum: count, values });
      else known.sum += count;
    },
    flush() {
      const counted = sums;
      sums = new Map();
      for (const { sum, values } of counted.values()) counter.add(sum, attributesOf(names, values));
    },
  };
}

function attributesOf(names: readonly string[], values: readonly string[]): Attributes {
  return Object.fromEntries(names.map((name, index) => [name, values[index]]));
}
