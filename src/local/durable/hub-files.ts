import fs from 'node:fs';
import path from 'node:path';
import type { LiveInstance, Pending } from './instances';

export interface EntityRequest {
  /** The same each time that the request is sent. */
  readonly id: string;
  readonly operation: string;
  /** JSON; undefined: none. */
  readonly input: string | undefined;
  /** The orchestration that waits for the answer; undefined: it is a signal. */
  readonly from?: { readonly instance: string; readonly task: number };
}

/** The answer to a request, in the extension's own form. */
export interface EntityResponse {
  /** JSON. */
  readonly result?: string;
  readonly exceptionType?: string;
}

/** An entity. It carries out its requests one after another. */
export interface Entity {
  /** Such as `@counter@a`. */
  readonly id: string;
  exists: boolean;
  /** JSON. */
  state: string | undefined;
  queue: EntityRequest[];
  /** By the ids of their requests, oldest first. */
  answers: (readonly [string, EntityResponse])[];
}

/** An unfinished instance, in the form of its line. */
type Saved = Omit<LiveInstance, 'timers' | 'busy' | 'pending'> & {
  readonly pending: readonly (readonly [number, Pending])[];
};

/** The file of a hub's unfinished instances, with which the next host of its deployment continues. */
export interface HubFiles {
  save(instance: LiveInstance): void;
  /** Drops an instance that has ended. */
  remove(id: string): void;
  load(): LiveInstance[];
  saveEntity(entity: Entity): void;
  loadEntities(): Entity[];
}

/** A journal that has grown to this size, and to twice what is live, is written again. */
export const COMPACT_BYTES = 8 * 1024 * 1024;

/**
 * A journal: a line for each change, of which the last of an instance counts. Lines are appended because replacing a
 * file by renaming waits for the disk on ext4, and blocks the host for as long. Decision 120.
 *
 * @param folder - created if it is missing; for one deployment, and one host at a time
 */
export function hubFiles(folder: string): HubFiles {
  fs.mkdirSync(folder, { recursive: true });
  const file = path.join(folder, JOURNAL);
  let journal: number | undefined;
  let bytes = 0;
  let compactAt = COMPACT_BYTES;
  let isCut = false;

  const compact = (): number => {
    if (journal !== undefined) fs.closeSync(journal);
    journal = undefined;
    const live = lastLines(file);
    // The process may be killed at any time, so the new journal must appear whole or not at all.
    fs.writeFileSync(`${file}.new`, [...live.values()].join(''));
    fs.renameSync(`${file}.new`, file);
    const anew = fs.openSync(file, 'a');
    bytes = fs.fstatSync(anew).size;
    compactAt = Math.max(COMPACT_BYTES, 2 * bytes);
    isCut = false;
    return anew;
  };
  const append = (id: string, json: string): void => {
    if (journal === undefined || isCut || bytes >= compactAt) journal = compact();
    const line = Buffer.from(`${encodeURIComponent(id)} ${json}\n`);
    // A full disk takes a part of a line, which must not be the beginning of the next one.
    isCut = true;
    fs.writeFileSync(journal, line);
    isCut = false;
    bytes += line.length;
  };
  return {
    save({ timers: _timers, busy: _busy, ...instance }) {
      const saved: Saved = { ...instance, pending: [...instance.pending] };
      append(instance.id, JSON.stringify(saved));
    },
    remove(id) {
      append(id, ENDED);
    },
    saveEntity(entity) {
      append(entity.id, JSON.stringify(entity));
    },
    loadEntities: () => linesOf(file, isEntity) as Entity[],
    load() {
      const saved = linesOf(file, (id) => !isEntity(id)) as Saved[];
      return saved
        .toSorted((a, b) => a.createdAt - b.createdAt)
        .map((one) => ({ ...one, pending: new Map(one.pending), timers: new Map(), busy: false }));
    },
  };
}

const JOURNAL = 'instances.jsonl';
/** In the place of an instance that has ended. */
const ENDED = 'null';

/** Those of entities begin with @, and no other id may. */
function isEntity(id: string): boolean {
  return decodeURIComponent(id).startsWith('@');
}

function linesOf(file: string, fits: (id: string) => boolean): unknown[] {
  return [...lastLines(file)].filter(([id]) => fits(id)).map(([, line]) => JSON.parse(line.slice(line.indexOf(' '))));
}

/** The last line of each instance that has not ended. The journal's end is left out if a kill has cut it off. */
function lastLines(file: string): ReadonlyMap<string, string> {
  const last = new Map<string, string>();
  if (!fs.existsSync(file)) return last;
  const text = fs.readFileSync(file, 'utf8');
  let start = 0;
  for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', start)) {
    const line = text.slice(start, end + 1);
    const id = line.slice(0, line.indexOf(' '));
    if (line.endsWith(` ${ENDED}\n`)) last.delete(id);
    else last.set(id, line);
    start = end + 1;
  }
  return last;
}

/** The end of the time for which a dead host's message stays hidden. A living host renews it at half its length. */
export function hiddenUntil(takenAt: number, visibilityMs: number): number {
  const renewals = Math.max(0, Math.floor((Date.now() - takenAt) / (visibilityMs / 2)));
  return takenAt + (renewals * visibilityMs) / 2 + visibilityMs;
}
