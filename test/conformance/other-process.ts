import { openStore } from '../../src/stores/open';
import { systemClock } from '../../src/system-clock';
import type { Handover } from './elsewhere';

/** The other process: writes a row under a lease that it was handed, and prints the answer. */
async function main(): Promise<void> {
  const { connectionString, containerName, job, metadata, guard } = JSON.parse(process.argv[2] ?? '') as Handover;
  const settings = { CRONLEASE_STORAGE: connectionString };
  const store = openStore({ settings, container: containerName, clock: systemClock });
  const answer = await store.writeRow(job, metadata, guard);
  process.stdout.write(JSON.stringify(answer));
}

void main();
