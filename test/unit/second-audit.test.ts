import { describe, expect, it, vi } from 'vitest';
import { openSetting } from '../../src/cli/storage';
import { decodeAudit, encodeAudit } from '../../src/core/audit';
import type { JobName } from '../../src/core/brand';
import { type LeaseStore, StoreDeniedError, StoreUnavailableError } from '../../src/lease/store';
import { withSecondAudit } from '../../src/lease/second-audit';
import { checkAudit } from '../../src/operator/doctor/diagnose';
import { readOverview } from '../../src/operator/views/overview';
import { auditedStores, openStore } from '../../src/stores/open';
import { memoryService } from '../../src/stores/memory/store';
import { settableClock } from '../../src/testing/clock';
import { jobSpec } from '../support/job';
import { manageBench, type ManageBench } from '../support/manage';

const pause = { method: 'POST', path: 'jobs/a/pause', body: { note: 'moving' }, as: 'operator' } as const;
const ANN = { actor: 'ann', channel: 'key' } as const;
const clock = settableClock();

/** A place that accepts each key once, and nothing that changes or deletes, as a container with a policy does. */
function immutable(changes: Partial<LeaseStore> = {}): LeaseStore & { readonly refused: string[] } {
  const inner = memoryService(clock).open();
  const refused: string[] = [];
  return {
    ...inner,
    location: 'https://audit/cronlease',
    refused,
    async writeAudit(key, metadata, ifMatch, options) {
      if (ifMatch !== undefined) refused.push(key);
      return ifMatch === undefined ? inner.writeAudit(key, metadata, undefined, options) : { kind: 'refused' };
    },
    ...changes,
  };
}

async function statesIn(store: LeaseStore): Promise<readonly string[]> {
  const { audits } = await store.listAudits({ limit: 10 });
  return audits.map(({ metadata }) => decodeAudit(metadata).state).toSorted();
}

async function benchWith(second: LeaseStore): Promise<ManageBench> {
  const inner: { store?: LeaseStore } = {};
  const made = manageBench(
    { jobs: [jobSpec('a', '@daily')], deployments: 1 },
    {
      store: {
        writeAudit: async (...args) => {
          if (inner.store === undefined) throw new Error('there is no store yet');
          return withSecondAudit(inner.store, second).writeAudit(...args);
        },
      },
    },
  );
  inner.store = made.sim.store;
  await made.sim.clock.advance(20_000);
  return made;
}

describe('a second place of audit entries', () => {
  it('has the beginning and the end of each change, each as an entry that nobody changes', async () => {
    const second = immutable();
    const { sim, send } = await benchWith(second);
    expect((await send(pause)).json).toMatchObject({ recorded: true });
    expect(await statesIn(second)).toEqual(['begun', 'done']);
    expect(second.refused).toEqual([]);
    expect(await statesIn(sim.store)).toEqual(['done']);
    expect((await send(pause)).status).toBe(409);
    expect(await statesIn(second)).toEqual(['begun', 'begun', 'done', 'refused']);
  });

  it('refuses the change, by its name, if the beginning cannot be written there', async () => {
    const second = immutable({ writeAudit: () => Promise.reject(new StoreDeniedError('403')) });
    const { sim, send } = await benchWith(second);
    expect((await send(pause)).json).toMatchObject({ status: 503, code: 'NotRecorded' });
    expect(await statesIn(sim.store)).toEqual([]);
    expect((await sim.store.readControl('a' as JobName)).control).toBeUndefined();
    const at = sim.clock.now();
    const entry = encodeAudit({ at, origin: ANN, action: 'pause', target: 'a', state: 'begun' });
    await expect(withSecondAudit(sim.store, second).writeAudit('1', entry, undefined)).rejects.toThrow(
      'https://audit/cronlease (CRONLEASE_AUDIT) did not take the entry: 403',
    );
  });

  it('keeps planned work that it cannot record the end of', async () => {
    let isDown = false;
    const inner = immutable();
    const second = immutable({
      writeAudit: (...entry) => (isDown ? Promise.reject(new StoreDeniedError('403')) : inner.writeAudit(...entry)),
    });
    const { sim, send } = await benchWith(second);
    const many = { method: 'POST', body: { tag: 'none', maintenance: 'a' }, as: 'operator' } as const;
    await send({ ...many, path: 'pause', body: { jobs: ['a'], note: 'new database' } });
    isDown = true;
    expect((await send({ ...many, path: 'resume' })).json).toMatchObject({ status: 503, code: 'NotRecorded' });
    const planned = async (): Promise<readonly unknown[]> => (await readOverview(sim.store, [])).maintenance;
    expect(await planned()).toMatchObject([{ jobs: 'a', note: 'new database' }]);
    isDown = false;
    expect((await send({ ...many, path: 'resume' })).json).toEqual({ done: [], refused: [] });
    expect(await planned()).toEqual([]);
  });

  it('shows in the answer that the end could not be written there', async () => {
    const inner = immutable();
    const second = immutable({
      writeAudit: (key, metadata, ...rest) =>
        decodeAudit(metadata).state === 'begun'
          ? inner.writeAudit(key, metadata, ...rest)
          : Promise.reject(new StoreUnavailableError('503')),
    });
    const { send } = await benchWith(second);
    expect((await send(pause)).json).toMatchObject({ recorded: false });
  });
});

describe('the setting CRONLEASE_AUDIT', () => {
  const JOBS = { CRONLEASE_STORAGE: 'UseDevelopmentStorage=true' };
  const open = (settings: Record<string, string>): readonly LeaseStore[] => {
    const connection = { settings: { ...JOBS, ...settings }, container: undefined, clock };
    return auditedStores(connection, [openStore(connection)]);
  };

  it('is another place, and an error names it', () => {
    expect(open({ CRONLEASE_AUDIT: '' })).toHaveLength(1);
    expect(open({ CRONLEASE_AUDIT__blobServiceUri: 'https://a.blob.core.windows.net' })).toHaveLength(1);
    expect(() => open({ CRONLEASE_AUDIT: 'UseDevelopmentStorage=true' })).toThrow(/CRONLEASE_AUDIT .* same place/);
    expect(() => open({ CRONLEASE_AUDIT: 'nonsense' })).toThrow(/CRONLEASE_AUDIT/);
    expect(() => open({ CRONLEASE_AUDIT__credential: 'managedidentity' })).toThrow(/CRONLEASE_AUDIT/);
  });

  it.each([
    'CRONLEASE_AUDIT__accountName',
    'CRONLEASE_AUDIT__serviceUri',
    'CRONLEASE_AUDIT_blobServiceUri',
    'Cronlease_Audit',
  ])('is not left out without a word where it has another name: %s', (name) => {
    expect(() => open({ [name]: 'https://a.blob.core.windows.net' })).toThrow(
      new RegExp(`set.*${name}|${name} is set`),
    );
    expect(open({ [name]: '' })).toHaveLength(1);
  });
});

describe('a store that a setting names', () => {
  it('has the second place too', () => {
    vi.stubEnv('OLD_STORE', 'UseDevelopmentStorage=true');
    vi.stubEnv('CRONLEASE_AUDIT', 'UseDevelopmentStorage=true');
    expect(() => openSetting('OLD_STORE', undefined)).toThrow(/CRONLEASE_AUDIT .* same place/);
    vi.unstubAllEnvs();
  });
});

describe('doctor', () => {
  it('says whether the second place answers', async () => {
    expect(await checkAudit(undefined)).toEqual([]);
    expect(await checkAudit(immutable())).toMatchObject([
      {
        check: 'audit',
        status: 'ok',
        message: 'https://audit/cronlease (CRONLEASE_AUDIT) answers; it has no entry yet',
      },
    ]);
    const [denied] = await checkAudit(immutable({ listAudits: () => Promise.reject(new StoreDeniedError('no role')) }));
    expect(denied).toMatchObject({ status: 'problem', message: 'https://audit/cronlease (CRONLEASE_AUDIT): no role' });
    const silent = immutable({ listAudits: () => Promise.reject(new StoreUnavailableError('no answer')) });
    expect(await checkAudit(silent)).toMatchObject([{ status: 'problem', remedy: expect.stringContaining('refused') }]);
  });
});
