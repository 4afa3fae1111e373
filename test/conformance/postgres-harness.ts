import { setTimeout } from 'node:timers/promises';
import { Client } from 'pg';
import { storeAt } from '../support/postgres';
import { writeRowElsewhere } from './elsewhere';
import type { BreakingHarness } from './suite';

/** Sends one statement on its own connection. */
export async function ask(url: string, sql: string, ...values: readonly unknown[]): Promise<void> {
  const client = new Client(url);
  await client.connect();
  try {
    await client.query(sql, [...values]);
  } finally {
    await client.end();
  }
}

/** A database beside the given one, whose transactions are serializable unless they say otherwise. */
export async function serializableDatabase(url: string): Promise<string> {
  await ask(url, 'create database serializable');
  await ask(url, 'alter database serializable set default_transaction_isolation = serializable');
  return url.replace(/\/postgres$/, '/serializable');
}

/** A store in its own schema, which is removed with it. */
export async function postgresHarness(url: string, schema: string): Promise<BreakingHarness> {
  const open: BreakingHarness['open'] = () => storeAt({ url, schema });
  await open().prepare();
  return {
    open,
    writeRowElsewhere: (job, metadata, guard) =>
      writeRowElsewhere({ connectionString: url, containerName: schema, job, metadata, guard }),
    breakLease: (job, periodMs) =>
      ask(
        url,
        `update "${schema}".jobs set breaking = true,
           lease_until = least(lease_until, clock_timestamp() + $2 * interval '1 ms')
         where name = $1 and lease_id is not null`,
        ...[job, periodMs],
      ),
    pass: (ms) => setTimeout(ms),
    now: () => Date.now(),
    close: () => ask(url, `drop schema "${schema}" cascade`),
  };
}
