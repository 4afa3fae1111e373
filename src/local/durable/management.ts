import type http from 'node:http';
import { isSameOrigin } from '../../core/http-request';
import { readBody, type RequestHandler, sendJson } from '../host/http-server';
import { type Hub, InstanceExistsError } from './hub';
import { type Instance, InvalidRequestError, isFinished } from './instances';

/** Path of the Durable extension's HTTP API on the host. */
export const DURABLE_PATH = '/runtime/webhooks/durabletask';

/** The links to manage one orchestration instance over HTTP. */
function managementUrls(baseUrl: string, instanceId: string, hubName: string): Record<string, string> {
  const instance = `${baseUrl}/instances/${encodeURIComponent(instanceId)}`;
  const query = `taskHub=${encodeURIComponent(hubName)}&connection=Storage`;
  return {
    id: instanceId,
    statusQueryGetUri: `${instance}?${query}`,
    sendEventPostUri: `${instance}/raiseEvent/{eventName}?${query}`,
    terminatePostUri: `${instance}/terminate?reason={text}&${query}`,
    purgeHistoryDeleteUri: `${instance}?${query}`,
  };
}

/**
 * The content of a durable client input: the addresses at which the client of `durable-functions` finds the hub.
 * @param origin - the host's own, such as `http://127.0.0.1:7071`
 */
export function durableClientInput(origin: string, hubName: string): string {
  const baseUrl = origin + DURABLE_PATH;
  const create = `${baseUrl}/orchestrators/{functionName}[/{instanceId}]`;
  return JSON.stringify({
    taskHubName: hubName,
    creationUrls: {
      createNewInstancePostUri: create,
      createAndWaitOnNewInstancePostUri: `${create}?timeout={timeoutInSeconds}&pollingInterval={intervalInSeconds}`,
    },
    managementUrls: managementUrls(baseUrl, 'INSTANCEID', hubName),
    baseUrl,
    requiredQueryStringParameters: '',
    // The final slash matters: the client resolves its paths against this URL.
    rpcBaseUrl: `${baseUrl}/`,
    httpBaseUrl: baseUrl,
  });
}

/** One call of the served part of the extension's HTTP API. */
interface Call {
  readonly request: http.IncomingMessage;
  readonly response: http.ServerResponse;
  readonly url: URL;
}

/** ISO 8601 to the second, as in the extension. */
function isoSeconds(at: number): string {
  return new Date(at).toISOString().replace(/\.\d+/, '');
}

function parse(json: string | undefined): unknown {
  return json === undefined ? null : (JSON.parse(json) as unknown);
}

function toStatus(instance: Instance, options: { readonly input: boolean; readonly history: boolean }): object {
  return {
    name: instance.name,
    instanceId: instance.id,
    runtimeStatus: instance.status,
    input: options.input ? parse(instance.input) : null,
    customStatus: parse(instance.customStatus),
    output: parse(instance.output),
    createdTime: isoSeconds(instance.createdAt),
    lastUpdatedTime: isoSeconds(instance.updatedAt),
    historyEvents: options.history ? instance.history : null,
  };
}

/** Whether an instance meets `createdTimeFrom`, `createdTimeTo` and `runtimeStatus` of a query. */
function filterOf(query: URLSearchParams): (instance: Instance) => boolean {
  const from = Date.parse(query.get('createdTimeFrom') ?? '');
  const to = Date.parse(query.get('createdTimeTo') ?? '');
  const statuses = query.getAll('runtimeStatus').flatMap((list) => list.split(','));
  return ({ createdAt, status }) =>
    !(createdAt < from) && !(createdAt > to) && (statuses.length === 0 || statuses.includes(status));
}

function sendError(response: http.ServerResponse, error: unknown): true {
  const { message, name } = error as Error;
  if (error instanceof InvalidRequestError || error instanceof SyntaxError) {
    const Message = 'One or more of the arguments submitted is incorrect';
    return sendJson(response, 400, { Message, ExceptionMessage: message, ExceptionType: 'System.ArgumentException' });
  }
  const Message = 'Something went wrong while processing your request';
  const ExceptionType =
    error instanceof InstanceExistsError ? 'DurableTask.Core.Exceptions.OrchestrationAlreadyExistsException' : name;
  return sendJson(response, 500, { Message, ExceptionMessage: message, ExceptionType });
}

async function readJsonText(request: http.IncomingMessage): Promise<string> {
  const text = (await readBody(request)).toString('utf8');
  if (text === '') return 'null';
  JSON.parse(text);
  return text;
}

/** `orchestrators/{functionName}/{instanceId?}` */
async function start(hub: Hub, hubName: string, { request, response, url }: Call, names: string[]): Promise<true> {
  const [functionName = '', instanceId] = names;
  if (request.method !== 'POST' || names.length > 2) return sendJson(response, 404, undefined);
  const instance = hub.start(functionName, instanceId === '' ? undefined : instanceId, await readJsonText(request));
  const links = managementUrls(url.origin + DURABLE_PATH, instance.id, hubName);
  return sendJson(response, 202, links, { location: links['statusQueryGetUri'], 'retry-after': '10' });
}

/** `instances` */
function all(hub: Hub, { request, response, url }: Call): true {
  const found = Array.from(hub.list()).filter(filterOf(url.searchParams));
  if (request.method === 'GET') {
    const input = url.searchParams.get('showInput') !== 'false';
    const statuses = found.map((instance) => toStatus(instance, { input, history: false }));
    return sendJson(response, 200, statuses);
  }
  if (request.method !== 'DELETE') return sendJson(response, 404, undefined);
  if (Number.isNaN(Date.parse(url.searchParams.get('createdTimeFrom') ?? ''))) {
    return sendJson(response, 400, "Please provide value for 'createdTimeFrom' parameter.");
  }
  const purged = found.filter((instance) => hub.purge(instance.id)).length;
  return sendJson(response, purged === 0 ? 404 : 200, purged === 0 ? undefined : { instancesDeleted: purged });
}

/** `instances/{instanceId}/…` */
async function one(hub: Hub, { request, response, url }: Call, names: readonly string[]): Promise<true> {
  const [instanceId = '', operation, eventName] = names;
  const instance = hub.get(instanceId);
  if (instance === undefined) return sendJson(response, 404, undefined);
  const finished = isFinished(instance.status);
  const query = url.searchParams;
  switch (`${request.method} ${operation ?? ''}`) {
    case 'GET ': {
      const options = { input: query.get('showInput') !== 'false', history: query.get('showHistory') === 'true' };
      return sendJson(response, finished ? 200 : 202, toStatus(instance, options));
    }
    case 'DELETE ':
      return sendJson(response, 200, { instancesDeleted: hub.purge(instanceId) ? 1 : 0 });
    case 'POST terminate':
      hub.terminate(instanceId, query.get('reason') ?? '');
      return sendJson(response, finished ? 410 : 202, undefined);
    case 'POST raiseEvent':
      hub.raiseEvent(instanceId, eventName ?? '', await readJsonText(request));
      return sendJson(response, finished ? 410 : 202, undefined);
  }
  const call = `'${request.method} ${operation}' of an instance`;
  return sendJson(response, 501, `The embedded host does not support ${call}. ${CORE_TOOLS}`);
}

/** `entities/{name}/{key}` */
async function entity(hub: Hub, { request, response, url }: Call, [name = '', key = '']: string[]): Promise<true> {
  if (name !== '' && key !== '' && request.method === 'GET') {
    const found = hub.readEntity({ name, key });
    return sendJson(response, found === undefined ? 404 : 200, parse(found));
  }
  if (name !== '' && key !== '' && request.method === 'POST') {
    const text = (await readBody(request)).toString('utf8');
    if (text !== '') JSON.parse(text);
    hub.signalEntity({ name, key }, url.searchParams.get('op') ?? '', text);
    return sendJson(response, 202, undefined);
  }
  return sendJson(response, 501, `The embedded host does not list or purge entities. ${CORE_TOOLS}`);
}

const CORE_TOOLS = 'Use Azure Functions Core Tools for it.';

/** Rejects a web page whose host name was pointed at this machine: it sends that name as its host. */
function isLoopback(host: string | undefined): boolean {
  return /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/i.test(host ?? '');
}

/** Why a request is refused, whatever it asks for: no web page may manage orchestrations, not even by a plain form. */
function refusalOf({ method, headers }: http.IncomingMessage): string | undefined {
  const header = (name: string): string | undefined => headers[name]?.toString();
  if (!isLoopback(headers.host)) return 'The embedded host is managed from this machine only: use http://127.0.0.1.';
  // What a person opens by its address comes from no page.
  const isOpened = method === 'GET' && header('sec-fetch-site') === 'none';
  if (isOpened || isSameOrigin(header)) return undefined;
  return 'The embedded host is not managed by web pages of other sites: call it from a program.';
}

function pathSegment(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (cause) {
    throw new InvalidRequestError(`the path has a segment that encodes nothing: ${text}`, { cause });
  }
}

/** Serves the hub to the client of `durable-functions`: start, status, purge, terminate, events, entities. */
export function serveHub(hub: Hub, hubName: string): RequestHandler {
  return async (request, response, url) => {
    if (!url.pathname.startsWith(`${DURABLE_PATH}/`)) return false;
    const refusal = refusalOf(request);
    if (refusal !== undefined) return sendJson(response, 403, refusal);
    const call = { request, response, url };
    try {
      const [collection, ...names] = url.pathname
        .slice(DURABLE_PATH.length + 1)
        .split('/')
        .map(pathSegment);
      if (collection === 'orchestrators') return await start(hub, hubName, call, names);
      if (collection === 'entities') return await entity(hub, call, names);
      if (collection !== 'instances') {
        return sendJson(response, 501, `The embedded host does not serve '${String(collection)}'. ${CORE_TOOLS}`);
      }
      return names.length === 0 || names[0] === '' ? all(hub, call) : await one(hub, call, names);
    } catch (error) {
      return sendError(response, error);
    }
  };
}
