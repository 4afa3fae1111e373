import { useEffect } from 'preact/hooks';
import { type Live, follow, live } from './live';
import { isSettled } from './session';

/** Follows a path while the page that uses it is open. */
export function useLive(path: string): Live {
  useEffect(() => follow(path), [path]);
  const state = live.value;
  // The first render of a page comes before its effect.
  // Buttons that come later than the page would move it.
  return state.path === path && (isSettled.value || state.failure !== undefined)
    ? state
    : { path, body: undefined, failure: undefined, retryAt: undefined };
}
