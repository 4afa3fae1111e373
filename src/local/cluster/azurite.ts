import { createRequire } from 'node:module';
import path from 'node:path';
import { describeExit, type Exit, startChild, ClusterError } from './child';
import type { FromAzurite, ToAzurite } from './messages';

export interface Azurite {
  readonly pid: number;
  readonly connectionString: string;
  readonly exited: Promise<Exit>;
  /** Writes the data that is to be kept, and ends the process. */
  stop(): Promise<Exit>;
  kill(): Promise<Exit>;
}

/** The account and key of every storage emulator, published by Microsoft. */
const ACCOUNT = 'devstoreaccount1';
const KEY = 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';

/** The azurite package of the app, or else of cronlease itself. */
function findAzurite(app: string): string {
  for (const from of [path.join(app, 'package.json'), __filename]) {
    try {
      return path.dirname(createRequire(from).resolve('azurite/package.json'));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error;
    }
  }
  throw new ClusterError(
    'The storage emulator Azurite is not installed. Install it in the app with "npm install --save-dev azurite", ' +
      'or pass --storage CONNECTION_STRING to use a storage account.',
  );
}

/**
 * Starts Azurite's blob service on a free port of loopback.
 * @param data - folder to keep the data in; undefined: in memory
 * @param execArgv - options of Node for its process
 * @throws {@link ClusterError}
 */
export async function startAzurite(
  app: string,
  data: string | undefined,
  execArgv: readonly string[] = [],
): Promise<Azurite> {
  const azurite = findAzurite(app);
  const errors: string[] = [];
  const ready = Promise.withResolvers<number>();
  const child = startChild<ToAzurite, FromAzurite>({
    entry: 'azurite-process',
    execArgv,
    onMessage(message) {
      if (message.kind === 'ready') ready.resolve(message.port);
      else ready.reject(new ClusterError(message.message));
    },
    onLine: (line, stream) => void (stream === 'stderr' && errors.push(line) > 20 && errors.shift()),
  });
  child.send({ kind: 'start', azurite, data });
  void child.exited.then((exit) => {
    ready.reject(new ClusterError(`Azurite ended during its start (${describeExit(exit)}).\n${errors.join('\n')}`));
  });
  const port = await ready.promise;
  return {
    pid: child.pid,
    connectionString:
      `DefaultEndpointsProtocol=http;AccountName=${ACCOUNT};AccountKey=${KEY};` +
      `BlobEndpoint=http://127.0.0.1:${port}/${ACCOUNT};`,
    exited: child.exited,
    stop() {
      child.send({ kind: 'stop' });
      return child.exited;
    },
    kill() {
      child.kill('SIGKILL');
      return child.exited;
    },
  };
}
