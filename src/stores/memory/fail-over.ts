import type { JobName } from '../../core/brand';
import { NO_LEASE } from './lease';
import type { State } from './state';

/** The state of every blob at one instant. */
export type Checkpoint = Omit<State, 'clock' | 'etags' | 'writes'>;

interface Past {
  readonly checkpoints: readonly Checkpoint[];
  readonly stateOf: (blob: string) => Checkpoint;
}

/** Handles share the maps, so that a checkpoint has copies. */
export function checkpointOf(state: State): Checkpoint {
  return {
    rows: new Map(state.rows),
    controls: new Map(state.controls),
    presences: new Map(state.presences),
    requests: new Map(state.requests),
    notices: new Map(state.notices),
    audits: new Map(state.audits),
    groups: new Map(state.groups),
    ledgers: copiesOf(state.ledgers),
    logs: copiesOf(state.logs),
    pieces: copiesOf(state.pieces),
  };
}

export function failOver(state: State, past: Past, leases: 'kept' | 'gone'): void {
  const { rows } = state;
  goBack(
    past,
    rows,
    (at) => at.rows,
    (job) => `jobs/${job}/lease`,
  );
  if (leases === 'gone') for (const [job, row] of rows) rows.set(job, { ...row, lease: NO_LEASE });
  goBack(
    past,
    state.controls,
    (at) => at.controls,
    (job) => `jobs/${job}/control`,
  );
  goBack(
    past,
    state.presences,
    (at) => at.presences,
    (name) => `deployments/${name}`,
  );
  goBack(
    past,
    state.requests,
    (at) => at.requests,
    (id) => `requests/${id}`,
  );
  goBack(
    past,
    state.notices,
    (at) => at.notices,
    (id) => `notices/${id}`,
  );
  goBack(
    past,
    state.audits,
    (at) => at.audits,
    (key) => `audit/${key}`,
  );
  goBack(
    past,
    state.groups,
    (at) => at.groups,
    (group) => `groups/${group}`,
  );
  goBackIn(past, state.ledgers, (at) => at.ledgers, 'runs');
  goBackIn(past, state.logs, (at) => at.logs, 'logs');
  goBackIn(past, state.pieces, (at) => at.pieces, 'fanout');
}

/** Puts the blobs back that each job has in a folder of its own. */
function goBackIn<Blob>(
  past: Past,
  folders: ReadonlyMap<JobName, Map<string, Blob>>,
  foldersOf: (at: Checkpoint) => ReadonlyMap<JobName, ReadonlyMap<string, Blob>>,
  folder: string,
): void {
  for (const [job, blobs] of folders) {
    goBack(
      past,
      blobs,
      (at) => foldersOf(at).get(job),
      (name) => `${folder}/${job}/${name}`,
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

function copiesOf<Key, Name, Blob>(all: ReadonlyMap<Key, ReadonlyMap<Name, Blob>>): Map<Key, Map<Name, Blob>> {
  return new Map([...all].map(([key, blobs]) => [key, new Map(blobs)]));
}
