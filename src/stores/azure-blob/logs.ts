import type { ContainerClient } from '@azure/storage-blob';
import type { Logs } from '../port';
import type { Ask } from './ask';
import { downloadPart } from './download';
import { NO } from './errors';
import type { Folder } from './layout';
import type { AskPage } from './listing';

/** Logs as append blobs. */
export function logsIn(container: ContainerClient, ask: Ask, askPage: AskPage): Logs<Folder> {
  return {
    async create({ keys, id, ...question }) {
      const { kind } = await ask({ ...question, no: NO.create }, (abortSignal) =>
        container.getAppendBlobClient(keys.nameOf(id)).create({
          conditions: { ifNoneMatch: '*' },
          blobHTTPHeaders: { blobContentType: 'application/x-ndjson' },
          abortSignal,
        }),
      );
      return kind === 'yes';
    },
    async append({ keys, id, text, at, ...question }) {
      const { kind } = await ask({ ...question, no: NO.append }, (abortSignal) =>
        container
          .getAppendBlobClient(keys.nameOf(id))
          .appendBlock(text, text.length, { conditions: { appendPosition: at }, abortSignal }),
      );
      return kind === 'yes';
    },
    async read({ keys, id, from, limit, ...question }) {
      const answer = await ask({ ...question, no: NO.read }, (abortSignal) =>
        downloadPart(container.getBlobClient(keys.nameOf(id)), { from, limit }, abortSignal),
      );
      return answer.kind === 'yes' ? answer.value.text : undefined;
    },
    async page({ keys, what, prefix, limit, continuation, options }) {
      const { value } = await askPage(what, { prefix: keys.prefix + prefix, limit, continuation }, options);
      const items = value.blobs.map(({ name, bytes }) => ({ id: name.slice(keys.prefix.length), bytes }));
      return { items, continuation: value.continuation };
    },
  };
}
