import type { ContainerClient } from '@azure/storage-blob';
import type { JobName } from '../../core/brand';
import type { LogStore } from '../../lease/store';
import { checkLogText } from '../limits';
import type { Ask } from './ask';
import { downloadPart } from './download';
import { NO } from './errors';
import { logPrefix } from './layout';
import type { AskPage } from './listing';

/** Logs as append blobs. */
export function logsIn(container: ContainerClient, ask: Ask, askPage: AskPage): LogStore {
  const nameOf = (job: JobName, key: string, name: string): string => logPrefix(job, key) + name;
  return {
    async createLog(job, key, name, options) {
      const blobName = nameOf(job, key, name);
      const { kind } = await ask({ what: `create ${blobName}`, no: NO.create, options }, (abortSignal) =>
        container.getAppendBlobClient(blobName).create({
          conditions: { ifNoneMatch: '*' },
          blobHTTPHeaders: { blobContentType: 'application/x-ndjson' },
          abortSignal,
        }),
      );
      return kind === 'yes' ? 'created' : 'exists';
    },
    async appendLog(job, key, name, { text, at }, options) {
      checkLogText(text);
      const blobName = nameOf(job, key, name);
      const { kind } = await ask({ what: `append to ${blobName}`, no: NO.append, options }, (abortSignal) =>
        container
          .getAppendBlobClient(blobName)
          .appendBlock(text, text.length, { conditions: { appendPosition: at }, abortSignal }),
      );
      return kind === 'yes' ? 'appended' : 'refused';
    },
    async readLog(job, key, name, range, options) {
      const blobName = nameOf(job, key, name);
      const answer = await ask({ what: `read ${blobName}`, no: NO.read, options }, (abortSignal) =>
        downloadPart(container.getBlobClient(blobName), range, abortSignal),
      );
      return answer.kind === 'yes' ? answer.value.text : undefined;
    },
    async listLogs(job, key, { limit, continuation }, options) {
      const prefix = logPrefix(job, key);
      const what = `list the logs of run ${key} of ${job}`;
      const { value } = await askPage(what, { prefix, limit, continuation }, options);
      return {
        logs: value.blobs.map((item) => ({ name: item.name.slice(prefix.length), bytes: item.bytes })),
        continuation: value.continuation,
      };
    },
  };
}
