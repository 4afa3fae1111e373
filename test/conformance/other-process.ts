import { connectContainer } from '../../src/stores/azure-blob/connection';
import { azureBlobStore } from '../../src/stores/azure-blob/store';
import { systemClock } from '../../src/system-clock';
import type { Handover } from './elsewhere';

/** The other process: writes a row under a lease that it was handed, and prints the answer. */
async function main(): Promise<void> {
  const { connectionString, containerName, job, metadata, guard } = JSON.parse(process.argv[2] ?? '') as Handover;
  const container = connectContainer({ CRONLEASE_STORAGE: connectionString }, containerName);
  const answer = await azureBlobStore({ container, clock: systemClock }).writeRow(job, metadata, guard);
  process.stdout.write(JSON.stringify(answer));
}

void main();
