import net from 'node:net';

/** Linux gives outgoing connections ports from 32768. */
const FIRST = 15_000;
/** Test files run side by side, each in a worker with its own range. */
const EACH = 1_500;
const WORKERS = 10;

const given = new Set<number>();

/** A free port that no connection is given by chance: a member that starts again needs the same. */
export async function quietPort(): Promise<number> {
  const range = FIRST + (Number(process.env['VITEST_POOL_ID'] ?? 0) % WORKERS) * EACH;
  for (;;) {
    const port = range + Math.floor(Math.random() * EACH);
    if (given.has(port)) continue;
    given.add(port);
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const probe = net.createServer();
  const listens = await new Promise<boolean>((resolve) => {
    probe.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true));
  });
  await new Promise((resolve) => probe.close(resolve));
  return listens;
}
