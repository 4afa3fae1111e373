import { gunzipSync } from 'node:zlib';
import type { Dashboard } from '../dashboard/files';

export interface PageAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

/** Nothing comes from elsewhere, nothing is inline, and no text becomes markup. Decision 106. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ');

const COMMON_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'strict-transport-security': 'max-age=31536000',
  'x-content-type-options': 'nosniff',
};

const ASSETS = 'assets/';

/** The path below which callers with a key have the dashboard, too. */
const KEYED = 'keyed';

/**
 * The dashboard's part of a path below `manage/`: it has no data, so that it needs no role. Undefined: it is another's.
 *
 * Below `keyed/`, only the page itself asks for a key, so that the browser then sends it with all that the page reads.
 */
export function pathInDashboard(method: string, path: string): { path: string; needsKey: boolean } | undefined {
  if (method !== 'GET' && method !== 'HEAD') return undefined;
  const [, head, rest = ''] = /^(keyed)(?:\/(.*))?$/.exec(path) ?? [];
  const own = head === KEYED ? rest : path;
  if (own !== '' && !own.startsWith(ASSETS)) return undefined;
  return { path: own, needsKey: head === KEYED && own === '' };
}

/**
 * The page, or a file of it.
 *
 * @param path of {@link pathInDashboard}
 * @param url the request's
 */
export function answerOfDashboard(
  { index, files }: Dashboard,
  path: string,
  { pathname, search }: URL,
  acceptEncoding: string | undefined,
): PageAnswer {
  if (path === '') {
    const headers = { ...COMMON_HEADERS, 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' };
    // Browsers resolve names from the last slash: without it, the page would ask for `jobs` beside `manage`.
    if (!pathname.endsWith('/'))
      return {
        status: 302,
        headers: { ...headers, location: `${pathname.split('/').at(-1) ?? ''}/${search}` },
        body: '',
      };
    return { status: 200, headers, body: index };
  }
  const name = path.slice(ASSETS.length);
  const file = Object.hasOwn(files, name) ? files[name] : undefined;
  if (file === undefined) {
    // An old page asks for its own file version.
    const headers = { ...COMMON_HEADERS, 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' };
    return { status: 404, headers, body: 'There is no such file. Load the page again.\n' };
  }
  const compressed = Buffer.from(file.gzip, 'base64');
  const takesGzip = /(^|[,\s])gzip\s*(,|;\s*q=(?!0(\.0*)?\s*(,|$))|$)/i.test(acceptEncoding ?? '');
  return {
    status: 200,
    headers: {
      ...COMMON_HEADERS,
      'content-type': file.type,
      'cache-control': 'public, max-age=31536000, immutable',
      vary: 'accept-encoding',
      ...(takesGzip ? { 'content-encoding': 'gzip' } : {}),
    },
    body: takesGzip ? compressed : gunzipSync(compressed),
  };
}
