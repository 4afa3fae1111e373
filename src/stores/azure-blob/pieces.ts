import type { ContainerClient } from '@azure/storage-blob';
import type { PieceStore } from '../../lease/store';
import { checkBody } from '../limits';
import type { Ask } from './ask';
import type { Blobs } from './blobs';
import { NO } from './errors';
import { piecePrefix } from './layout';
import type { AskPage } from './listing';

export function piecesIn(container: ContainerClient, ask: Ask, blobs: Blobs, askPage: AskPage): PieceStore {
  return {
    async createPiece(job, key, name, { body, summary: metadata }, options) {
      const blobName = piecePrefix(job, key) + name;
      const what = `write ${blobName}`;
      const etag = await blobs.put({ what, blobName, body, metadata, ifMatch: undefined, options });
      return etag === undefined ? 'exists' : 'created';
    },
    async readPiece(job, key, name, options) {
      const blobName = piecePrefix(job, key) + name;
      const answer = await blobs.get(blobName, blobName, options);
      return answer.kind === 'yes' ? checkBody(blobName, answer.value.body) : undefined;
    },
    async touchPiece(job, key, name, options) {
      const blobName = piecePrefix(job, key) + name;
      const answer = await ask({
        what: `touch ${blobName}`,
        no: NO.read,
        options,
        send: (abortSignal) => container.getBlobClient(blobName).setMetadata({}, { abortSignal }),
      });
      return answer.kind === 'yes' ? 'touched' : 'gone';
    },
    async listPieces(job, { key, prefix = '', limit, continuation }, options) {
      const folder = piecePrefix(job);
      const request = { prefix: piecePrefix(job, key) + prefix, limit, continuation };
      const { value, date } = await askPage(`list pieces of ${job}`, request, options);
      return {
        pieces: value.blobs.map((item) => {
          const [run = '', name = ''] = item.name.slice(folder.length).split('/');
          return { key: run, name, summary: item.metadata, writtenAt: Date.parse(item.lastModified), date };
        }),
        continuation: value.continuation,
      };
    },
    async deletePiece(job, key, name, options) {
      const blobName = piecePrefix(job, key) + name;
      await ask({
        what: `delete ${blobName}`,
        no: NO.read,
        options,
        send: (abortSignal) => container.getBlobClient(blobName).delete({ abortSignal }),
      });
    },
  };
}
