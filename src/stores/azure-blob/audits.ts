import type { AuditStore } from '../../lease/store';
import type { Blobs } from './blobs';
import { AUDIT_PREFIX } from './layout';
import type { AskPage } from './listing';

export function auditsIn(blobs: Blobs, askPage: AskPage): AuditStore {
  return {
    async writeAudit(key, metadata, ifMatch, options) {
      const what = `write audit ${key}`;
      const etag = await blobs.put({ what, blobName: AUDIT_PREFIX + key, body: '', metadata, ifMatch, options });
      return etag === undefined ? { kind: 'refused' } : { kind: 'written', etag };
    },
    async listAudits({ limit, continuation }, options) {
      const { value } = await askPage('list audits', { prefix: AUDIT_PREFIX, limit, continuation }, options);
      return {
        audits: value.blobs.map(({ name, metadata }) => ({ key: name.slice(AUDIT_PREFIX.length), metadata })),
        continuation: value.continuation,
      };
    },
  };
}
