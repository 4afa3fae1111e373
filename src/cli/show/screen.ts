import { type Clock, sleep } from '../../core/clock';
import { StoreError } from '../../lease/store';
import { shown } from '../output';

/** After failures, the time between readings doubles up to this. */
const LONGEST_WAIT_MS = 60_000;

const REPAINT_MS = 1_000;

/** The part of a terminal's input that {@link openScreen} uses. */
interface Keyboard {
  readonly isTTY?: boolean;
  setRawMode?(raw: boolean): unknown;
  on(event: 'data', listener: (chunk: Buffer) => void): unknown;
  off(event: 'data', listener: (chunk: Buffer) => void): unknown;
  resume(): unknown;
  pause(): unknown;
}

/** The part of a terminal's output that {@link openScreen} uses. */
interface Display {
  readonly columns: number;
  readonly rows: number;
  write(text: string): unknown;
  on(event: 'resize', listener: () => void): unknown;
  off(event: 'resize', listener: () => void): unknown;
}

/** The whole of a terminal, for a picture that is repainted. */
export type Screen = ReturnType<typeof openScreen>;

/** What the person at the terminal wants. */
interface Wishes {
  quit(): void;
  /** The terminal has another size, or was shown again. */
  repaint(): void;
  /** Stops the process, as Ctrl+Z does, and calls `resumed` once it continues. */
  suspend(resumed: () => void): void;
}

/** The other screen, so that the lines before stay; without a cursor, and without wrapping, which would scroll. */
const OPEN = '\u001b[?1049h\u001b[?25l\u001b[?7l';
const CLOSE = '\u001b[?7h\u001b[?25h\u001b[?1049l';
/** Terminals that know these show the picture at once and not in parts; others ignore them. */
const BEGIN = '\u001b[?2026h';
const END = '\u001b[?2026l';
const HOME = '\u001b[H';
const CLEAR_TO_LINE_END = '\u001b[K';
const CLEAR_BELOW = '\u001b[J';

const CTRL_C = '\u0003';
const CTRL_Z = '\u001a';

/** Opens a terminal's whole screen. Nothing is erased before it is painted again, so that it does not flicker. */
export function openScreen(keyboard: Keyboard, display: Display, wishes: Wishes) {
  let last: string | undefined;
  let isOpen = false;
  const isAsked = keyboard.isTTY === true;
  const open = (): void => {
    last = undefined;
    isOpen = true;
    display.write(OPEN);
    if (isAsked) keyboard.setRawMode?.(true);
  };
  const close = (): void => {
    if (!isOpen) return;
    isOpen = false;
    display.write(CLOSE);
    if (isAsked) keyboard.setRawMode?.(false);
  };
  const onData = (chunk: Buffer): void => {
    const keys = chunk.toString();
    if (/^q$/i.test(keys) || keys.includes(CTRL_C)) wishes.quit();
    else if (keys.includes(CTRL_Z)) {
      close();
      wishes.suspend(() => {
        open();
        wishes.repaint();
      });
    }
  };
  const onResize = (): void => {
    last = undefined;
    wishes.repaint();
  };
  open();
  display.on('resize', onResize);
  if (isAsked) {
    keyboard.on('data', onData);
    keyboard.resume();
  }
  return {
    /** Replaces the picture. Lines that do not fit are left out. */
    paint(lines: readonly string[]): void {
      const rows = lines.slice(0, display.rows).map((line) => shown(line) + CLEAR_TO_LINE_END);
      const picture = rows.join('\r\n');
      if (!isOpen || picture === last) return;
      last = picture;
      display.write(`${BEGIN}${HOME}${picture}${CLEAR_BELOW}${END}`);
    },
    /** Gives the terminal back as it was before. */
    close(): void {
      display.off('resize', onResize);
      if (isAsked) {
        keyboard.off('data', onData);
        keyboard.pause();
      }
      close();
    },
  };
}

/** A reading of a state, and how long ago it was. */
export interface Sight<State> {
  readonly state: State;
  readonly ageMs: number;
  /** Why a later reading failed. */
  readonly trouble: string | undefined;
}

export interface Watched<State> {
  read(signal: AbortSignal): Promise<State>;
  readonly everyMs: number;
  /** Called after each reading, after each one that failed, and once a second. */
  show(sight: Sight<State>): void;
  /** Whether there is nothing to wait for, so that the watch ends. */
  isOver?(state: State): boolean;
}

/**
 * Reads a state again and again, until the signal is aborted.
 *
 * @returns the last state that was read; undefined: none was before the end
 * @throws the error of the first reading, and any that is not about storage
 */
export async function watch<State>(
  watched: Watched<State>,
  clock: Clock,
  signal: AbortSignal,
): Promise<State | undefined> {
  let sight: Omit<Sight<State>, 'ageMs'> | undefined;
  let readAt = clock.monotonic();
  const show = (): void => {
    if (sight !== undefined) watched.show({ ...sight, ageMs: clock.monotonic() - readAt });
  };
  let waitMs = watched.everyMs;
  let cancel = (): void => undefined;
  const repaint = (): void => {
    show();
    cancel = clock.after(REPAINT_MS, repaint);
  };
  try {
    while (!signal.aborted) {
      try {
        sight = { state: await watched.read(signal), trouble: undefined };
        readAt = clock.monotonic();
        waitMs = watched.everyMs;
      } catch (error) {
        if (signal.aborted) break;
        if (sight === undefined || !(error instanceof StoreError)) throw error;
        sight = { ...sight, trouble: error.message };
        waitMs = Math.min(2 * waitMs, Math.max(LONGEST_WAIT_MS, watched.everyMs));
      }
      cancel();
      repaint();
      if (sight.trouble === undefined && watched.isOver?.(sight.state) === true) break;
      await sleep(clock, waitMs, signal);
    }
  } finally {
    cancel();
  }
  return sight?.state;
}
