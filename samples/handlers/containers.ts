import type { ContainerClient } from '@azure/storage-blob';
import { connectService } from '../../src/stores/azure-blob/connection';

/** Each operator may give a run another input. So no input of a sample names a container or a whole blob. */
type SampleContainer = 'texts' | 'reports';

let service: ReturnType<typeof connectService> | undefined;

/** In the storage of `npm start`. One long-lived client, with the SDK's own retries. */
export function sampleContainer(name: SampleContainer): ContainerClient {
  service ??= connectService(process.env, { retryOptions: { maxTries: 4 } });
  return service.getContainerClient(name);
}
