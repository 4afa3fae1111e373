import { useEffect, useRef, useState } from 'preact/hooks';

interface HeldOrder {
  readonly names: readonly string[];
  /** Whether the right order is another one by now. */
  readonly stale: boolean;
  readonly sortAgain: () => void;
  /** For the element whose rows must not move. */
  readonly handlers: {
    readonly onPointerEnter: () => void;
    readonly onPointerLeave: () => void;
    readonly onFocusIn: () => void;
    readonly onFocusOut: (event: FocusEvent) => void;
  };
}

/** Rows stay for so long after somebody has opened or used the page. Later, as on a screen on a wall, news comes first. */
const USED_MS = 30_000;
const POLL_EVERY_MS = 5_000;

let usedAt = Date.now();
for (const kind of ['pointermove', 'pointerdown', 'keydown', 'wheel', 'scroll']) {
  addEventListener(kind, () => (usedAt = Date.now()), { capture: true, passive: true });
}

/**
 * Keeps rows where they are while somebody reads them: nobody loses a line, or clicks a row that came in between.
 *
 * @param wanted the names in the right order
 * @param choice the filter, sort and page: another one sorts at once
 */
export function useHeldOrder(wanted: readonly string[], choice: string): HeldOrder {
  const held = useRef({ pointer: false, focus: false });
  const last = useRef<{ readonly choice: string; readonly names: readonly string[] }>(undefined);
  const [, render] = useState(0);
  const again = (): void => render((count) => count + 1);
  const isHeld = held.current.pointer || held.current.focus || Date.now() - usedAt < USED_MS;
  if (!isHeld || last.current?.choice !== choice || last.current.names.length === 0) {
    last.current = { choice, names: wanted };
  }
  const { names } = last.current;
  const stale = names.length !== wanted.length || names.some((name, index) => name !== wanted[index]);
  useEffect(() => {
    if (!stale) return undefined;
    const timer = setInterval(again, POLL_EVERY_MS);
    return () => clearInterval(timer);
  }, [stale]);
  return {
    names,
    stale,
    sortAgain() {
      last.current = undefined;
      again();
    },
    handlers: {
      onPointerEnter: () => (held.current.pointer = true),
      onPointerLeave() {
        held.current.pointer = false;
        again();
      },
      onFocusIn: () => (held.current.focus = true),
      onFocusOut({ currentTarget, relatedTarget }) {
        const isInside =
          currentTarget instanceof Node && relatedTarget instanceof Node && currentTarget.contains(relatedTarget);
        if (isInside) return;
        held.current.focus = false;
        again();
      },
    },
  };
}
