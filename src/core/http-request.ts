/** The trailing slash counts as none. */
const TRAILING = /\/$/;
/** Characters that end a path, separate its parts, or begin another encoding. */
const AMBIGUOUS = /[\p{Cc}/\\%?#]/u;

/** A path as different readers have seen it. */
export interface SeenPath {
  /** After the normalisation of a URL, still encoded. */
  readonly normalised: string;
  /** As the host matched it, decoded once; undefined: the host does not say. */
  readonly matched?: string | undefined;
  /** Targets as they were sent, where something in front of the host passes them on. */
  readonly sent?: readonly string[];
}

/**
 * The path, if every reader sees the same one; undefined otherwise. A login in front of the app lets some paths through.
 * Dots, empty parts, encoded slashes and double encoding could make it read another path than the app does.
 * Decision 126.
 */
export function plainPath({ normalised, matched, sent = [] }: SeenPath): string | undefined {
  const parts = partsOf(normalised);
  if (parts === undefined) return undefined;
  if (matched !== undefined && parts.join('/') !== matched.replace(TRAILING, '')) return undefined;
  const isSentPlain = sent.every((target) => partsOf(target.replace(/[?#].*$/s, '').replace(/^\//, '')) !== undefined);
  return isSentPlain ? normalised : undefined;
}

/** The decoded parts; undefined: the path may be read in more than one way. */
function partsOf(path: string): readonly string[] | undefined {
  if (path === '') return [];
  const parts = path.replace(TRAILING, '').split('/').map(decoded);
  const plain = parts.filter(
    (part): part is string => part !== undefined && !/^\.{0,2}$/.test(part) && !AMBIGUOUS.test(part),
  );
  return plain.length === parts.length ? plain : undefined;
}

function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

/** Reads a header of a request by its name in lowercase; undefined if it was not sent. */
export type Header = (name: string) => string | undefined;

/**
 * Whether no page of another site sent a request. Browsers state the relation of page and request themselves; older ones
 * name only the page's origin.
 */
export function isSameOrigin(header: Header): boolean {
  const site = header('sec-fetch-site');
  if (site !== undefined) return site === 'same-origin';
  const origin = header('origin');
  if (origin === undefined) return true;
  const host = URL.parse(origin)?.host;
  return host !== undefined && host !== '' && host === header('host')?.toLowerCase();
}
