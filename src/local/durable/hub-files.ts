import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import type { HistoryEvent } from './history';
import type { Instance, LiveInstance, Pending } from './instances';

/** An unfinished instance, in the form of its file. */
interface Saved extends Instance {
  readonly inbox: readonly HistoryEvent[];
  readonly execution: number;
  readonly pending: readonly (readonly [number, Pending])[];
  readonly episodeAt: number | undefined;
}

/** The files of a hub's unfinished instances, with which the next host of its deployment continues. */
export interface HubFiles {
  save(instance: LiveInstance): void;
  /** Removes the file of an instance that has ended. */
  remove(id: string): void;
  load(): LiveInstance[];
}

/** For a hub that ends with its process. */
export const NO_FILES: HubFiles = { save: () => undefined, remove: () => undefined, load: () => [] };

/** @param folder - created if it is missing; for one deployment, and one host at a time */
export function hubFiles(folder: string): HubFiles {
  fs.mkdirSync(folder, { recursive: true });
  const fileOf = (id: string): string => path.join(folder, `${createHash('sha1').update(id).digest('hex')}.json`);
  return {
    save({ timers: _timers, busy: _busy, ...instance }) {
      const saved: Saved = { ...instance, pending: [...instance.pending] };
      const file = fileOf(instance.id);
      // The process may be killed at any time, so a file must appear whole or not at all.
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

/** The end of the time for which a dead host's message stays hidden. A living host renews it at half its length. */
export function hiddenUntil(takenAt: number, visibilityMs: number, now: number): number {
  const renewals = Math.max(0, Math.floor((now - takenAt) / (visibilityMs / 2)));
  return takenAt + (renewals * visibilityMs) / 2 + visibilityMs;
}
