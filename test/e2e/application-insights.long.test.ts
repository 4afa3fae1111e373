import { readFileSync } from 'node:fs';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { coordinatedApp } from '../support/coordinated';
import { endAll, startDev } from '../support/dev-run';
import { buildLocal } from '../support/local-build';

const PATIENCE = { timeout: 40_000, interval: 100 };
const KEY = '11111111-2222-3333-4444-555555555555';

/** An envelope of Application Insights, as far as this test reads it. */
interface Envelope {
  readonly name: string;
  readonly iKey: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly data: {
    readonly baseType: string;
    readonly baseData: {
      readonly name?: string;
      readonly id?: string;
      readonly type?: string;
      readonly success?: boolean;
      readonly metrics?: readonly { readonly name: string; readonly value: number; readonly count?: number }[];
      readonly properties?: Readonly<Record<string, string>>;
    };
  };
}

const envelopes: Envelope[] = [];
const paths = new Set<string>();
/** Only for this machine: the exporter does not connect without TLS. */
const certificate = path.join(__dirname, '../support/certificate');
let server: https.Server;

beforeAll(async () => {
  const tls = {
    key: readFileSync(path.join(certificate, 'key.pem')),
    cert: readFileSync(path.join(certificate, 'certificate.pem')),
  };
  server = https.createServer(tls, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks);
      const text = (request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body).toString('utf8');
      paths.add(`${String(request.method)} ${String(request.url)}`);
      const batch = JSON.parse(text) as readonly Envelope[];
      envelopes.push(...batch);
      const answer = { itemsReceived: batch.length, itemsAccepted: batch.length, errors: [] };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const app = coordinatedApp(
    {
      often: { schedule: '*/2 * * * * *', handler: 'mark' },
      refused: { schedule: '*/5 * * * * *', handler: 'giveUp' },
    },
    { exports: true },
  );
  const env = {
    APPLICATIONINSIGHTS_CONNECTION_STRING: `InstrumentationKey=${KEY};IngestionEndpoint=https://127.0.0.1:${String(port)}/`,
    NODE_EXTRA_CA_CERTS: path.join(certificate, 'certificate.pem'),
    // Nothing of this test is for Microsoft.
    APPLICATION_INSIGHTS_NO_STATSBEAT: 'true',
    OTEL_METRIC_EXPORT_INTERVAL: '1000',
    OTEL_BSP_SCHEDULE_DELAY: '200',
  };
  await startDev(buildLocal(), { app: app.folder, instances: 1 }, { ...app.env, ...env }).ready();
});
afterAll(() => {
  endAll();
  server.close();
  server.closeAllConnections();
});

const ofType = (type: string): readonly Envelope['data']['baseData'][] =>
  envelopes.filter(({ data }) => data.baseType === type).map(({ data }) => data.baseData);

describe('an app with a connection string of Application Insights', () => {
  it('sends its metrics there, with their attributes', async () => {
    await vi.waitFor(() => {
      const metrics = ofType('MetricData');
      const find = (name: string) => metrics.filter((data) => data.metrics?.some((metric) => metric.name === name));
      expect(find('cronlease.runs').map(({ properties }) => properties)).toContainEqual(
        expect.objectContaining({ 'cronlease.job': 'often', 'cronlease.outcome': 'succeeded' }),
      );
      expect(find('cronlease.job.last_success.age')).not.toEqual([]);
      expect(find('cronlease.storage.call.duration')[0]?.metrics?.[0]?.count).toBeGreaterThan(0);
    }, PATIENCE);
    expect([...paths]).toEqual([expect.stringMatching(/^POST \/v2(\.1)?\/track$/)]);
    expect(new Set(envelopes.map(({ iKey }) => iKey))).toEqual(new Set([KEY]));
  });

  it('sends spans that are no requests, since the host counts those', async () => {
    await vi.waitFor(() => {
      const runs = ofType('RemoteDependencyData').filter(({ name }) => name === 'cronlease.run');
      expect(runs.map(({ properties, success }) => [properties?.['cronlease.job'], success])).toEqual(
        expect.arrayContaining([
          ['often', true],
          ['refused', false],
        ]),
      );
      const kinds = new Set(ofType('RemoteDependencyData').map(({ type }) => type));
      expect(kinds).toEqual(new Set(['Dependency', 'InProc']));
      const types = new Set(envelopes.map(({ data }) => data.baseType));
      expect(types).toEqual(new Set(['MetricData', 'RemoteDependencyData']));
    }, PATIENCE);
    const attempts = (): readonly Envelope[] =>
      envelopes.filter(({ data }) => data.baseData.name === 'cronlease.attempt');
    await vi.waitFor(() => expect(attempts()).not.toEqual([]), PATIENCE);
    const [first] = attempts();
    expect(first?.tags['ai.operation.id']).toMatch(/^[0-9a-f]{32}$/);
    expect(first?.tags['ai.cloud.role']).toBe('cronlease');
  });
});
