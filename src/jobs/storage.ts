import type { BlobServiceClient } from '@azure/storage-blob';
import { connectService } from '../stores/azure-blob/connection';

let service: BlobServiceClient | undefined;

/** The storage account that the coordinator runs against. One long-lived client, with the SDK's own retries. */
export function sampleStorage(): BlobServiceClient {
  service ??= connectService(process.env, { retryOptions: { maxTries: 4 } });
  return service;
}
