import net from 'node:net';

/** The port of the first instance, unless an option names another: that of `func start`. */
export const FIRST_PORT = 7071;
/** How far apart the ports lie that are tried. */
const STEP = 10;
const HIGHEST_PORT = 65_535;

/** Consecutive ports, and the taken one that kept the cluster from the ports before. */
export interface FoundPorts {
  readonly first: number;
  readonly taken: number | undefined;
}

/**
 * Finds as many free ports in a row as there are instances. Another program may take one of them before its instance
 * does; then the cluster does not start, and reports that port.
 *
 * @param first where the search begins
 * @returns undefined if there are none from there on
 */
export async function freePorts(count: number, first = FIRST_PORT): Promise<FoundPorts | undefined> {
  const step = Math.ceil(count / STEP) * STEP;
  let taken: number | undefined;
  for (let from = first; from + count - 1 <= HIGHEST_PORT; from += step) {
    const found = await takenAmong(from, count);
    if (found === undefined) return { first: from, taken };
    taken ??= found;
  }
  return undefined;
}

async function takenAmong(first: number, count: number): Promise<number | undefined> {
  for (let port = first; port < first + count; port += 1) if (!(await isFree(port))) return port;
  return undefined;
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const server = net.createServer();
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE' || error.code === 'EACCES') resolve(false);
      else reject(error);
    });
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
