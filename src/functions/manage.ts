import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';
import type { HttpHandler, HttpMethod, HttpRequest, HttpResponseInit, InvocationContext } from '@azure/functions';
import type { Dashboard } from '../dashboard/files';
import type { AccessSettings } from '../manage/access';
import type { Desk } from '../manage/desk';
import type { Manage, ManageAnswer } from '../manage/serve';
import { plainPath } from '../core/http-request';
import type { Poked } from '../core/poked';
import { VERSION } from '../version';
import type { Environment } from './app-settings';
import type { Coordinators } from './coordinators';
import { answerOfDashboard, pathInDashboard } from './dashboard';
import { hostText } from './settings';
import { metricsJobs } from '../telemetry/settings';

/** Every method, so that the API itself answers those that a route does not have. */
export const METHODS: readonly HttpMethod[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

interface ManageOptions {
  readonly coordinators: () => Coordinators;
  readonly isReady: () => Promise<boolean>;
  readonly access: AccessSettings;
  /** The name of the environment, for people. */
  readonly environment: Desk['environment'];
  /** Starts a tick now. */
  readonly poke: (context: InvocationContext) => Promise<Poked | undefined>;
  /** Loads the files of the dashboard. */
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
    const pageOf = async (part: string): Promise<HttpResponseInit> => {
      const accepted = request.headers.get('accept-encoding') ?? undefined;
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
    return packed(answer, request.headers.get('accept-encoding') ?? '');
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
  if (body.length < COMPRESS_FROM || !/\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/.test(accepted)) {
    return { status, headers: { ...headers }, body };
  }
  const bytes = await compress(body, { level: constants.Z_BEST_SPEED });
  return { status, headers: { ...headers, 'content-encoding': 'gzip', vary: 'accept-encoding' }, body: bytes };
}

async function load({ coordinators, isReady, access, environment, env }: ManageOptions): Promise<Manage> {
  const { createManage } = await import('../manage/serve.js');
  const { store, jobs, all } = coordinators();
  const [first] = all;
  if (first === undefined) throw new Error('there is no coordinator');
  const { clock, newId, revision, deployment, settings, redact } = first;
  return createManage({
    store,
    jobs,
    clock,
    newId,
    revision,
    deployment,
    access,
    isReady,
    environment,
    redact,
    version: VERSION,
    sweepIntervalMs: settings.sweepIntervalMs,
    metricsJobs: metricsJobs(env),
  });
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
