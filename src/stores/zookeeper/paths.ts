import { FACETS, type FacetKeys } from '../port';

export interface Paths {
  readonly container: string;
  /** Written to learn the time. It exists if the container does. */
  readonly now: string;
  readonly jobs: string;
  readonly elections: string;
  readonly entries: FacetKeys<Folder>;
  /** The parts of bodies that are too large for one node. */
  readonly parts: string;
  /** Everything that `prepare` makes below the container, but the node of the time. */
  readonly made: readonly string[];
}

/**
 * Entries by their ids. A server answers with all names of a folder at once; if there may be many thousands, they lie
 * in further folders, by how their names begin. Keys of records begin with their time, so those are 11 days each.
 */
export interface Folder {
  readonly path: string;
  readonly isDivided: boolean;
}

/** @param container has no character that needs an escape */
export function pathsIn(chroot: string, container: string): Paths {
  const root = `${chroot}/${container}`;
  return {
    container: root,
    now: `${root}/now`,
    jobs: `${root}/jobs`,
    elections: `${root}/elections`,
    entries: (facet, job) => ({
      path: job === undefined ? `${root}/${facet}` : `${root}/${facet}/${escaped(job)}`,
      isDivided: job !== undefined || facet === 'audits',
    }),
    parts: `${root}/parts`,
    made: ['jobs', 'elections', ...FACETS, 'parts'].map((kind) => `${root}/${kind}`),
  };
}

/** The folders between a folder's kind and its entry, which the first entry makes. */
export function foldersOf({ path, isDivided }: Folder, id: string): readonly string[] {
  return isDivided ? [path, `${path}/${divisionOf(id)}`] : [path];
}

export function pathOf(folder: Folder, id: string): string {
  return `${foldersOf(folder, id).at(-1) ?? ''}/${escaped(id)}`;
}

const DIVISION_LENGTH = 4;

/** How the names in one further folder begin. */
function divisionOf(id: string): string {
  return escaped(id.slice(0, DIVISION_LENGTH));
}

/** Whether a further folder may have ids that begin so, and come after `after`. */
export function mayHold(division: string, prefix: string, after: string): boolean {
  const start = unescaped(division);
  if (!start.startsWith(prefix.slice(0, start.length)) && !prefix.startsWith(start)) return false;
  return start >= after.slice(0, start.length);
}

/** Names of nodes have neither a slash nor control characters, and are not "." or "..". */
export function escaped(name: string): string {
  return encodeURIComponent(name).replaceAll('.', '%2E');
}

export function unescaped(name: string): string {
  return decodeURIComponent(name);
}
