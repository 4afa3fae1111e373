import { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { Trial } from '../../src/lease/trial';
import type { StorageServer } from '../../src/local/servers/server';
import { checkStorage } from '../../src/operator/doctor/storage';
import { databaseOf } from '../../src/stores/postgres/settings';
import { postgres } from '../../src/stores/postgres/store';
import { systemClock } from '../../src/system-clock';
import { describeWith } from '../support/needs';
import { storeAt, testPostgres } from '../support/postgres';

const onPostgres = describeWith('postgres', 'the trial of doctor on PostgreSQL');

let server: StorageServer;
let schemas = 0;
let schema: string;
let database: Client;
beforeAll(async () => {
  server = await testPostgres();
  database = new Client(server.url);
  await database.connect();
  await database.query('create role trial_role login');
});
afterAll(async () => {
  await database.end();
  await server.stop();
});
beforeEach(async () => {
  schemas += 1;
  schema = `trial-${String(schemas)}`;
  await storeAt({ url: server.url, schema }).prepare();
  await database.query(`grant usage on schema "${schema}" to trial_role`);
});

function trialAs(role: string): Promise<Trial> {
  const url = server.url.replace('postgres://postgres@', `postgres://${role}@`);
  return postgres({ server: databaseOf(url), container: schema, clock: systemClock, callTimeoutMs: 10_000 }).trial(
    'aaaa',
  );
}

async function rowsLeft(): Promise<readonly unknown[]> {
  const { rows } = await database.query<{ readonly name: string }>(`select name from "${schema}".elections`);
  return rows.map(({ name }) => name);
}

onPostgres('a trial of each call on PostgreSQL', () => {
  it('tries every step and leaves no row', async () => {
    const trial = await trialAs('postgres');
    expect(trial).toMatchObject({ container: 'there', untried: [], left: undefined });
    expect(trial.failures.size).toBe(0);
    expect(await rowsLeft()).toEqual([]);
  });

  it('is reported in the words of PostgreSQL', async () => {
    const said = async (role: string): Promise<string> =>
      checkStorage(server.url, await trialAs(role))
        .map(({ check, message }) => `${check}: ${message}`)
        .join('\n');
    const findings = [await said('postgres'), await said('trial_role')];
    await database.query(`drop schema "${schema}" cascade`);
    findings.push(await said('postgres'));
    expect(findings.join('\n')).not.toMatch(/blob|container|account|version/);
    expect(findings[0]).toContain('permissions: may list, read, create, lease, write and delete rows');
    expect(findings[1]).toContain('permissions: may not read rows');
    expect(findings[2]).toContain('answers, but there is no such schema');
  });

  it('is followed by no promise about a table that was dropped alone', async () => {
    const store = storeAt({ url: server.url, schema });
    await database.query(`drop table "${schema}".jobs`);
    await expect(store.list()).rejects.toThrow(/one of its tables was dropped, no app creates it again: .* backup\.$/);
    await store.prepare();
    await expect(store.list()).rejects.toMatchObject({ code: 'StoreUnavailable', noContainer: true });
  });

  it('names each refused step, and the row that it could not delete', async () => {
    await database.query(`grant select, insert on all tables in schema "${schema}" to trial_role`);
    const trial = await trialAs('trial_role');
    expect([...trial.failures.keys()]).toEqual(['lease', 'delete']);
    expect(trial.untried).toEqual(['write', 'release']);
    expect(trial.left).toBe('doctor-aaaa');
    expect(await rowsLeft()).toEqual(['doctor-aaaa']);
  });

  it('reports a row that can no longer be read once it exists, and still deletes it', async () => {
    await database.query(`grant all on all tables in schema "${schema}" to trial_role`);
    await database.query(`
      create function "${schema}".hide() returns trigger language plpgsql security definer as $$
      begin revoke select on "${schema}".elections from trial_role;
        grant select (name) on "${schema}".elections to trial_role; return null; end $$`);
    await database.query(
      `create trigger hides after insert on "${schema}".elections execute function "${schema}".hide()`,
    );
    const trial = await trialAs('trial_role');
    expect([...trial.failures.keys()]).toEqual(['read']);
    expect(trial.untried).toEqual(['lease', 'write', 'release']);
    expect(trial.left).toBeUndefined();
    expect(await rowsLeft()).toEqual([]);
  });
});
