import { CONTROLS } from './entries';
import { NO_LEASE } from './lease';
import type { State } from './state';

/** The state of every blob at one instant. */
export type Checkpoint = Pick<State, 'rows' | 'folders'>;

interface Past {
  readonly checkpoints: readonly Checkpoint[];
  readonly stateOf: (blob: string) => Checkpoint;
}

/** Handles share the maps, so that a checkpoint has copies. */
export function checkpointOf({ rows, folders }: State): Checkpoint {
  return {
    rows: new Map(rows),
    folders: new Map([...folders].map(([name, entries]) => [name, new Map(entries)])),
  };
}

export function failOver({ rows, folders }: State, past: Past, leases: 'kept' | 'gone'): void {
  goBack(
    past,
    rows,
    (at) => at.rows,
    (job) => `jobs/${job}/lease`,
  );
  if (leases === 'gone') for (const [job, row] of rows) rows.set(job, { ...row, lease: NO_LEASE });
  for (const [name, entries] of folders) {
    goBack(
      past,
      entries,
      (at) => at.folders.get(name),
      (id) => (name === CONTROLS ? `jobs/${id}/control` : name + id),
    );
  }
}

/** Handles share the maps, so that a map is never replaced. */
function goBack<Key, Blob>(
  { checkpoints, stateOf }: Past,
  map: Map<Key, Blob>,
  blobsOf: (at: Checkpoint) => ReadonlyMap<Key, Blob> | undefined,
  nameOf: (key: Key) => string,
): void {
  map.clear();
  for (const key of new Set(checkpoints.flatMap((at) => [...(blobsOf(at)?.keys() ?? [])]))) {
    const blob = blobsOf(stateOf(nameOf(key)))?.get(key);
    if (blob !== undefined) map.set(key, blob);
  }
}
