import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { type CallJob, runJob } from '../../src/testing/index';

const page = readFileSync(path.join(__dirname, '../../examples/calls.md'), 'utf8');

interface Recipe extends CallJob {
  readonly timeout?: string;
}

const recipes: Readonly<Record<string, Recipe>> = Object.fromEntries(
  [...page.matchAll(/^```json\n(.*?)^```/gms)].flatMap(([, code = '']) =>
    Object.entries((JSON.parse(code) as { readonly jobs: Readonly<Record<string, Recipe>> }).jobs),
  ),
);

const SETTINGS = {
  BILLING_KEY: 'key-of-the-function',
  BILLING_DURABLE_KEY: 'key-of-durable==',
  SUBSCRIPTION: '34adfa4f-cedf-4dc0-ba29-b6d1a69ab345',
  LOGIC_APP_URL:
    'https://prod-03.westus.logic.azure.com:443/workflows/c4ed9335/triggers/manual/paths/invoke?api-version=2016-10-01&sp=%2Ftriggers%2Fmanual%2Frun&sv=1.0&sig=abc',
  GITHUB_TOKEN: 'github_pat_abc',
  CHECK_ID: '5f0e5d5c-9d3f-4d1c-8f2e-0b6d4f0e5d5c',
};

const DURABLE = 'https://billing.azurewebsites.net/runtime/webhooks/durabletask';
const ARM = `https://management.azure.com/subscriptions/${SETTINGS.SUBSCRIPTION}/resourceGroups/billing/providers`;
const START = `${ARM}/Microsoft.App/locations/westeurope/containerappsjobOperationResults/1?api-version=2026-07-01`;
const JSON_TYPE = 'content-type: application/json';
const DAY = '{"day":"2026-03-05"}';

interface Case {
  /** The request: its first line, the headers that differ with the recipe, an empty line and its body. */
  readonly request: readonly string[];
  /** The documented answers: that to the call, and those to looks at its operation. */
  readonly answers: readonly Response[];
  readonly result?: unknown;
  /** The requests after the first. */
  readonly looks?: readonly string[];
}

const json = (value: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Response =>
  new Response(JSON.stringify(value), {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
  });
const empty = (status: number, headers: Readonly<Record<string, string>> = {}): Response =>
  new Response(null, { status, headers });
const token = (audience: string): string => `authorization: Bearer token-for-${audience}`;

const CASES: Readonly<Record<string, Case>> = {
  'close-by-key': {
    request: [
      'POST https://billing.azurewebsites.net/api/close',
      JSON_TYPE,
      'x-functions-key: key-of-the-function',
      '',
      DAY,
    ],
    answers: [json({ closed: 3 })],
    result: { closed: 3 },
  },
  'close-by-identity': {
    request: ['POST https://billing.azurewebsites.net/api/close', token('api://billing'), JSON_TYPE, '', DAY],
    answers: [json({ closed: 3 })],
    result: { closed: 3 },
  },
  'close-orchestrated': {
    request: [
      `POST ${DURABLE}/orchestrators/close/close-orchestrated-20260305T030000Z-1?code=key-of-durable==`,
      JSON_TYPE,
      '',
      DAY,
    ],
    answers: [
      json(
        {
          id: 'close-orchestrated-20260305T030000Z-1',
          statusQueryGetUri: `${DURABLE}/instances/x?taskHub=Billing&connection=Storage&code=key`,
          sendEventPostUri: `${DURABLE}/instances/x/raiseEvent/{eventName}?taskHub=Billing&connection=Storage&code=key`,
          terminatePostUri: `${DURABLE}/instances/x/terminate?reason={text}&taskHub=Billing&connection=Storage&code=key`,
          purgeHistoryDeleteUri: `${DURABLE}/instances/x?taskHub=Billing&connection=Storage&code=key`,
        },
        202,
        { location: `${DURABLE}/instances/x?taskHub=Billing&connection=Storage&code=key`, 'retry-after': '10' },
      ),
      json({ runtimeStatus: 'Running', input: {}, customStatus: null, output: null }, 202, { 'retry-after': '10' }),
      json({ runtimeStatus: 'Completed', output: { closed: 3 } }),
    ],
    result: { closed: 3 },
    looks: Array<string>(2).fill(`GET ${DURABLE}/instances/x?taskHub=Billing&connection=Storage&code=key`),
  },
  'run-container': {
    request: [
      `POST ${ARM}/Microsoft.App/jobs/close/start?api-version=2026-07-01`,
      token('https://management.azure.com'),
      '',
      '',
    ],
    answers: [
      empty(202, { location: START, 'retry-after': '5' }),
      json({ name: 'close-abc', id: '/x/executions/close-abc' }),
    ],
    result: { name: 'close-abc', id: '/x/executions/close-abc' },
    looks: [`GET ${START}`],
  },
  'run-pipeline': {
    request: [
      `POST ${ARM}/Microsoft.DataFactory/factories/billing/pipelines/close/createRun?api-version=2018-06-01`,
      token('https://management.azure.com'),
      JSON_TYPE,
      '',
      DAY,
    ],
    answers: [json({ runId: '2f7fdb90-5df1-4b8e-ac2f-064cfa58202b' })],
    result: { runId: '2f7fdb90-5df1-4b8e-ac2f-064cfa58202b' },
  },
  'run-runbook': {
    request: [
      `PUT ${ARM}/Microsoft.Automation/automationAccounts/billing/jobs/run-runbook-20260305T030000Z?api-version=2023-11-01`,
      token('https://management.azure.com'),
      JSON_TYPE,
      '',
      '{"properties":{"runbook":{"name":"Close"},"parameters":{"day":"2026-03-05"}}}',
    ],
    answers: [json({ name: 'run-runbook-20260305T030000Z', properties: { status: 'New' } }, 201)],
    result: { name: 'run-runbook-20260305T030000Z', properties: { status: 'New' } },
  },
  'queue-message': {
    request: [
      'POST https://billing.queue.core.windows.net/close/messages',
      token('https://storage.azure.com'),
      'content-type: application/xml',
      'x-ms-version: 2023-11-03',
      '',
      '<QueueMessage><MessageText>2026-03-05</MessageText></QueueMessage>',
    ],
    answers: [new Response('<QueueMessagesList/>', { status: 201, headers: { 'content-type': 'application/xml' } })],
  },
  'bus-message': {
    request: [
      'POST https://billing.servicebus.windows.net/close/messages',
      token('https://servicebus.azure.net'),
      'brokerproperties: {"MessageId":"bus-message-20260305T030000Z"}',
      JSON_TYPE,
      '',
      DAY,
    ],
    answers: [empty(201)],
  },
  'grid-event': {
    request: [
      'POST https://billing.westeurope-1.eventgrid.azure.net/api/events?api-version=2018-01-01',
      token('https://eventgrid.azure.net'),
      'content-type: application/cloudevents+json; charset=utf-8',
      '',
      '{"specversion":"1.0","type":"Billing.Close","source":"/cronlease/grid-event","id":"grid-event-20260305T030000Z","time":"2026-03-05T03:00:00.000Z","data":{"day":"2026-03-05"}}',
    ],
    answers: [empty(200)],
  },
  'hub-event': {
    request: [
      'POST https://billing.servicebus.windows.net/closings/messages?timeout=60&api-version=2014-01',
      token('https://eventhubs.azure.net'),
      'content-type: application/atom+xml;type=entry;charset=utf-8',
      '',
      DAY,
    ],
    answers: [empty(201)],
  },
  'logic-app': {
    request: [`POST ${SETTINGS.LOGIC_APP_URL.replace(':443', '')}`, JSON_TYPE, '', DAY],
    answers: [
      empty(202, {
        location: 'https://prod-03.westus.logic.azure.com/workflows/c4ed9335/runs/1/operations/2?sig=d',
        'retry-after': '10',
      }),
      json({ closed: 3 }),
    ],
    result: { closed: 3 },
    looks: ['GET https://prod-03.westus.logic.azure.com/workflows/c4ed9335/runs/1/operations/2?sig=d'],
  },
  'github-workflow': {
    request: [
      'POST https://api.github.com/repos/example/billing/actions/workflows/close.yml/dispatches',
      'accept: application/vnd.github+json',
      'authorization: Bearer github_pat_abc',
      JSON_TYPE,
      'x-github-api-version: 2022-11-28',
      '',
      '{"ref":"main","inputs":{"day":"2026-03-05"}}',
    ],
    answers: [empty(204)],
  },
  healthcheck: {
    request: [`GET https://hc-ping.com/${SETTINGS.CHECK_ID}`, '', ''],
    answers: [new Response('OK', { headers: { 'content-type': 'text/plain' } })],
  },
};

/** What each call has, whatever its recipe. */
const OF_ALL =
  /^(?:accept: application\/json, \*\/\*;q=0\.5|date: .*|user-agent: cronlease|idempotency-key: .*|x-cronlease-.*)$/;

function written(url: string, init: RequestInit): string[] {
  const headers = Object.entries(init.headers as Readonly<Record<string, string>>).map(
    ([name, value]) => `${name}: ${value}`,
  );
  const body = typeof init.body === 'string' ? init.body : '';
  return [`${init.method ?? ''} ${url}`, ...headers.filter((line) => !OF_ALL.test(line)).toSorted(), '', body];
}

it('the page has a recipe for each case', () => {
  expect(Object.keys(recipes).toSorted()).toEqual(Object.keys(CASES).toSorted());
});

it.each(Object.entries(CASES))(
  'the recipe %s sends what its service documents, and takes its answer',
  async (name, { request, answers, result, looks = [] }) => {
    const { call, timeout } = recipes[name] ?? {};
    if (call === undefined) throw new Error(`no recipe ${name}`);
    const sent: string[][] = [];
    const waiting = [...answers];
    const done = await runJob(
      { call },
      {
        job: name,
        scheduledFor: '2026-03-05T03:00:00Z',
        appSettings: SETTINGS,
        ...(timeout !== undefined && { settings: { timeout } }),
        fetch: async (url, init = {}) => {
          sent.push(written(new Request(url, init).url, init));
          return waiting.shift() ?? empty(500);
        },
      },
    );
    expect(sent[0]).toEqual(request);
    expect(sent.slice(1).map(([line]) => line)).toEqual(looks);
    expect(done).toMatchObject({ outcome: 'succeeded' });
    expect('result' in done ? done.result : undefined).toEqual(result);
    expect(waiting).toEqual([]);
  },
);
