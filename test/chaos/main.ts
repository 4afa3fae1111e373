import { accessSync, constants, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { createGate } from '../../src/coordinator/gate';
import { startGuard } from '../../src/local/cluster/child';
import { runScenario } from './run';
import type { Row } from './row';
import type { Scenario } from './scenario';
import { bothBuilds } from './scenarios/both-builds';
import { scenarios } from './scenarios/index';
import { type StoreName, STORES } from './storage';
import { measuredText, plainTable } from './table';

const USAGE = `Usage: npm run chaos -- [options]

Plays faults against real host processes and a real storage emulator or server, and prints what came of each.
Ends with 1 if a row misses its target, with 2 if the options cannot be used.

  --only NAME[,NAME]  these scenarios only
  --store NAME        blobs (the emulator, the default), or the installed server of postgres,
                      redis, etcd, zookeeper or consul
  --with REVISION     another scenario alone: this build and the one of that revision in one container
  --seconds N         for so long (120); with --with only
  --at-once N         so many side by side (3)
  --json FILE         write the rows as JSON, too: docs/evidence/reliability has those that its page shows
  --list              print the names of all scenarios
  --help              print this
`;

/** The options cannot be used. */
class UsageError extends Error {
  readonly code = 'Usage';
  override readonly name = 'UsageError';
}

interface Options {
  readonly chosen: readonly Scenario[];
  readonly store: StoreName;
  readonly atOnce: number;
  readonly other: string | undefined;
  readonly json: string | undefined;
}

/** @param root - folder in which the scenarios' folders are made */
export async function main(args: readonly string[], root: string): Promise<number> {
  let options: Options | string;
  try {
    options = read(args);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    console.error(error.message);
    return 2;
  }
  if (typeof options === 'string') {
    console.log(options);
    return 0;
  }
  const rows = await playAll(options, root);
  if (rows === 'interrupted') return 130;
  if (options.json !== undefined) {
    const { store, other } = options;
    const measured = { at: new Date().toISOString(), store, ...(other === undefined ? {} : { other }), rows };
    writeFileSync(options.json, measuredText(measured));
  }
  console.log(plainTable(rows));
  return rows.every(({ misses }) => misses.length === 0) ? 0 : 1;
}

/** What is asked for, or a text to print instead. */
function read(args: readonly string[]): Options | string {
  let values;
  try {
    ({ values } = parseArgs({
      args: [...args],
      options: {
        only: { type: 'string', multiple: true },
        with: { type: 'string' },
        store: { type: 'string', default: 'blobs' },
        seconds: { type: 'string' },
        'at-once': { type: 'string', default: '3' },
        json: { type: 'string' },
        list: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }));
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`, { cause: error });
  }
  if (values.help) return USAGE;
  if (values.list) return scenarios.map(({ name, shows }) => `${name.padEnd(22)} ${shows}`).join('\n');
  const atOnce = Number(values['at-once']);
  if (!Number.isSafeInteger(atOnce) || atOnce < 1) {
    throw new UsageError(`--at-once is ${JSON.stringify(values['at-once'])}: use a whole number from 1.`);
  }
  if (values.json !== undefined) checkWritable(values.json);
  const chosen = values.with === undefined ? choose(values.only) : [withOther(values.with, values)];
  if (values.seconds !== undefined && values.with === undefined) throw new UsageError('--seconds is for --with.');
  const store = storeOf(values.store, values.with);
  return {
    chosen: store === 'consul' ? chosen.map(withLeasesTwiceAsLong) : chosen,
    store,
    atOnce,
    other: values.with,
    json: values.json,
  };
}

function storeOf(name: string, revision: string | undefined): StoreName {
  const store = (Object.keys(STORES) as StoreName[]).find((known) => known === name);
  if (store === undefined) {
    throw new UsageError(`--store is ${JSON.stringify(name)}: use one of ${Object.keys(STORES).join(', ')}.`);
  }
  if (store !== 'blobs' && revision !== undefined) throw new UsageError('--with plays on blobs: leave out --store.');
  return store;
}

/** Consul ends a session after up to twice its length. */
function withLeasesTwiceAsLong(scenario: Scenario): Scenario {
  const { targets, lease } = scenario;
  const longer = lease === '30s' ? 30_000 : 15_000;
  const caughtUp = targets.caughtUpMs === undefined ? {} : { caughtUpMs: targets.caughtUpMs + longer };
  return { ...scenario, targets: { ...targets, takeOverMs: targets.takeOverMs + longer, ...caughtUp } };
}

/** Better said now than when all has been played. */
function checkWritable(file: string): void {
  const folder = path.dirname(path.resolve(file));
  try {
    accessSync(folder, constants.W_OK);
  } catch (cause) {
    throw new UsageError(`--json: nothing can be written to the folder ${folder}.`, { cause });
  }
}

function withOther(
  revision: string,
  { only, seconds = '120' }: { readonly only?: readonly string[] | undefined; readonly seconds?: string | undefined },
): Scenario {
  if (only !== undefined) throw new UsageError('--with is a scenario of its own: leave out --only.');
  const lasts = Number(seconds);
  if (!Number.isSafeInteger(lasts) || lasts < 10) {
    throw new UsageError(`--seconds is ${JSON.stringify(seconds)}: use a whole number from 10.`);
  }
  return bothBuilds(revision, lasts);
}

function choose(only: readonly string[] | undefined): readonly Scenario[] {
  if (only === undefined) return scenarios;
  const names = only.flatMap((list) => list.split(',')).map((name) => name.trim());
  const chosen = [...new Set(names)].flatMap((name) => scenarios.find((scenario) => scenario.name === name) ?? []);
  const unknown = names.filter((name) => !scenarios.some((scenario) => scenario.name === name));
  if (unknown.length === 0) return chosen;
  const known = scenarios.map(({ name }) => name).join(', ');
  throw new UsageError(`There is no scenario ${unknown.map((name) => `"${name}"`).join(', ')}. There are: ${known}.`);
}

async function playAll({ chosen, store, atOnce }: Options, root: string): Promise<readonly Row[] | 'interrupted'> {
  const interrupted = new AbortController();
  const interrupt = (): void => interrupted.abort(new Error('interrupted'));
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, interrupt);
  const folder = path.join(root, `chaos-${String(process.pid)}`);
  mkdirSync(folder, { recursive: true });
  const guard = startGuard();
  guard.remove(folder);
  const side = createGate(atOnce);
  const boots = createGate(1);
  try {
    const played = await Promise.allSettled(
      chosen.map((scenario) =>
        side(async () => {
          interrupted.signal.throwIfAborted();
          const row = await runScenario(scenario, { folder, store, guard, signal: interrupted.signal, inTurn: boots });
          console.error(`${row.misses.length === 0 ? 'ok    ' : 'MISSED'} ${row.name} (${String(row.seconds)} s)`);
          return row;
        }),
      ),
    );
    if (interrupted.signal.aborted) {
      rmSync(folder, { recursive: true, force: true });
      return 'interrupted';
    }
    const rows = played.map((one) => {
      if (one.status === 'rejected') throw one.reason;
      return one.value;
    });
    if (rows.every(({ misses }) => misses.length === 0)) rmSync(folder, { recursive: true, force: true });
    else console.error(`The evidence of what was missed is in ${folder}.`);
    return rows;
  } finally {
    await guard.end();
  }
}
