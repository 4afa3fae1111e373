import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import type { HistoryEvent } from './history';
import type { Instance, LiveInstance, Pending } from './instances';

/** An instance that has not ended, as a file keeps it. */
interface Saved extends Instance {
  readonly inbox: readonly HistoryEvent[];
  readonly execution: number;
  readonly pending: readonly (readonly [number, Pending])[];
  readonly episodeAt: number | undefined;
}

/** Where a hub keeps what has not ended, so that the next host of its deployment continues with it. */
export interface HubFiles {
  save(instance: LiveInstance): void;
  /** It has ended. */
  remove(id: string): void;
  load(): LiveInstance[];
}

/** A hub that ends with its process. */
export const NO_FILES: HubFiles = { save: () => undefined, remove: () => undefined, load: () => [] };

/** @param folder - made here if it is missing; of one deployment, one host at a time */
export function hubFiles(folder: string): HubFiles {
  fs.mkdirSync(folder, { recursive: true });
  const fileOf = (id: string): string => path.join(folder, `${createHash('sha1').update(id).digest('hex')}.json`);
  return {
    save({ timers: _timers, busy: _busy, ...instance }) {
      const saved: Saved = { ...instance, pending: [...instance.pending] };
      const file = fileOf(instance.id);
      // The process may be killed at any time: a file is whole or not there.
      fs.writeFileSync(`${file}.new`, JSON.stringify(saved));
      fs.renameSync(`${file}.new`, file);
    },
    remove: (id) => fs.rmSync(fileOf(id), { force: true }),
    load() {
      const names = fs.readdirSync(folder).filter((name) => name.endsWith('.json'));
      const saved = names.map((name) => JSON.parse(fs.readFileSync(path.join(folder, name), 'utf8')) as Saved);
      return saved
        .toSorted((a, b) => a.createdAt - b.createdAt)
        .map(({ pending, inbox, history, ...rest }) => ({
          ...rest,
          history: [...history],
          inbox: [...inbox],
          pending: new Map(pending),
          timers: new Map(),
          busy: false,
        }));
    },
  };
}

/** How long Durable hides a message that a host has taken, unless the host renews that. */
export interface Visibility {
  readonly workItemMs: number;
  readonly controlMs: number;
}

/** Until when a message is hidden that a host took and died with: a living host renews that at half its length. */
export function hiddenUntil(takenAt: number, visibilityMs: number, now: number): number {
  const renewals = Math.max(0, Math.floor((now - takenAt) / (visibilityMs / 2)));
  return takenAt + (renewals * visibilityMs) / 2 + visibilityMs;
}
