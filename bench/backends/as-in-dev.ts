import type { Backend, BackendOptions } from './backend';
import type { StorageServer, StorageServerOptions } from '../../src/local/servers/server';

/** A server as `cronlease dev` starts it. It does not count its calls. */
export function asInDev(start: (options: StorageServerOptions) => Promise<StorageServer>) {
  return async ({ folder: data, guard }: BackendOptions): Promise<Backend> => {
    const { url, pid, stop } = await start({ data, guard });
    return { address: url, pids: [pid], calls: () => Promise.resolve(undefined), stop };
  };
}
