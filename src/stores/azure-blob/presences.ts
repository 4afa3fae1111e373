import type { ContainerClient } from '@azure/storage-blob';
import type { EpochMs } from '../../core/brand';
import type { ListedPresence, PresenceStore } from '../../lease/store';
import { checkMetadata } from '../limits';
import type { Ask } from './ask';
import { NO } from './errors';
import { parsePresenceName, PRESENCE_PREFIX, presenceName, quoted } from './layout';
import type { AskPage } from './listing';
import { strayNotes } from './strays';

export function presencesIn(container: ContainerClient, ask: Ask, askPage: AskPage): PresenceStore {
  return {
    async writePresence(deployment, metadata, ifMatch, options) {
      checkMetadata(metadata);
      const answer = await ask({
        what: `write the presence of ${deployment}`,
        no: ifMatch === undefined ? [] : NO.replace,
        options,
        send: (abortSignal) =>
          container.getBlockBlobClient(presenceName(deployment)).upload('', 0, {
            metadata,
            ...(ifMatch !== undefined && { conditions: { ifMatch } }),
            abortSignal,
          }),
      });
      return answer.kind === 'no' ? { kind: 'refused' } : { kind: 'written', etag: quoted(answer.value.etag ?? '') };
    },
    async listPresences(options) {
      const presences = new Map<string, ListedPresence>();
      const strays = strayNotes();
      let date: EpochMs | undefined;
      let continuation: string | undefined;
      do {
        const request = { prefix: PRESENCE_PREFIX, continuation };
        const answer = await askPage('list deployments', request, options);
        date ??= answer.date;
        for (const item of answer.value.blobs) {
          const name = parsePresenceName(item.name);
          if (name === undefined) strays.add(item);
          else presences.set(name, { etag: quoted(item.etag), metadata: item.metadata });
        }
        continuation = answer.value.continuation;
      } while (continuation !== undefined);
      return { date, presences, ...strays.found() };
    },
  };
}
