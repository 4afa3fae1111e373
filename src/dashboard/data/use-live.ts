import { computed } from '@preact/signals';
import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { type Failure, failureIn, read } from './api';
import { follow, live, now } from './live';
import { isSettled } from './session';
import type { Job, RunSummary } from '../../client/types';

export interface Reading<Body> {
  /** Undefined: nothing has come yet. It stays while a newer answer is on its way. */
  readonly body: Body | undefined;
  readonly failure: Failure | undefined;
}

const NOTHING = { body: undefined, failure: undefined };

/** Follows a path while the page that uses it is open. */
export function useLive<Body>(path: string): Reading<Body> {
  useEffect(() => follow(path), [path]);
  const state = live.value;
  // The first render of a page comes before its effect.
  if (state.path !== path) return NOTHING;
  // Buttons that come later than the page would move it.
  return isSettled.value || state.failure !== undefined ? (state as Reading<Body>) : NOTHING;
}

type Claimed = Pick<Job, 'state' | 'detail' | 'currentRun'>;

/** Whether the due time has come for which a job was claimed ahead. */
function hasBegun({ state, currentRun }: Claimed, at: number): boolean {
  return state === 'waiting' && currentRun?.startedAt != null && Date.parse(currentRun.startedAt) <= at;
}

/** A job as it is at an instant after the answer: one that was claimed ahead runs from its due time on. */
export function asOf<J extends Claimed>(job: J, at: number): J {
  return hasBegun(job, at) ? { ...job, state: 'running', detail: null } : job;
}

/** The jobs of an answer {@link asOf} now. The page is drawn again only when one of them begins. */
export function useBegun<J extends Claimed>(jobs: readonly J[]): readonly J[] {
  const begun = useMemo(() => computed(() => jobs.filter((job) => hasBegun(job, now.value)).length), [jobs]);
  return useMemo(() => (begun.value === 0 ? jobs : jobs.map((job) => asOf(job, now.peek()))), [jobs, begun.value]);
}

/** The width of an element in pixels, for pictures that are drawn to fit; 0 until it is known. */
export function useWidth(): [RefObject<HTMLDivElement | null>, number] {
  const element = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const { current } = element;
    if (current === null) return undefined;
    const measure = (): void => setWidth(Math.floor(current.clientWidth));
    const observer = new ResizeObserver(measure);
    observer.observe(current);
    measure();
    return () => observer.disconnect();
  }, []);
  return [element, width];
}

/**
 * Reads what a page shows beside the path that it follows.
 *
 * @param path undefined: nothing
 * @param version reads again when it changes: mostly the body of what is followed
 */
export function useRead<Body>(path: string | undefined, version: unknown): Reading<Body> {
  const [state, setState] = useState<Reading<Body> & { readonly path: string | undefined }>();
  useEffect(() => {
    if (path === undefined) return undefined;
    let isWanted = true;
    const load = async (): Promise<void> => {
      try {
        const { body } = await read(path);
        if (isWanted) setState({ path, body: body as Body, failure: undefined });
      } catch (error) {
        const failure = failureIn(error);
        if (isWanted) setState((last) => ({ path, body: last?.path === path ? last.body : undefined, failure }));
      }
    };
    void load();
    return () => {
      isWanted = false;
    };
  }, [path, version]);
  return state !== undefined && state.path === path ? state : NOTHING;
}

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
export function useHeldRuns(newest: readonly RunSummary[]) {
  const last = useRef<readonly RunSummary[]>([]);
  const order = useHeldOrder(
    newest.map(({ runId }) => runId),
    '',
  );
  const known = new Map([...last.current, ...newest].map((run) => [run.runId, run]));
  last.current = order.names.flatMap((runId) => known.get(runId) ?? []);
  return { runs: last.current, order };
}
