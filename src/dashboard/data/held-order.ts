import { useRef, useState } from 'preact/hooks';
import type { RunSummary } from '../../client/types';

export interface HeldOrder {
  readonly names: readonly string[];
  /** Whether the right order is another one by now. */
  readonly stale: boolean;
  readonly sortAgain: () => void;
}

/**
 * Keeps rows where they are while the page is open, until a person asks: no one loses a line, or clicks a row that came
 * in between.
 *
 * @param wanted the names in the right order
 * @param choice the filter, sort and page: another one sorts at once
 */
export function useHeldOrder(wanted: readonly string[], choice: string): HeldOrder {
  const last = useRef<{ readonly choice: string; readonly names: readonly string[] }>(undefined);
  const [, render] = useState(0);
  if (last.current?.choice !== choice || last.current.names.length === 0) last.current = { choice, names: wanted };
  const { names } = last.current;
  return {
    names,
    stale: names.length !== wanted.length || names.some((name, index) => name !== wanted[index]),
    sortAgain() {
      last.current = undefined;
      render((count) => count + 1);
    },
  };
}

/** The runs of a list in a held order. Those to which newer ones have left no place on the page stay. */
export function useHeldRuns(newest: readonly RunSummary[]): {
  readonly runs: readonly RunSummary[];
  readonly order: HeldOrder;
} {
  const last = useRef<readonly RunSummary[]>([]);
  const ids = newest.map(({ runId }) => runId);
  const order = useHeldOrder(ids, '');
  const known = new Map([...last.current, ...newest].map((run) => [run.runId, run]));
  last.current = order.names.flatMap((runId) => known.get(runId) ?? []);
  return { runs: last.current, order };
}
