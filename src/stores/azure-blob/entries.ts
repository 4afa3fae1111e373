import type { ContainerClient } from '@azure/storage-blob';
import type { EpochMs } from '../../core/brand';
import type { Condition, Entries, Head } from '../port';
import type { Ask } from './ask';
import { download } from './download';
import { NO } from './errors';
import { strayNotes } from './gather';
import { type Folder, quoted } from './layout';
import type { AskPage } from './listing';
import type { ListedBlob } from './listing-xml';

/** Entries as whole blobs, each written by one conditional PUT and read by one GET. */
export function entriesIn(container: ContainerClient, ask: Ask, askPage: AskPage): Entries<Folder> {
  return {
    async put({ keys, id, kind, what, condition, metadata, body = '', options }) {
      const blob = container.getBlockBlobClient(keys.nameOf(id));
      const conditions = conditionsOf(condition);
      const answer = await ask({ what, no: refusalsOf(condition), options }, (abortSignal) =>
        kind === 'metadata'
          ? blob.setMetadata(metadata, { conditions, abortSignal })
          : blob.upload(body, Buffer.byteLength(body), {
              metadata,
              conditions,
              ...(body !== '' && { blobHTTPHeaders: { blobContentType: 'application/json' } }),
              abortSignal,
            }),
      );
      return answer.kind === 'yes' ? quoted(answer.value.etag ?? '') : undefined;
    },
    async get({ keys, id, what, options }) {
      const answer = await ask({ what, no: NO.read, options }, (abortSignal) =>
        download(container.getBlobClient(keys.nameOf(id)), abortSignal),
      );
      const { date: now } = answer;
      if (answer.kind === 'no') return { now, head: undefined, body: undefined };
      const { etag, metadata, lastModified, body } = answer.value;
      return { now, head: { etag, metadata, writtenMs: lastModified?.getTime() ?? now }, body };
    },
    async page({ keys, what, prefix = '', limit, continuation, options }) {
      const request = { prefix: keys.prefix + prefix, limit, continuation };
      const { value, date: now } = await askPage(what, request, options);
      const items = value.blobs.map((blob) => ({ id: blob.name.slice(keys.prefix.length), ...headOf(blob) }));
      return { now, items, continuation: value.continuation };
    },
    async all({ keys, what, options }) {
      const found = new Map<string, Head>();
      const strays = strayNotes();
      let now: EpochMs | undefined;
      let continuation: string | undefined;
      do {
        const { value, date } = await askPage(what, { prefix: keys.prefix, continuation }, options);
        now ??= date;
        for (const blob of value.blobs) {
          const id = keys.idOf(blob.name);
          if (id === undefined) strays.add(blob);
          else found.set(id, headOf(blob));
        }
        continuation = value.continuation;
      } while (continuation !== undefined);
      return { now, found, ...strays.found() };
    },
    async remove({ keys, id, what, ifMatch, options }) {
      const condition = ifMatch === undefined ? 'there' : { version: ifMatch };
      const conditions = conditionsOf(condition);
      const answer = await ask({ what, no: refusalsOf(condition), options }, (abortSignal) =>
        container.getBlobClient(keys.nameOf(id)).delete({ conditions, abortSignal }),
      );
      return answer.kind === 'yes';
    },
  };
}

function headOf({ etag, lastModified, metadata }: ListedBlob): Head {
  return { etag: quoted(etag), writtenMs: Date.parse(lastModified), metadata };
}

function conditionsOf(condition: Condition): { readonly ifMatch?: string; readonly ifNoneMatch?: string } {
  if (condition === 'absent') return { ifNoneMatch: '*' };
  return typeof condition === 'string' ? {} : { ifMatch: condition.version };
}

/** The error codes which mean that the condition did not hold. */
function refusalsOf(condition: Condition): readonly string[] {
  switch (condition) {
    case 'absent':
      return NO.create;
    case 'there':
      return NO.read;
    case 'any':
      return [];
    default:
      return NO.replace;
  }
}
