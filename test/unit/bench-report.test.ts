import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { format } from 'prettier';
import { describe, expect, it } from 'vitest';
import { commandsOf } from '../../bench/backends/redis';
import { requestsOf } from '../../bench/backends/etcd';
import { latenessOf } from '../../bench/figures/judge';
import { after } from '../../bench/measure/kill';
import type { Result } from '../../bench/measure/result';
import { onTimeAfter } from '../../bench/measure/shortage';
import { packageMedians } from '../../bench/measure/start';
import { difference } from '../../bench/measure/usage';
import { median, milliseconds, perRun, seconds, share } from '../../bench/report/numbers';
import { pageOf } from '../../bench/report/page';
import { plotRanges } from '../../bench/report/plot';
import { readSitting, writeReport, writeResults } from '../../bench/report/publish';
import { callsTable, loadTables, logsTable, markdownTable, packagesTable } from '../../bench/report/tables';
import { type Sitting, joined } from '../../bench/kept';
import { type ScaleSitting, scalePage } from '../../bench/scale/page';

function result(more: Partial<Result> = {}): Result {
  return {
    ...{ system: 'cronlease', load: '100/s', repetition: 1, skewMs: 0, loadBefore: 0.5, runs: 100 },
    figures: {
      ...{ dueTimes: 100, starts: 100, duplicates: 0, misses: 0, unrecorded: 0 },
      lateness: latenessOf([1, 2, 30]),
    },
    usage: {
      ...{ fromUs: 0, seconds: 10, workersCpuMs: 500, backendCpuMs: 250, othersShare: 0.01, workerMb: 120 },
      calls: { acquire: 100, release: 50 },
    },
    trouble: { lines: 0, first: [] },
    ...more,
  };
}

const sitting: Sitting = {
  machine: {
    ...{ at: '2026-11-22T03:00:00Z', commit: '0123456789', changed: false, cpu: 'a processor', cores: 2, memoryGb: 24 },
    ...{ system: 'Linux 6', node: 'v24.0.0', versions: ['croner 1.0.0'] },
  },
  leftOut: [{ system: 'redlock', reason: 'redis-server is not installed: apt-get install redis-server' }],
  results: [
    result(),
    result({ system: 'croner', usage: { ...result().usage, calls: undefined } }),
    result({ load: '1000/min' }),
    result({ skewMs: 150, figures: { ...result().figures, lateness: latenessOf([-151, 2]) } }),
  ],
  kills: [
    {
      ...{ system: 'bullmq', allAgainMs: 950, secondAttemptMs: undefined, waitedMs: 120_000 },
      figures: { dueTimes: 600, duplicates: 0, misses: 3, unrecorded: 0 },
    },
  ],
  idles: [
    {
      ...{ system: 'cronlease', jobs: 1_000, seconds: 300, workerShare: 0.016, serverShare: 0.002, workerMb: 118 },
      callsPerHour: 72.4,
    },
  ],
  starts: [
    {
      turns: 2,
      apps: [{ title: 'the app', ms: 310, cpuMs: 330, files: 1_107, bytes: 2_700_000, residentBytes: 1e8 }],
      packages: packageMedians([{ cronlease: 30, zod: 20 }, { cronlease: 40 }]),
    },
  ],
  logs: [
    {
      beside: 40,
      load: 6.5,
      lines: 3_000,
      seconds: 15.2,
      kept: 1_990,
      keptFirst: 1_000,
      keptLast: 990,
      missing: 1_000,
    },
  ],
  shortages: [
    {
      ...{ system: 'cronlease', load: '100/s', cores: 1.5, onTimeAfterMs: 3_000 },
      ...{ runs: 100, usage: result().usage, figures: { ...result().figures, misses: 4, unrecorded: 0 } },
    },
  ],
  failures: [{ run: 'naive-lease 300/s (1)', reason: 'the emulator has gone' }],
};

describe('the end of a shortage', () => {
  const dues = [1_000, 2_000, 3_000, 4_000];
  const start = (job: string, due: number, lateMs: number) => ({ job, due, at: due + lateMs, pid: 1, attempt: 1 });
  const all = (lateMs: (due: number) => number) =>
    dues.flatMap((due) => ['a', 'b'].map((job) => start(job, due, lateMs(due))));

  it('is followed by the first due time from which on every job is on time', () => {
    const late = all((due) => (due < 3_000 ? 400 : 5));
    expect(onTimeAfter(late, { jobs: 2, dues }, 2_000)).toBe(1_000);
    expect(
      onTimeAfter(
        all(() => 5),
        { jobs: 2, dues },
        2_000,
      ),
    ).toBe(0);
  });

  it('has none while one job is missing, or late, at the last due time', () => {
    const punctual = all(() => 5);
    expect(onTimeAfter(punctual.slice(0, -1), { jobs: 2, dues }, 2_000)).toBeUndefined();
    expect(onTimeAfter([...punctual.slice(0, -1), start('b', 4_000, 300)], { jobs: 2, dues }, 2_000)).toBeUndefined();
  });
});

describe('numbers', () => {
  it('have as many digits as they deserve', () => {
    expect([0, 1.25, 9.94, 10.4, 1234.5, -3, Number.NaN].map(milliseconds)).toEqual([
      '0',
      '1.3',
      '9.9',
      '10',
      '1,235',
      '-3',
      '–',
    ]);
    expect([perRun(5, 10), perRun(25, 10), perRun(250, 10), perRun(1, 0)]).toEqual(['0.50', '2.5', '25', '–']);
    expect([seconds(12_340), seconds(undefined)]).toEqual(['12.3 s', 'never']);
    expect([share(0.0016), share(0.016), share(0.16)]).toEqual(['0.16 %', '1.6 %', '16 %']);
  });

  it('have a middle', () => {
    expect([median([3, 1, 2]), median([4, 1, 3, 2]), median([])]).toEqual([2, 2.5, Number.NaN]);
  });
});

describe('tables', () => {
  it('have a row for each system, and one table for each load and skew', () => {
    const tables = loadTables(sitting.results);
    expect(tables.map(({ title, rows }) => [title, rows.map(([system]) => system)])).toEqual([
      ['100 jobs a second', ['cronlease', 'croner']],
      ['1,000 jobs in the same minute', ['cronlease']],
      ['100 jobs a second, clocks 150 ms apart', ['cronlease']],
    ]);
    expect(tables[0]?.rows[0]).toEqual(['cronlease', '2', '30', '30', '0', '0', '100', '5.0', '2.5', '1.5', '120']);
    expect(tables[0]?.rows[1]?.at(-2)).toBe('–');
    expect(tables[2]?.rows[0]?.at(-1)).toBe('151');
  });

  it('have the median of latenesses, and the sum of what must not be', () => {
    const lateness = latenessOf([3, 4, 90]);
    const figures = { ...result().figures, starts: 97, duplicates: 2, misses: 5, unrecorded: 1, lateness };
    const [table] = loadTables([result(), result({ repetition: 2, figures })]);
    expect(table?.rows[0]?.slice(0, 7)).toEqual(['cronlease', '3', '60', '90', '2', '5 (1 without a record)', '200']);
  });

  it("have Durable's calls where a task hub was counted", () => {
    // A single run: 12 calls for three messages, 6 for two turns, and 5 for the orchestration.
    const hubWork = { orchestrations: 100, activities: 100, turns: 200 };
    const usage = { ...result().usage, hubWork };
    const [table] = loadTables([result({ usage }), result({ system: 'croner' })]);
    expect(table?.header.at(-1)).toBe("Durable's calls a run");
    expect(table?.rows.map((row) => row.at(-1))).toEqual(['23', '–']);
  });

  it('tell later attempts from doubled ones', () => {
    const figures = { ...result().figures, starts: 106, duplicates: 2, misses: 1 };
    const [table] = loadTables([result({ figures })]);
    expect(table?.rows[0]?.[4]).toBe('2 (5 later attempts)');
  });

  it('count calls by kind on blob storage alone', () => {
    expect(callsTable(sitting.results, '100/s')).toMatchObject({
      header: ['system', 'acquire', 'release'],
      rows: [['cronlease', '1.0', '0.50']],
    });
    expect(callsTable([result({ usage: { ...result().usage, calls: { commands: 5 } } })], '100/s')).toBeUndefined();
  });

  it('have the lines of a log that are kept, and those that nobody has', () => {
    expect(logsTable(sitting.logs).rows).toEqual([['40', '6.5', '3,000', '15.2', '1,000', '990', '1,000', '10']]);
  });

  it('name the packages that take longest at a start, and add up the others', () => {
    const starts = Array.from({ length: 3 }, (_, turn) =>
      Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`p${String(index)}`, index + turn])),
    );
    const { rows } = packagesTable({ packages: packageMedians(starts) });
    expect(rows[0]).toEqual(['p11', '12.0']);
    expect(rows.at(-1)).toEqual(['2 others', '3.0']);
    expect(rows).toHaveLength(11);
    expect(packagesTable({ packages: packageMedians([{ zod: 1 }]) }).rows).toEqual([['zod', '1.0']]);
  });

  it('are Markdown', () => {
    expect(markdownTable({ title: 't', header: ['a', 'b'], rows: [['1', '2']] })).toBe(
      '| a | b |\n| --- | --: |\n| 1 | 2 |',
    );
  });
});

describe('plots', () => {
  const ranges = [
    { label: 'a <b>', p50: 1, p99: 10, max: 100, own: true },
    { label: 'none ran', p50: Number.NaN, p99: Number.NaN, max: Number.NaN, own: false },
  ];

  it('place times by their logarithm, and leave out what has none', () => {
    const svg = plotRanges('late & later', ranges);
    expect(svg).toContain('late &amp; later');
    expect(svg).toContain('a &lt;b&gt;');
    expect(svg).not.toContain('none ran');
    expect(svg).not.toContain('NaN');
    const place = (pattern: RegExp): number => Number(pattern.exec(svg)?.[1]);
    const p50 = place(/<circle cx="([\d.]+)"/);
    const p99 = place(/ x2="([\d.]+)" y2="57" stroke="#0969da" stroke-width="8"/);
    const max = place(/ x2="([\d.]+)" y2="57" stroke="#0969da" stroke-width="1.5"/);
    expect(p99).toBeGreaterThan(p50);
    expect(max - p99).toBeCloseTo(p99 - p50, 5);
  });

  it('begin their scale where the caller says, and end it at the power of ten above the longest time', () => {
    const svg = plotRanges('times', [{ ...ranges[0], label: 'a', p50: 5_000, p99: 9_000, max: 17_000, own: true }], {
      caption: 'how <long>',
      leastMs: 100,
    });
    expect([...svg.matchAll(/text-anchor="middle">([^<]+)</g)].map(([, label]) => label)).toEqual([
      '100 ms',
      '1 s',
      '10 s',
      '100 s',
    ]);
    expect(svg).toContain('how &lt;long&gt;');
    expect(svg).not.toContain('lateness');
  });
});

describe('the page', () => {
  it('is made from the kept results, the same again each time', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'bench-'));
    writeResults(sitting, folder);
    await writeReport(sitting, folder);
    const page = readFileSync(path.join(folder, 'performance.md'), 'utf8');
    await writeReport(readSitting(folder), folder);
    expect(readFileSync(path.join(folder, 'performance.md'), 'utf8')).toBe(page);
    expect(readdirSync(path.join(folder, 'performance')).toSorted()).toEqual([
      '100-per-s.svg',
      '1000-per-min.svg',
      'results.json',
    ]);
    for (const part of [
      'commit `0123456789`',
      '`redlock` is left out: redis-server is not installed',
      'naive-lease 300/s (1): the emulator has gone',
      '![100 jobs a second](performance/100-per-s.svg)',
      '3 (0 without a record)',
      'never',
      '1.6 %',
      /^\| the app +\| +310 \| +330 \| +1,107 \| +2\.6 \| +95 \|$/m,
      /^\| 1\.5 +\| +cronlease +\| +3\.0 s \|/m,
      /^\| cronlease +\| +35\.0 \|$/m,
    ]) {
      expect(page).toMatch(part);
    }
    expect(page).not.toContain('provisional');
  });

  it('states that figures are provisional if other programs were busy', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'bench-'));
    const busy = { ...sitting, results: [result({ usage: { ...result().usage, othersShare: 0.4 } })] };
    writeResults(busy, folder);
    await writeReport(busy, folder);
    expect(readFileSync(path.join(folder, 'performance.md'), 'utf8')).toContain(
      '**These figures are provisional.** Other programs used up to 40 % of the machine',
    );
  });

  it('compares the price of a run on blob storage with that on Redis, if it has both', () => {
    const text = 'a run costs the workers 2.0 ms of CPU on Redis and 5.0 ms on blob storage';
    const redis = result({ system: 'cronlease-redis', usage: { ...result().usage, workersCpuMs: 200 } });
    expect(pageOf({ ...sitting, results: [...sitting.results, redis] })).toContain(text);
    expect(pageOf(sitting)).not.toContain('of CPU on Redis');
  });

  it('keeps the tables of an earlier sitting that a later one has not measured, each with its own commit', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'bench-'));
    const machine = { ...sitting.machine, commit: 'abcdefabcd', at: '2026-11-23T03:00:00Z' };
    const nothing = {
      leftOut: [],
      results: [],
      kills: [],
      idles: [],
      starts: [],
      logs: [],
      shortages: [],
      failures: [],
    };
    const profile = { title: 'CPU of cronlease by part', header: ['part', 'ms a run'], rows: [['storage SDK', '2.0']] };
    const later = { ...nothing, machine, results: [result({ load: '1/s' }), result({ runs: 7 })] };
    const last = { ...nothing, machine: { ...machine, commit: '1111111111' }, profile };
    const all = joined(joined(sitting, later), last);
    expect(all.results.map(({ load, skewMs, runs }) => [load, skewMs, runs])).toEqual([
      ...[
        ['1/s', 0, 100],
        ['100/s', 0, 7],
        ['1000/min', 0, 100],
        ['100/s', 150, 100],
      ],
    ]);
    expect([all.failures, all.kills]).toEqual([[], sitting.kills]);
    writeResults(all, folder);
    expect(readSitting(folder)).toEqual(all);
    await writeReport(all, folder);
    const page = readFileSync(path.join(folder, 'performance.md'), 'utf8');
    const commits = page
      .split(/^## /m)
      .map((section) => [section.split('\n')[0], /^Commit `(\w+)`/m.exec(section)?.[1]]);
    expect(commits.filter(([, commit]) => commit !== undefined)).toEqual([
      ['1 job a second', 'abcdefabcd'],
      ['100 jobs a second', 'abcdefabcd'],
      ['1,000 jobs in the same minute', '0123456789'],
      ['100 jobs a second, clocks 150 ms apart', '0123456789'],
      ['A killed worker', '0123456789'],
      ['A shortage of CPU', '0123456789'],
      ['Nothing due', '0123456789'],
      ['The start of an app', '0123456789'],
      ['Logs under load', '0123456789'],
      ['Where the CPU goes', '1111111111'],
    ]);
  });

  it('keeps a lateness of no starts as none', () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'bench-'));
    const none = result({ figures: { ...result().figures, lateness: latenessOf([]) } });
    writeResults({ ...sitting, results: [none] }, folder);
    expect(readSitting(folder).results[0]?.figures.lateness.p50).toBeNaN();
  });
});

describe('what follows a kill', () => {
  const jobs = [{ name: 'quick-1' }, { name: 'quick-2' }, { name: 'long' }];
  const start = (job: string, at: number) => ({ job, due: 0, at, pid: 1, attempt: 1 });

  it('counts starts after it alone, and the last of the jobs', () => {
    const before = [start('long', 500), start('quick-1', 900), start('quick-2', 900)];
    expect(after(before, jobs, 1_000)).toEqual({ allAgainMs: undefined, secondAttemptMs: undefined });
    const some = [...before, start('quick-1', 1_100), start('quick-1', 2_100)];
    expect(after(some, jobs, 1_000).allAgainMs).toBeUndefined();
    expect(after([...some, start('quick-2', 1_700), start('long', 9_000)], jobs, 1_000)).toEqual({
      ...{ allAgainMs: 700, secondAttemptMs: 8_000 },
    });
  });
});

describe('the counts of servers', () => {
  it('are read from their own figures', () => {
    expect(commandsOf('# Stats\r\ntotal_connections_received:2\r\ntotal_commands_processed:42\r\n')).toBe(42);
    expect(() => commandsOf('-ERR')).toThrow(/has not counted/);
    const metrics = [
      '# TYPE grpc_server_msg_received_total counter',
      'grpc_server_msg_received_total{grpc_method="Range"} 5',
      'grpc_server_msg_received_total{grpc_method="Txn"} 1.5e+03',
      'grpc_server_msg_sent_total{grpc_method="Range"} 9',
    ];
    expect(requestsOf(metrics.join('\n'))).toBe(1_505);
  });

  it('are what was added', () => {
    expect(difference({ list: 5, acquire: 3, read: 1 }, { list: 2, read: 1 })).toEqual({ list: 3, acquire: 3 });
    expect(difference(undefined, undefined)).toBeUndefined();
  });
});

describe('docs/evidence', () => {
  const evidence = path.join(__dirname, '../../docs/evidence');
  const markdown = { parser: 'markdown', printWidth: 120, singleQuote: true };

  it.each([
    ['performance.md', (): string => pageOf(readSitting(evidence))],
    [
      'scale.md',
      (): string =>
        scalePage(JSON.parse(readFileSync(path.join(evidence, 'performance/scale.json'), 'utf8')) as ScaleSitting),
    ],
  ])('%s is made from the kept results: -- --render writes it', async (page, make) => {
    expect(readFileSync(path.join(evidence, page), 'utf8')).toBe(await format(make(), markdown));
  });
});
