import { promisify } from 'node:util';
import { constants, gunzipSync, gzip } from 'node:zlib';
import type { HttpHandler, HttpMethod, HttpRequest, HttpResponseInit, InvocationContext } from '@azure/functions';
import { plainPath } from '../core/http-request';
import type { Poked } from '../core/poked';
import type { Dashboard } from '../dashboard/files';
import type { Environment } from './app-settings';
import type { Coordinators } from './coordinators';
import { hostText } from './settings';
import type { AccessSettings } from '../manage/access';
import type { Desk } from '../manage/desk';
import type { Manage, ManageAnswer } from '../manage/serve';
import { metricsJobs } from '../telemetry/settings';
import { VERSION } from '../version';

/** Every method, so that the API itself answers those that a route does not have. */
export const METHODS: readonly HttpMethod[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

interface ManageOptions {
  readonly coordinators: () => Coordinators;
  readonly isReady: () => Promise<boolean>;
  readonly access: AccessSettings;
  /** The name of the environment, for people. */
  readonly environment: Desk['environment'];
  readonly poke: (context: InvocationContext) => Promise<Poked | undefined>;
  readonly dashboard: () => Promise<Dashboard>;
  readonly env: Environment;
  readonly appFolder: string;
}

/** Everything below `manage/`. Its code is loaded with the first request, because most instances never get one. */
export function manageHandler(options: ManageOptions): HttpHandler {
  const belowManage = pathBelow(routePrefix(options.env, options.appFolder));
  let manage: Promise<Manage> | undefined;
  return async (request: HttpRequest, context: InvocationContext) => {
    const url = new URL(request.url);
    const { pathname, searchParams } = url;
    const path = pathIn(request, belowManage(pathname));
    const method = request.method.toUpperCase();
    const accepted = request.headers.get('accept-encoding') ?? '';
    const pageOf = async (part: string): Promise<HttpResponseInit> => {
      const page = answerOfDashboard(await options.dashboard(), part, url, accepted);
      return { ...page, headers: { ...page.headers }, body: method === 'HEAD' ? '' : page.body };
    };
    const own = path === undefined ? undefined : pathInDashboard(method, path);
    if (own !== undefined && !own.needsKey) return pageOf(own.path);
    manage ??= load(options);
    const answer = await (
      await manage
    )({
      method,
      // Whoever may read this may have the page.
      path: own === undefined ? path : 'keyed/me',
      query: own === undefined ? searchParams : new URLSearchParams(),
      header: (name) => request.headers.get(name) ?? undefined,
      body: async () => new Uint8Array(await request.arrayBuffer()),
      poke: () => options.poke(context),
      reportBug: (what, error) => context.error(`${what} failed:`, error),
      reportRefusal: (line) => context.warn(line),
    });
    if (own !== undefined && answer.status === 200) return pageOf(own.path);
    return packed(answer, accepted);
  };
}

/** Set by fronts that pass on the target as it was sent. Whoever sends one himself can only have his request refused. */
const SENT_TARGETS = ['x-original-url', 'x-waws-unencoded-url'];

/** The request's own URL is normalised already, so the parameter that the host has matched is compared with it. */
function pathIn({ params, headers }: HttpRequest, below: string | undefined): string | undefined {
  const matched = params['path'];
  const sent = SENT_TARGETS.flatMap((name) => headers.get(name) ?? []);
  // An unknown prefix. The host has decoded what it matched.
  const normalised = below ?? matched?.split('/').map(encodeURIComponent).join('/') ?? '';
  return plainPath({ normalised, matched, sent });
}

/** Smaller bodies are hardly smaller when compressed. */
const COMPRESS_FROM = 16_384;
const compress = promisify(gzip);

/** An answer for the host. A list of 1,000 jobs has 3.5 MB, and 0.1 MB compressed, which takes 10 ms. */
async function packed({ status, headers, body }: ManageAnswer, accepted: string): Promise<HttpResponseInit> {
  if (body === undefined) return { status, headers: { ...headers } };
  if (body.length < COMPRESS_FROM || !takesGzip(accepted)) return { status, headers: { ...headers }, body };
  const bytes = await compress(body, { level: constants.Z_BEST_SPEED });
  return { status, headers: { ...headers, 'content-encoding': 'gzip', vary: 'accept-encoding' }, body: bytes };
}

function takesGzip(acceptEncoding: string): boolean {
  return /(^|[,\s])gzip\s*(,|;\s*q=(?!0(\.0*)?\s*(,|$))|$)/i.test(acceptEncoding);
}

async function load({ coordinators, isReady, access, environment, env }: ManageOptions): Promise<Manage> {
  const { createManage } = await import('../manage/serve.js');
  const { store, jobs, first } = coordinators();
  const { clock, newId, revision, deployment, redact } = first;
  const own = { clock, newId, revision, deployment, redact, version: VERSION, metricsJobs: metricsJobs(env) };
  const { sweepIntervalMs } = first.settings;
  return createManage({ ...own, store, jobs, access, isReady, environment, sweepIntervalMs });
}

/** As the host reads it: `api` unless host.json says otherwise. */
function routePrefix(env: Environment, appFolder: string): string {
  return hostText(env, appFolder, 'extensions', 'http', 'routePrefix')?.replace(/^\/+|\/+$/g, '') ?? 'api';
}

/** The part of a URL's path below `manage/`, still encoded; undefined if the path is not below it. */
function pathBelow(prefix: string): (pathname: string) => string | undefined {
  const head = [...prefix.split('/'), 'manage'].filter((part) => part !== '').map((part) => part.toLowerCase());
  return (pathname) => {
    const parts = pathname.split('/').slice(1);
    const isBelow = head.every((part, index) => parts[index]?.toLowerCase() === part);
    return isBelow ? parts.slice(head.length).join('/') : undefined;
  };
}

interface PageAnswer {
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

const COMMON_HEADERS = {
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
  acceptEncoding: string,
): PageAnswer {
  const headersOf = (type: string) => ({ ...COMMON_HEADERS, 'content-type': type, 'cache-control': 'no-store' });
  if (path === '') {
    const headers = headersOf('text/html; charset=utf-8');
    if (pathname.endsWith('/')) return { status: 200, headers, body: index };
    // Browsers resolve names from the last slash: without it, the page would ask for `jobs` beside `manage`.
    const location = `${pathname.split('/').at(-1) ?? ''}/${search}`;
    return { status: 302, headers: { ...headers, location }, body: '' };
  }
  const name = path.slice(ASSETS.length);
  const file = Object.hasOwn(files, name) ? files[name] : undefined;
  if (file === undefined) {
    // An old page asks for its own file version.
    const headers = headersOf('text/plain; charset=utf-8');
    return { status: 404, headers, body: 'There is no such file. Load the page again.\n' };
  }
  const compressed = Buffer.from(file.gzip, 'base64');
  const headers = {
    ...headersOf(file.type),
    'cache-control': 'public, max-age=31536000, immutable',
    vary: 'accept-encoding',
  };
  if (!takesGzip(acceptEncoding)) return { status: 200, headers, body: gunzipSync(compressed) };
  return { status: 200, headers: { ...headers, 'content-encoding': 'gzip' }, body: compressed };
}
