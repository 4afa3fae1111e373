/** Entry of a process with one instance on Azurite. It answers each command of {@link ToInstance} with one message. */
import { connectContainer } from '../../src/stores/azure-blob/connection';
import { azureBlobStore } from '../../src/stores/azure-blob/store';
import { systemClock } from '../../src/system-clock';
import { jobSpec } from '../../test/support/job';
import { type ScaleInstance, scaleInstance } from './instance';

export type ToInstance =
  | {
      readonly kind: 'start';
      readonly deployment: string;
      readonly connectionString: string;
      readonly jobs: number;
    }
  /** One fire of the tick timer. */
  | { readonly kind: 'tick' }
  /** A tick that begins with a listing of all jobs, whatever the age of the last one. */
  | { readonly kind: 'sweep' };

export interface FromInstance {
  readonly cpuMs: number;
  /** How many rows it has created so far. */
  readonly created: number;
}

let instance: ScaleInstance | undefined;
let created = 0;

async function act(message: ToInstance): Promise<void> {
  if (message.kind === 'start') instance = start(message);
  else if (message.kind === 'tick') await instance?.tick();
  else await instance?.sweep();
}

function start(options: Extract<ToInstance, { kind: 'start' }>): ScaleInstance {
  const { deployment, connectionString, jobs } = options;
  const store = azureBlobStore({
    container: connectContainer({ CRONLEASE_STORAGE: connectionString }),
    clock: systemClock,
  });
  return scaleInstance({
    deployment,
    clock: systemClock,
    sweepIntervalMs: 60_000,
    jobs: Array.from({ length: jobs }, (_, index) => jobSpec(`job-${String(index).padStart(6, '0')}`, '@yearly')),
    store: {
      ...store,
      async createRow(...call) {
        const answer = await store.createRow(...call);
        if (answer === 'created') created += 1;
        return answer;
      },
    },
  });
}

process.on('message', (message: ToInstance) => {
  const before = process.cpuUsage();
  void act(message).then(() => {
    const { user, system } = process.cpuUsage(before);
    const answer: FromInstance = { cpuMs: (user + system) / 1000, created };
    process.send?.(answer);
  });
});
process.on('disconnect', () => process.exit(0));
