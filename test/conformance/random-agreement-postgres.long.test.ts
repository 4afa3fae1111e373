import { Client } from 'pg';
import { afterAll, beforeAll } from 'vitest';
import type { StorageServer } from '../../src/local/servers/server';
import { storeAt, testPostgres } from '../support/postgres';
import { randomAgreement } from './random-agreement';

const SCHEMA = 'random';

/**
 * The store names `clock_timestamp()` and `transaction_timestamp()` without a schema. PostgreSQL's own schema comes first
 * unless the search path says otherwise, and here it says so.
 */
const CLOCK = `
create schema fake;
create table fake.clock (now timestamptz not null);
insert into fake.clock values (to_timestamp(0));
create function fake.clock_timestamp() returns timestamptz language sql volatile as 'select now from fake.clock';
create function fake.transaction_timestamp() returns timestamptz language sql volatile as 'select now from fake.clock';
alter database postgres set search_path = fake, pg_catalog;`;

let server: StorageServer;
let admin: Client;
beforeAll(async () => {
  server = await testPostgres();
  admin = new Client(server.url);
  await admin.connect();
  await admin.query(CLOCK);
  await storeAt({ url: server.url, schema: SCHEMA }).prepare();
});
afterAll(async () => {
  await admin.end();
  await server.stop();
});

randomAgreement({
  name: 'PostgreSQL',
  setClock: async (now) => {
    await admin.query('update fake.clock set now = to_timestamp($1::float8 / 1000)', [now]);
  },
  async withEmpty(use) {
    const tables = await admin.query<{ table: string }>(
      `select string_agg(format('%I.%I', schemaname, tablename), ', ') as table from pg_tables
       where schemaname = $1 and tablename <> 'tables'`,
      [SCHEMA],
    );
    await admin.query(`truncate ${tables.rows[0]?.table ?? ''}`);
    await use({
      store: storeAt({ url: server.url, schema: SCHEMA }),
      breakOutside: async (job, periodMs) => {
        await admin.query(
          `update ${SCHEMA}.jobs set breaking = true,
             lease_until = least(lease_until, fake.clock_timestamp() + $2 * interval '1 ms')
           where name = $1 and lease_id is not null`,
          [job, periodMs],
        );
      },
    });
  },
});
