import type { Millis } from '../../src/core/brand';
import { DatabaseSync } from 'node:sqlite';
import { PGlite } from '@electric-sql/pglite';
import type { Connection } from './page';

/** A database without tables. */
export interface Engine extends Connection {
  close(): Promise<void>;
}

/** PostgreSQL itself, compiled to WebAssembly: one connection. */
export async function postgresql(): Promise<Engine> {
  const database = await PGlite.create();
  return {
    query: (sql, values) => database.query(sql, values),
    close: () => database.close(),
  };
}

/** @param file several connections may open it; each waits as long as `busyMs` for another's transaction to end */
export function sqlite(
  file = ':memory:',
  busyMs: Millis = 0,
): Engine & { run(sql: string, values?: unknown[]): unknown[] } {
  const database = new DatabaseSync(file, { timeout: busyMs });
  const run = (sql: string, values: unknown[] = []): unknown[] => {
    const named = values.map((value, index) => [`$${String(index + 1)}`, value as string | number] as const);
    return database.prepare(sql).all(Object.fromEntries(named));
  };
  return {
    run,
    // As the page says, SQLite has no limits to set.
    query: async (sql, values) => ({ rows: sql.startsWith('SET LOCAL ') ? [] : run(sql, values) }),
    close: async () => {
      database.close();
    },
  };
}
