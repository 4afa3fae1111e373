import fc from 'fast-check';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LeaseStore } from '../../src/lease/store';
import type { Postgres } from '../../src/local/cluster/postgres';
import { memoryService } from '../../src/stores/memory/store';
import { storeAt, testPostgres } from '../support/postgres';
import { type Call, sequences } from './random-calls';
import { faultsOf } from './random-faults';
import { play, type Sides } from './random-play';

const { RANDOM_SEQUENCES = '300', RANDOM_SEED, RANDOM_PATH } = process.env;
const SEQUENCES = Number(RANDOM_SEQUENCES);
/** Of a failure, as it was printed. */
const REPLAY = {
  ...(RANDOM_SEED !== undefined && { seed: Number(RANDOM_SEED) }),
  ...(RANDOM_PATH !== undefined && { path: RANDOM_PATH }),
};
/** On a machine that is very busy a part must do. */
const TIME_LIMIT_MS = 60_000;
const SCHEMA = 'random';

let server: Postgres;
let admin: Client;
let store: LeaseStore & Required<Pick<LeaseStore, 'breakLease'>>;
let now = Date.UTC(2026, 0, 1);

/**
 * The store names `clock_timestamp()` without a schema. PostgreSQL's own schema comes first unless the search path says
 * otherwise, and here it says so.
 */
const CLOCK = `
create schema fake;
create table fake.clock (now timestamptz not null);
insert into fake.clock values (to_timestamp(0));
create function fake.clock_timestamp() returns timestamptz language sql volatile as 'select now from fake.clock';
alter database postgres set search_path = fake, pg_catalog;`;

async function pass(ms: number): Promise<void> {
  now += ms;
  await admin.query('update fake.clock set now = to_timestamp($1::float8 / 1000)', [now]);
}

beforeAll(async () => {
  server = await testPostgres();
  admin = new Client(server.url);
  await admin.connect();
  await admin.query(CLOCK);
  await pass(0);
  store = storeAt({ url: server.url, schema: SCHEMA });
  await store.prepare();
});
afterAll(async () => {
  await admin.end();
  await server.stop();
});

async function sides(spoil = (memory: LeaseStore): Partial<LeaseStore> => memory): Promise<Sides> {
  const tables = await admin.query<{ table: string }>(
    `select string_agg(format('%I.%I', schemaname, tablename), ', ') as table from pg_tables
     where schemaname = $1 and tablename <> 'tables'`,
    [SCHEMA],
  );
  await admin.query(`truncate ${tables.rows[0]?.table ?? ''}`);
  const service = memoryService({ now: () => now, monotonic: () => now, after: () => () => undefined });
  const memory = service.open();
  return {
    now: () => now,
    pass,
    memory: {
      store: { ...memory, ...spoil(memory) },
      breakOutside: async (job, periodMs) => {
        service.breakLease(job, periodMs);
      },
    },
    other: {
      store,
      breakOutside: async (job, periodMs) => {
        await admin.query(
          `update ${SCHEMA}.jobs set breaking = true,
             lease_until = least(lease_until, fake.clock_timestamp() + $2 * interval '1 ms')
           where name = $1 and lease_id is not null`,
          [job, periodMs],
        );
      },
    },
  };
}

describe('memory and PostgreSQL', () => {
  it(`answer alike in ${String(SEQUENCES)} random sequences`, async () => {
    const property = fc.asyncProperty(sequences, async (calls: Call[]) => {
      expect(await play(calls, await sides(), [])).toEqual([]);
    });
    await fc.assert(property, { numRuns: SEQUENCES, interruptAfterTimeLimit: TIME_LIMIT_MS, ...REPLAY });
  });
});

describe('a fault in memory is seen', () => {
  for (const [title, spoil] of Object.entries(faultsOf(() => now))) {
    it(
      title,
      async () => {
        const property = fc.asyncProperty(sequences, async (calls: Call[]) => {
          await play(calls, await sides(spoil), []);
        });
        // It ends with the first that sees it, and those are far more frequent.
        const { failed } = await fc.check(property, { numRuns: 10 * SEQUENCES, endOnFailure: true });
        expect(failed).toBe(true);
      },
      300_000,
    );
  }
});
