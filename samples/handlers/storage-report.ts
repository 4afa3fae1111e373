import { defineJob } from '../../src/index';
import { sampleContainer } from './containers';

const MEASURED = ['texts', 'reports'] as const;

interface ContainerReport {
  readonly container: string;
  readonly exists: boolean;
  readonly blobs: number;
  readonly bytes: number;
}

/** Counts the blobs and bytes of the samples' containers, and writes a report as JSON and CSV. */
export const storageReport = defineJob({
  run: async ({ scheduledFor, fence, signal, progress, log }) => {
    const reports: ContainerReport[] = [];
    for (const container of MEASURED) {
      reports.push(await measure(container, signal));
      progress(container);
    }
    const folder = sampleContainer('reports');
    await folder.createIfNotExists({ abortSignal: signal });
    const name = `storage-report/${scheduledFor.toISOString().replaceAll(':', '-')}`;
    const report = { scheduledFor: scheduledFor.toISOString(), containers: reports };
    await fence.write(folder.getBlockBlobClient(`${name}.json`), JSON.stringify(report, undefined, 2), {
      contentType: 'application/json',
    });
    await fence.write(folder.getBlockBlobClient(`${name}.csv`), toCsv(reports), { contentType: 'text/csv' });
    const blobs = reports.reduce((sum, { blobs: count }) => sum + count, 0);
    log(`${String(blobs)} blobs in ${String(reports.length)} containers: reports/${name}.json`);
    return { report: `reports/${name}.json`, blobs };
  },
});

async function measure(container: (typeof MEASURED)[number], abortSignal: AbortSignal): Promise<ContainerReport> {
  const client = sampleContainer(container);
  if (!(await client.exists({ abortSignal }))) return { container, exists: false, blobs: 0, bytes: 0 };
  let blobs = 0;
  let bytes = 0;
  for await (const blob of client.listBlobsFlat({ abortSignal })) {
    blobs += 1;
    bytes += blob.properties.contentLength ?? 0;
  }
  return { container, exists: true, blobs, bytes };
}

function toCsv(reports: readonly ContainerReport[]): string {
  const lines = reports.map(({ container, exists, blobs, bytes }) => [container, exists, blobs, bytes].join(','));
  return ['container,exists,blobs,bytes', ...lines, ''].join('\n');
}
