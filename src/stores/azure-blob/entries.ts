import type { ContainerClient } from '@azure/storage-blob';
import type { EpochMs } from '../../core/brand';
import { pagesOf } from '../../lease/pages';
import type { Condition, Entries, Head, Logs } from '../port';
import { type Ask, NO } from './ask';
import { download, downloadPart } from './download';
import { strayNotes } from './list-all';
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
      const { blobs, date: now, continuation: next } = await askPage(what, request, options);
      const items = blobs.map((blob) => ({ id: blob.name.slice(keys.prefix.length), ...headOf(blob) }));
      return { now, items, continuation: next };
    },
    async all({ keys, what, options }) {
      const found = new Map<string, Head>();
      const strays = strayNotes();
      let now: EpochMs = Infinity;
      const { prefix } = keys;
      for await (const { blobs, date } of pagesOf((from) => askPage(what, { prefix, ...from }, options))) {
        now = Math.min(now, date);
        for (const blob of blobs) {
          const id = keys.idOf(blob.name);
          if (id === undefined) strays.add(blob);
          else found.set(id, headOf(blob));
        }
      }
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
      const page = await askPage(what, { prefix: keys.prefix + prefix, limit, continuation }, options);
      const items = page.blobs.map(({ name, bytes }) => ({ id: name.slice(keys.prefix.length), bytes }));
      return { items, continuation: page.continuation };
    },
  };
}
