import { useEffect, useState } from 'preact/hooks';
import { ApiError, type Failure, read } from './api';

interface Reading<Body> {
  /** Undefined: nothing has come yet. It stays while a newer answer is on its way. */
  readonly body: Body | undefined;
  readonly failure: Failure | undefined;
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
        if (!(error instanceof ApiError)) throw error;
        const { failure } = error;
        if (isWanted) setState((last) => ({ path, body: last?.path === path ? last.body : undefined, failure }));
      }
    };
    void load();
    return () => {
      isWanted = false;
    };
  }, [path, version]);
  return state !== undefined && state.path === path ? state : { body: undefined, failure: undefined };
}
