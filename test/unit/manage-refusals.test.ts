import { describe, expect, it } from 'vitest';
import { createManage, type ManageRequest } from '../../src/manage/serve';
import { jobSpec } from '../support/job';
import { manageBench } from '../support/manage';

function bench() {
  const { desk, sim } = manageBench({ jobs: [jobSpec('a', '@hourly')], deployments: 1 });
  const manage = createManage(desk);
  const lines: string[] = [];
  const knock = (address: string): ReturnType<typeof manage> => {
    const headers: Record<string, string> = {
      ...{ host: 'app.example.net', 'x-forwarded-for': `1.1.1.1, ${address}` },
    };
    const request: ManageRequest = {
      ...{ method: 'GET', path: 'me', query: new URLSearchParams(), header: (name) => headers[name] },
      ...{ body: () => Promise.resolve(new Uint8Array()), poke: () => Promise.resolve(undefined) },
      reportBug: (_what, error) => {
        throw error;
      },
      reportRefusal: (line) => void lines.push(line),
    };
    return manage(request);
  };
  return { sim, knock, lines };
}

describe('a refused request', () => {
  it('is counted and logged, 20 lines a minute', async () => {
    const { sim, knock, lines } = bench();
    for (let n = 0; n < 30; n += 1) await knock('[2001:db8::1]:4711');
    expect(lines).toHaveLength(20);
    expect(lines[0]).toBe('refused 401 NotAuthenticated: GET me from [2001:db8::1]:4711, 1 since the start');
    await sim.clock.advance(60_000);
    await knock('what\u001b[31m');
    expect(lines[20]).toBe('refused 401 NotAuthenticated: GET me from unknown, 31 since the start');
  });
});
