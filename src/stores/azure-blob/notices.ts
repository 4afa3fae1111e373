import type { ContainerClient } from '@azure/storage-blob';
import type { NoticeStore } from '../../lease/store';
import { checkBody, checkMetadata } from '../limits';
import type { Ask } from './ask';
import type { Blobs } from './blobs';
import { NO } from './errors';
import { NOTICES_PREFIX, quoted } from './layout';
import type { AskPage } from './listing';

export function noticesIn(container: ContainerClient, ask: Ask, blobs: Blobs, askPage: AskPage): NoticeStore {
  return {
    async createNotice(id, { body, metadata }, options) {
      const blobName = NOTICES_PREFIX + id;
      const etag = await blobs.put({
        what: `write ${blobName}`,
        blobName,
        body,
        metadata,
        ifMatch: undefined,
        options,
      });
      return etag === undefined ? { kind: 'exists' } : { kind: 'created', etag };
    },
    async readNotice(id, options) {
      const blobName = NOTICES_PREFIX + id;
      const answer = await blobs.get(blobName, blobName, options);
      return answer.kind === 'yes' ? checkBody(blobName, answer.value.body) : undefined;
    },
    async writeNotice(id, metadata, ifMatch, options) {
      checkMetadata(metadata);
      const blobName = NOTICES_PREFIX + id;
      const answer = await ask({
        what: `write the state of ${blobName}`,
        no: NO.replace,
        options,
        send: (abortSignal) =>
          container.getBlobClient(blobName).setMetadata(metadata, { conditions: { ifMatch }, abortSignal }),
      });
      return answer.kind === 'no' ? { kind: 'refused' } : { kind: 'written', etag: quoted(answer.value.etag ?? '') };
    },
    async deleteNotice(id, options) {
      const blobName = NOTICES_PREFIX + id;
      await ask({
        what: `delete ${blobName}`,
        no: NO.read,
        options,
        send: (abortSignal) => container.getBlobClient(blobName).delete({ abortSignal }),
      });
    },
    async listNotices({ limit, continuation }, options) {
      const { value } = await askPage('list notices', { prefix: NOTICES_PREFIX, limit, continuation }, options);
      return {
        notices: value.blobs.map(({ name, etag, metadata }) => ({
          id: name.slice(NOTICES_PREFIX.length),
          etag: quoted(etag),
          metadata,
        })),
        continuation: value.continuation,
      };
    },
  };
}
