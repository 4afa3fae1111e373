import { EventEmitter } from 'node:events';
import { describe, expect, it, vi } from 'vitest';
import { widthOf } from '../../src/cli/fit';
import { shown } from '../../src/cli/output';
import { type Sight, type Watched, openScreen, watch } from '../../src/cli/show/screen';
import { type StatusView, statusLines } from '../../src/cli/show/status-text';
import { timesOf } from '../../src/cli/time';
import { StoreUnavailableError } from '../../src/lease/store';
import type { DeploymentStatus } from '../../src/manage/schema/about';
import type { JobStatus, Overview } from '../../src/manage/schema/jobs';
import { needsAttention } from '../../src/core/shown-state';
import { worstFirst } from '../../src/operator/views/overview';
import { type SettableClock, settableClock } from '../support/clock';

const NOW = Date.UTC(2026, 10, 22, 3, 0, 0);
const MINUTE = 60_000;
const at = (minutes: number): string => new Date(NOW + minutes * MINUTE).toISOString();

type ListedRun = NonNullable<JobStatus['lastRun']>;
type ListedGap = Exclude<JobStatus['recent'][number], ListedRun>;

const run = (minutesAgo: number, outcome: ListedRun['outcome'] = 'succeeded', durationMs = 1_200): ListedRun => ({
  ...{
    kind: 'run',
    runId: 'r',
    scheduledFor: at(-minutesAgo),
    outcome,
    latenessMs: 40,
    durationMs,
    waitedMs: 0,
    attempts: 1,
  },
});

const gap = (minutesAgo: number, outcome: ListedGap['outcome']): ListedGap => ({
  ...{ kind: 'gap', scheduledFor: at(-minutesAgo), outcome, reason: 'overlapSkip', count: 3 },
});

function job(name: string, changes: Partial<JobStatus> = {}): JobStatus {
  const recent = changes.recent ?? [20, 10, 5].map((minutes) => run(minutes));
  return {
    ...{ name, state: 'idle', detail: null, description: null, tags: [], schedule: '*/5 * * * *', timeZone: 'UTC' },
    ...{
      lastRun: recent.findLast((item) => item.kind === 'run') ?? null,
      failures: 0,
      incident: null,
      currentRun: null,
    },
    ...{ nextDueAt: at(4), dueSince: null, overdueSince: null, pause: null, manualRuns: 0, lastHolder: 'weu' },
    ...changes,
    recent,
  };
}

const deployment = (name: string, changes: Partial<DeploymentStatus> = {}): DeploymentStatus => ({
  ...{
    name,
    state: 'live',
    tickedAt: at(-2),
    version: '0.1.0',
    revision: 7,
    skewMs: 0,
    hubProven: true,
    shortOf: null,
    cordon: null,
  },
  ...changes,
});

const current = (startedMinutesAgo: number, attempt = 1): NonNullable<JobStatus['currentRun']> => ({
  ...{ runId: 'r', scheduledFor: at(-startedMinutesAgo), trigger: 'schedule', attempt },
  ...{ startedAt: at(-startedMinutesAgo), retryAt: null, holder: 'neu' },
});

const OVERVIEW: Overview = {
  now: new Date(NOW).toISOString(),
  jobs: [
    job('ledger-import', {
      state: 'unreadable',
      detail: 'its lease cannot be read: metadata "format" is missing',
      recent: [],
    }),
    job('invoice-export-north-europe', {
      ...{ state: 'overdue', overdueSince: at(-125), failures: 6, tags: ['billing', 'eu'] },
      recent: [
        ...Array.from({ length: 14 }, (_, n) => run(200 - n * 5)),
        ...Array.from({ length: 6 }, (_, n) => run(120 - n * 20, 'failed', 80_000)),
      ],
    }),
    job('word-index', {
      ...{ state: 'retrying', failures: 2, recent: [run(30), run(20, 'timedOut'), run(10, 'stalled')] },
      currentRun: { ...current(5, 2), startedAt: null, retryAt: at(0.7), holder: null },
    }),
    job('nightly-report', {
      failures: 1,
      recent: [run(30), gap(20, 'overlapped'), gap(15, 'expired'), run(180, 'failed')],
      nextDueAt: at(60 * 26),
    }),
    job('storage-report', { state: 'running', currentRun: current(2.1), tags: ['billing'] }),
    job('purge-old-reports', { state: 'waiting', dueSince: at(-0.5) }),
    job('greet', {}),
    job('monthly', { lastRun: null, recent: [], nextDueAt: at(60 * 24 * 9) }),
    job('mailing', {
      ...{ state: 'paused', recent: [run(90), gap(60, 'paused'), gap(30, 'collapsed')], nextDueAt: null },
      pause: {
        by: 'ann',
        note: 'the warehouse is being moved to another continent, ask before you resume',
        since: at(-60),
        until: null,
      },
    }),
    job('seldom', { state: 'disabled', nextDueAt: null, recent: [run(4_000, 'cancelled')] }),
  ],
  deployments: [
    deployment('cronlease-weu-blue'),
    deployment('cronlease-neu-blue', {
      skewMs: -3_200,
      cordon: { by: 'ann', note: 'a new build is tried on it', since: at(-10) },
    }),
    deployment('cronlease-old', { state: 'silent', revision: 6, tickedAt: at(-400) }),
  ],
  maintenance: [],
  problems: [],
};

const view: StatusView = { now: NOW, width: 80, hasFile: true, show: timesOf({}), none: 'No jobs' };

const lines = (overview: Overview = OVERVIEW, changes: Partial<StatusView> = {}): readonly string[] =>
  shown(statusLines(overview, { ...view, ...changes }).join('\n')).split('\n');

const lineOf = (name: string, overview: Overview = OVERVIEW, changes: Partial<StatusView> = {}): string =>
  lines(overview, changes).find((line) => line.startsWith(name)) ?? '';

describe('the table of status', () => {
  it('shows that a running job is one of more runs than its group has places', () => {
    const detail = 'one of 4 runs of group "db", 3 at a time';
    const jobs = [job('grouped', { state: 'running', detail, currentRun: current(1) })];
    expect(lines({ ...OVERVIEW, jobs })).toContain(`  ${detail}`);
  });

  it('shows each job with its state, last outcomes, last run and next due time', () => {
    expect(lines()[0]).toBe('10 jobs  1 unreadable  1 overdue  2 failing  1 running  1 waiting  2 idle');
    expect(lines()[1]).toBe('1 paused  1 disabled  2026-11-22T03:00:00Z');
    const wide = { width: 120 };
    expect(lineOf('JOB', OVERVIEW, wide)).toMatch(/^JOB +STATE +OUTCOMES +LAST RUN +TOOK +LATE +NEXT +TAGS$/);
    expect(lineOf('invoice', OVERVIEW, wide)).toMatch(
      /^invoice-export-north-europe  overdue      ✓{14}✗{6}  failed 20m ago +1m20s  40ms  in 4m   billing,eu$/,
    );
    expect(lineOf('storage-report')).toMatch(/running 2m   ✓✓✓> +succeeded 5m ago +1\.2s  in 4m$/);
    expect(lineOf('purge')).toMatch(/waiting 30s .* in 4m$/);
    const unclaimed = job('late', { state: 'overdue', overdueSince: at(-60), dueSince: at(-90), failures: 1 });
    const [, , heading, row, detail] = lines({ ...OVERVIEW, jobs: [unclaimed] });
    expect(heading).toMatch(/NEXT$/);
    expect(row).toMatch(/overdue .* in 4m$/);
    expect(detail).toBe('  overdue for 1 h, due for 1 h 30 min and not claimed');
    expect(lineOf('monthly')).toMatch(/idle +- +in 9d$/);
  });

  it('calls a job failing as the dashboard does, and counts each job once', () => {
    const ann = { by: 'ann', note: '', at: at(-5), until: null };
    const none = { isWhole: true, firstRunId: null, lastRunId: null, lastReason: null };
    const incident = { ...none, since: at(-60), failures: 1, acknowledgement: ann };
    const failed = [run(30), run(20, 'failed')];
    const jobs = [
      job('again', { state: 'running', failures: 3, recent: failed, currentRun: current(2.1, 2) }),
      job('once', { failures: 1, recent: failed }),
      job('seen-too', { state: 'running', failures: 1, recent: failed, incident, currentRun: current(2.1) }),
      job('seen', { state: 'overdue', overdueSince: at(-60), failures: 1, recent: failed, incident }),
      job('stopped-by-ann', { recent: [run(30), run(20, 'cancelled')] }),
    ];
    const all = lines({ ...OVERVIEW, jobs });
    expect(all[0]).toBe('5 jobs  2 failing  2 acknowledged  1 idle  2026-11-22T03:00:00Z');
    const rows = all
      .filter((line) => /^\S+ +(?:failing|acknowledged|idle)/.test(line))
      .map((line) => line.split(/ +/)[1]);
    expect(rows).toEqual(['failing', 'failing', 'acknowledged', 'acknowledged', 'idle']);
    expect(all).toContain('  running 2m, attempt 2, on neu, 3 failures in a row');
    expect(jobs.filter((one) => needsAttention(one)).map(({ name }) => name)).toEqual(['again', 'once']);
    expect(jobs.toSorted(worstFirst).map(({ name }) => name)).toEqual(jobs.map(({ name }) => name));
  });

  it('gives each outcome a shape of its own, and explains those that it shows', () => {
    expect(lineOf('nightly')).toContain('✓o!✗');
    expect(lineOf('word-index')).toContain('✓TS>');
    expect(lines().join('\n')).toMatch(
      /\n✓ succeeded  ✗ failed  T timed out  S stalled  c cancelled  ! expired\no overlapped  · did not run  > runs now\n/,
    );
    const few = lines({ ...OVERVIEW, jobs: [job('greet')] });
    expect(few.filter((line) => line.startsWith('✓'))).toEqual(['✓ succeeded']);
  });

  it('tells below a job what a person should know of it', () => {
    const all = lines(OVERVIEW, { width: 200 });
    const below = (name: string): string | undefined => all[all.findIndex((line) => line.startsWith(name)) + 1];
    expect(below('ledger')).toBe('  its lease cannot be read: metadata "format" is missing');
    expect(below('invoice')).toBe('  overdue for 2 h 5 min, 6 failures in a row');
    expect(below('word-index')).toBe('  attempt 2 is over, next attempt in 42s, 2 failures in a row');
    expect(below('mailing')).toMatch(/^ {2}since 2026-11-22T02:00:00Z, by ann: the warehouse is .* before you resume$/);
    expect(all.at(-1)).toBe('Why: cronlease why invoice-export-north-europe 2026-11-22T02:40:00Z');
  });

  it('lists deployments with what keeps them from working', () => {
    expect(lineOf('cronlease-weu')).toMatch(/live +2m ago +7 +-$/);
    expect(lineOf('cronlease-neu')).toMatch(/cordoned +2m ago +7 +-3\.2s +ann: a new build is tri.*…$/);
    expect(lineOf('cronlease-old')).toMatch(/silent +6h ago +6 \(old\)/);
    const unproven = { ...OVERVIEW, deployments: [deployment('a', { hubProven: false })] };
    expect(lineOf('a ', unproven)).toContain('hub unproven');
    const short = { ...OVERVIEW, deployments: [deployment('a', { shortOf: 'cpu' })] };
    expect(lineOf('a ', short)).toContain('overloaded');
    expect(lines({ ...OVERVIEW, deployments: [] })).toContain('No deployment has reported a tick in the last week.');
  });

  it('never cuts a time from its unit, at any width', () => {
    for (let width = 40; width <= 120; width += 1) {
      expect(lines(OVERVIEW, { width }).filter((line) => /\d ?[a-z]?…/.test(line))).toEqual([]);
    }
  });

  it.each([200, 100, 80, 60, 40, 20])('is never wider than %i columns', (width) => {
    for (const line of lines(OVERVIEW, { width })) expect(widthOf(line), line).toBeLessThanOrEqual(width);
    expect(lines(OVERVIEW, { width }).join('')).toContain('unreadable'.slice(0, Math.min(11, width - 12)));
  });

  it('drops tags before lateness, then shortens names, and keeps the newest outcomes', () => {
    const heading = (width: number): string => lineOf('JOB', OVERVIEW, { width });
    expect(heading(100)).not.toContain('TAGS');
    expect(heading(100)).toContain('LATE');
    expect(heading(80)).toMatch(/^JOB +STATE +OUTCOMES +LAST RUN +TOOK +NEXT$/);
    expect(lineOf('invoice')).toMatch(/^invoice\S*…\S*-europe  overdue +✓+✗{6}  /);
    expect(heading(40)).toMatch(/^JOB +STATE +LAST RUN +NEXT$/);
    expect(heading(36)).toMatch(/^JOB +STATE +LAST RUN$/);
  });

  it('counts the cells that a character takes, and shows no control characters', () => {
    const note = '日本語のメモ\u001b[2J\n'.repeat(20);
    const pause = { by: 'ann', note, since: at(-1), until: null };
    const overview = { ...OVERVIEW, jobs: [job('a', { state: 'paused', pause })] };
    for (const line of lines(overview)) expect(widthOf(line)).toBeLessThanOrEqual(80);
    expect(lines(overview).join('')).toContain('日本語のメモ\\u001b[2J\\n');
  });

  it('shows the worst jobs where there is no room for all', () => {
    const rows = lines(OVERVIEW, { rows: 20 });
    expect(rows.length).toBeGreaterThan(17);
    expect(rows.length).toBeLessThanOrEqual(20);
    expect(rows.join('\n')).toMatch(/invoice[^]*… and \d more\n\nDEPLOYMENT/);
    expect(lines(OVERVIEW, { rows: 3 })).toHaveLength(3);
    expect(lines(OVERVIEW, { rows: 200 }).join('\n')).not.toContain(' more');
  });

  it('shows maintenance and problems first, and what is missing without a file', () => {
    const maintenance = [{ by: 'ann', note: 'moving', since: at(-5), until: at(60), jobs: 'all jobs' }];
    const all = lines({ ...OVERVIEW, maintenance, problems: ['something is odd'] }, { hasFile: false });
    expect(all).toContain('warning: something is odd');
    const times = 'since 2026-11-22T02:55:00Z until 2026-11-22T04:00:00Z';
    expect(all.join('\n')).toContain(`Maintenance of all jobs, by ann: moving\n  ${times}\n`);
    const note = 'the warehouse is being moved to another continent, ask before you resume';
    const long = lines({ ...OVERVIEW, maintenance: maintenance.map((one) => ({ ...one, note })) }, { width: 40 });
    expect(long.join(' ').replaceAll(/ +/g, ' ')).toContain(`by ann: ${note} since`);
    for (const line of long) expect(line.length).toBeLessThanOrEqual(40);
    const [none, blank, deployments] = lines({ ...OVERVIEW, jobs: [] });
    expect([none, blank]).toEqual(['No jobs  2026-11-22T03:00:00Z', '']);
    expect(deployments).toMatch(/^DEPLOYMENT /);
    const stray = { ...OVERVIEW, jobs: [job('a', { detail: 'not in this jobs file' })] };
    expect(lines(stray).join('\n')).toContain('not in this jobs file');
    expect(lines(stray, { hasFile: false }).join('\n')).not.toContain('not in this jobs file');
  });
});

describe('a screen that is watched', () => {
  const terminal = () => {
    const written: string[] = [];
    const display = Object.assign(new EventEmitter(), {
      ...{ columns: 80, rows: 4 },
      write: (text: string) => written.push(text),
    });
    const raw: boolean[] = [];
    const keyboard = Object.assign(new EventEmitter(), {
      ...{ isTTY: true, resume: () => undefined, pause: () => undefined },
      setRawMode: (mode: boolean) => raw.push(mode),
    });
    const wishes = {
      quit: vi.fn<() => void>(),
      repaint: vi.fn<() => void>(),
      suspend: vi.fn<(resumed: () => void) => void>(),
    };
    return { written, display, raw, keyboard, wishes, screen: openScreen(keyboard, display, wishes) };
  };

  it('is painted over, never erased first, and only if the picture has changed', () => {
    const { written, screen } = terminal();
    written.length = 0;
    screen.paint(['one', 'two']);
    screen.paint(['one', 'two']);
    expect(written).toEqual(['\u001b[?2026h\u001b[Hone\u001b[K\r\ntwo\u001b[K\u001b[J\u001b[?2026l']);
    screen.paint(['1', '2', '3', '4', '5']);
    expect(written[1]).toContain('4');
    expect(written[1]).not.toContain('5');
    expect(written.join('')).not.toContain('\u001b[2J');
  });

  it('is given back as it was, whichever way it ends', () => {
    const { written, raw, keyboard, screen } = terminal();
    screen.close();
    screen.close();
    expect(raw).toEqual([true, false]);
    expect(written).toEqual(['\u001b[?1049h\u001b[?25l\u001b[?7l', '\u001b[?7h\u001b[?25h\u001b[?1049l']);
    expect(keyboard.listenerCount('data')).toBe(0);
    screen.paint(['late']);
    expect(written).toHaveLength(2);
  });

  it('ends with q or Ctrl+C, and stops with Ctrl+Z until it continues', () => {
    const { written, raw, display, keyboard, wishes } = terminal();
    for (const key of ['q', 'Q', '\u0003', 'x']) keyboard.emit('data', Buffer.from(key));
    expect(wishes.quit).toHaveBeenCalledTimes(3);
    keyboard.emit('data', Buffer.from('\u001a'));
    expect(raw).toEqual([true, false]);
    wishes.suspend.mock.calls[0]?.[0]();
    expect(raw).toEqual([true, false, true]);
    expect(written).toHaveLength(3);
    display.emit('resize');
    expect(wishes.repaint).toHaveBeenCalledTimes(2);
  });
});

describe('watching', () => {
  interface Watching {
    readonly clock: SettableClock;
    readonly end: AbortController;
    readonly seen: Sight<number>[];
    reads: number;
    failure: Error | undefined;
    readonly done: Promise<number | undefined>;
  }

  function start(failure?: Error): Watching {
    const clock = settableClock(NOW);
    const end = new AbortController();
    const seen: Sight<number>[] = [];
    const watching = { clock, end, seen, reads: 0, failure };
    const watched: Watched<number> = {
      everyMs: 2_000,
      read: async () => {
        watching.reads += 1;
        if (watching.failure !== undefined) throw watching.failure;
        return watching.reads;
      },
      show: (sight) => seen.push(sight),
      isOver: (state) => state === 100,
    };
    return Object.assign(watching, { done: watch(watched, clock, end.signal) });
  }

  it('reads at its interval and repaints each second, until it is ended', async () => {
    const watching = start();
    await watching.clock.advance(4_500);
    expect(watching.reads).toBe(3);
    expect(watching.seen.map(({ state, ageMs }) => [state, ageMs])).toEqual([
      ...[
        [1, 0],
        [1, 1_000],
        [2, 0],
        [2, 1_000],
        [3, 0],
      ],
    ]);
    watching.end.abort();
    expect(await watching.done).toBe(3);
    await watching.clock.advance(60_000);
    expect(watching.reads).toBe(3);
    expect(watching.seen).toHaveLength(5);
  });

  it('shows the last state while storage does not answer, asks less often, and recovers', async () => {
    const watching = start();
    await watching.clock.advance(1_000);
    watching.failure = new StoreUnavailableError('storage does not answer');
    await watching.clock.advance(62_000);
    // After 2 s, 4 s, 8 s, 16 s and 32 s.
    expect(watching.reads).toBe(6);
    expect(watching.seen.at(-1)).toMatchObject({ state: 1, trouble: 'storage does not answer' });
    watching.failure = undefined;
    await watching.clock.advance(60_000);
    expect(watching.seen.at(-1)).toMatchObject({ trouble: undefined });
    watching.end.abort();
    await watching.done;
  });

  it('fails if the first reading does, or a later one for another reason than storage', async () => {
    await expect(start(new StoreUnavailableError('no')).done).rejects.toThrow('no');
    const watching = start();
    const failed = expect(watching.done).rejects.toThrow('a fault');
    await watching.clock.advance(1_000);
    watching.failure = new Error('a fault');
    await watching.clock.advance(2_000);
    await failed;
  });

  it('ends by itself once there is nothing to wait for', async () => {
    const watching = start();
    watching.reads = 98;
    await watching.clock.advance(10_000);
    expect(await watching.done).toBe(100);
  });
});
