import { useEffect } from 'preact/hooks';
import type { Live } from './live';
import { follow, live } from './live';

/** Follows a path while the page that uses it is open. */
export function useLive(path: string): Live {
  useEffect(() => follow(path), [path]);
  const state = live.value;
  // The first render of a page comes before its effect.
  return state.path === path ? state : { path, body: undefined, failure: undefined, retryAt: undefined };
}
