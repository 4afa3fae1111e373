import { useRef, useState } from 'preact/hooks';

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
