import { type ServerName, startStorageServer } from '../../src/local/servers/servers';
import type { Backend, BackendOptions } from './backend';

/** A server as `cronlease dev` starts it. It does not count its calls. */
export function asInDev(name: ServerName) {
  return async ({ folder: data, guard }: BackendOptions): Promise<Backend> => {
    const { url, pid, stop } = await startStorageServer(name, { data, guard });
    return { address: url, pids: [pid], calls: () => Promise.resolve(undefined), stop };
  };
}
