import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JobName, Token } from '../../src/core/brand';
import { type LogEntry, storeEntries, createLogBuffer, ITEM_LOG, lineOf } from '../../src/core/log-entry';
import { recordKey } from '../../src/core/key';
import { finalRecord, storeRecord } from '../../src/core/record';
import { redactNothing } from '../../src/core/redact';
import { encodeRow } from '../../src/core/row';
import type { LeaseStore } from '../../src/lease/store';
import { connectContainer } from '../../src/stores/azure-blob/connection';
import { azureBlobStore } from '../../src/stores/azure-blob/store';
import { systemClock } from '../../src/system-clock';
import { type Azurite, startAzurite } from '../support/azurite';
import { type CliFolder, type Ended, cliFolder } from '../support/cli-build';
import { jobSpec } from '../support/job';
import { ranRow } from '../support/situation';

const DUE = Date.UTC(2026, 0, 1, 3);
const MINUTELY = jobSpec('minutely', '* * * * *');

let azurite: Azurite;
let folder: CliFolder;
let store: LeaseStore;
const cli = (...args: readonly string[]): Promise<Ended> =>
  folder.run([...args, '--container', 'logs'], { CRONLEASE_STORAGE: azurite.connectionString });

/** What one attempt said, in the form in which it is stored. */
function said(
  attempt: number,
  lines: readonly (readonly [LogEntry extends infer E ? (E extends { level: infer L } ? L : never) : never, string])[],
  item?: number,
) {
  const buffer = createLogBuffer(item === undefined ? { attempt } : { attempt, item }, ITEM_LOG);
  for (const [index, [level, text]] of lines.entries())
    buffer.add(DUE + attempt * 60_000 + index * 1_000, level, lineOf(text, redactNothing));
  buffer.end();
  return buffer.take(redactNothing);
}

async function write(key: string, name: string, entries: readonly LogEntry[]): Promise<void> {
  await store.createLog(MINUTELY.name, key, name);
  await store.appendLog(MINUTELY.name, key, name, { text: storeEntries(entries), at: 0 });
}

const HOSTILE = [
  '\u001b[2J\u001b[H\u001b]0;owned\u0007 clears the screen',
  '\u001b[31mred\u001b[0m is plain',
  'two\nlines\r\n03:01:09.000 error  a forged line',
  'tab\tbell\u0007 back\b \u202eright to left \u2028 nul\0',
  'half \ud800 of a pair',
  'x'.repeat(1_000_000),
];

beforeAll(async () => {
  azurite = await startAzurite();
  folder = cliFolder();
  store = azureBlobStore({
    container: connectContainer({ CRONLEASE_STORAGE: azurite.connectionString }, 'logs'),
    clock: systemClock,
  });
  await store.prepare();
  const key = recordKey(DUE);
  await write(
    key,
    '1',
    said(
      1,
      HOSTILE.map((text) => ['info', text]),
    ),
  );
  await write(key, '1-3-1-abcd', said(1, [['error', 'in item 3']], 3));
  const row = ranRow(MINUTELY, { token: 2 as Token, run: { key, scheduledFor: DUE, trigger: 'schedule', since: DUE } });
  const end = { outcome: 'succeeded', reason: 'completed', at: DUE + 200_000 } as const;
  const entries = said(2, [
    ['debug', 'again'],
    ['warn', 'done'],
  ]);
  const record = finalRecord(MINUTELY, row, [], {
    ...end,
    progress: { note: 'all', fraction: 1 },
    log: { kept: 'blob', entries },
  });
  await store.createRecord(MINUTELY.name, key, storeRecord(record));
  await store.createRow(MINUTELY.name, encodeRow(row));
  await store.createRow('seldom' as JobName, encodeRow({ ...row, run: undefined, phase: 'idle' }));
});
afterAll(async () => {
  folder.remove();
  await azurite.stop();
});

describe.concurrent('cronlease logs', () => {
  it('prints the last run over all its attempts, and nothing that a terminal obeys', async () => {
    const { code, stdout } = await cli('logs', 'minutely');
    expect(code).toBe(0);
    // oxlint-disable-next-line no-control-regex -- these must not be printed
    expect(stdout).not.toMatch(/[\0-\u0008\u000b-\u001f\u007f-\u009f\u202e\u2028]/);
    const lines = stdout.split('\n');
    expect(lines.slice(0, 3)).toEqual([
      'run minutely-20260101T030000Z, 2026-01-01 UTC',
      String.raw`03:01:00.000 info   \u001b[2J\u001b[H\u001b]0;owned\u0007 clears the screen`,
      '03:01:00.000 error  item 3: in item 3',
    ]);
    expect(stdout).toContain('03:01:01.000 info   red is plain\n');
    expect(stdout).toContain(
      `\n03:01:02.000 info   two\n${' '.repeat(20)}lines\n${' '.repeat(20)}03:01:09.000 error  a forged`,
    );
    expect(stdout).toContain(String.raw`tab	bell\u0007 back\u0008 \u202eright to left \u2028 nul\u0000`);
    expect(stdout).toMatch(/\nattempt 2\n03:02:00.000 debug {2}again\n03:02:01.000 warn {3}done\n$/);
    const long = lines.find((line) => line.includes('xxx')) ?? '';
    expect(long.length).toBeLessThan(8_300);
    expect(long).toMatch(/x… \(991808 more characters\)$/);
  });

  it('prints JSON that is the same text', async () => {
    const { stdout, ...rest } = await cli('logs', 'minutely', '2026-01-01T03:00:00Z', '--json');
    expect(rest).toMatchObject({ code: 0, stderr: '' });
    // oxlint-disable-next-line no-control-regex -- these must not be printed
    expect(stdout).not.toMatch(/[\0-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
    const printed = JSON.parse(stdout) as { entries: { text: string; item?: number }[] };
    expect(printed).toMatchObject({
      ...{ job: 'minutely', runId: 'minutely-20260101T030000Z', ended: true },
      progress: { note: 'all', fraction: 1 },
    });
    const own = printed.entries.filter(({ item }) => item === undefined).map(({ text }) => text);
    expect(own.slice(0, 5)).toEqual(HOSTILE.slice(0, 5));
    const followed = await cli('logs', 'minutely', '--follow', '--json');
    const lines = followed.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    expect(lines.slice(0, -1)).toEqual(printed.entries);
    expect(lines.at(-1)).toEqual({
      runId: 'minutely-20260101T030000Z',
      ended: true,
      progress: { note: 'all', fraction: 1 },
    });
  });

  it('prints one item of a fan-out', async () => {
    const { stdout } = await cli('logs', 'minutely', '--item', '3');
    expect(stdout).toBe('run minutely-20260101T030000Z, 2026-01-01 UTC\n03:01:00.000 error  item 3: in item 3\n');
    expect((await cli('logs', 'minutely', '--item', '4')).stdout).toBe(
      'Run minutely-20260101T030000Z has logged nothing.\n',
    );
  });

  it.each([
    [['logs', 'seldom'], 1, 'job "seldom" has not run yet'],
    [['logs', 'minutly'], 1, 'Did you mean "minutely"?'],
    [
      ['logs', 'minutely', '2026-01-02'],
      1,
      'there is no run of job "minutely" at 2026-01-02T00:00:00.000Z: "cronlease why',
    ],
    [['logs', 'minutely', 'yesterday'], 2, 'TIME "yesterday"'],
    [['logs', 'minutely', '--item', 'x'], 2, 'It must be a whole number'],
    [['logs'], 2, "missing required argument 'JOB'"],
  ])('%j is refused with code %i', async (args, code, message) => {
    const ended = await cli(...args);
    expect(ended.code).toBe(code);
    expect(ended.stderr).toContain(message);
  });

  it('leaves the log out of lists, which show the progress', async () => {
    const { stdout } = await cli('runs', 'minutely', '--json');
    expect(JSON.parse(stdout)).toMatchObject({ runs: [{ progress: { note: 'all', fraction: 1 } }] });
    expect(stdout).not.toContain('again');
  });
});
