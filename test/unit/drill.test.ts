import { describe, expect, it } from 'vitest';
import { type Drilled, goingOn, judge, type Records } from '../../src/cli/drill/judge';
import { type DrillReport, reportText } from '../../src/cli/drill/drill';
import type { ClusterEvent } from '../../src/local/cluster/deployment';
import { jobSpec } from '../support/job';

const T0 = Date.UTC(2026, 0, 1);
const TARGET = 32_000;
const JOBS = [jobSpec('long', '@every 10s'), jobSpec('quick', '@every 20s', { offsetMs: 1_000 })];
const iso = (second: number): string => new Date(T0 + second * 1000).toISOString();

function event(name: string, second: number, run: string, token: number, deployment = 'd1'): ClusterEvent {
  const attempt = { event: name, at: iso(second), deployment, pid: 1, job: 'long' };
  return { ...attempt, runId: run, token, attempt: token };
}

/** What became of a due time of `long`. */
function record(second: number, changes: Partial<Records[number]> = {}): Records[number] {
  return {
    ...{ job: 'long', scheduledFor: iso(second), state: 'final', outcome: 'succeeded', reason: 'completed' },
    ...{ trigger: 'schedule', token: 9, runId: `run-${String(second)}`, latenessMs: 0, attempts: [] },
    ...changes,
  };
}

/** `d1` is killed at second 12, while it runs what was due at 10; `d2` takes it over 15 s later. */
function drilled(changes: Partial<Drilled> = {}): Drilled {
  return {
    deployments: ['d1', 'd2'],
    steps: [{ at: iso(0), what: 'all deployments tick' }],
    events: [
      event('claimed', 5, 'run-10', 1),
      event('started', 10, 'run-10', 1),
      event('takenOver', 27, 'run-10', 2, 'd2'),
      event('started', 27.5, 'run-10', 2, 'd2'),
      event('succeeded', 35, 'run-10', 2, 'd2'),
    ],
    stopped: { deployment: 'd1', pid: 1, at: T0 + 12_000 },
    caughtUpAt: T0 + 36_000,
    backAt: T0 + 50_000,
    span: { from: T0 + 1, until: T0 + 40_000 },
    records: [
      record(10),
      record(20, { through: iso(30), outcome: 'overlapped', trigger: null, token: null }),
      record(40),
      record(0, { job: 'quick', runId: 'quick-0' }),
      record(20, { job: 'quick', runId: 'quick-20' }),
    ],
    ...changes,
  };
}

const judged = (changes: Partial<Drilled> = {}, target = TARGET) => judge(drilled(changes), JOBS, target);
const missed = (changes: Partial<Drilled> = {}, target = TARGET): readonly string[] => {
  const { ok, checks } = judged(changes, target);
  const names = checks.filter((check) => !check.ok).map(({ name }) => name);
  expect(ok).toBe(names.length === 0);
  return names;
};

describe('the judge of a drill', () => {
  it('passes one in which all went on, and tells how soon', () => {
    expect(missed()).toEqual([]);
    const { interrupted, jobs } = judged();
    expect(interrupted).toEqual([
      {
        ...{ job: 'long', runId: 'run-10', takenOverBy: 'd2', takeOverMs: 15_000, gapMs: 15_500 },
        outcome: 'succeeded',
      },
    ]);
    // A spread counts: the due time of 0 comes at 1, and that of 40 at 41.
    expect(jobs.map(({ job, dueTimes }) => [job, dueTimes.length])).toEqual([
      ['long', 4],
      ['quick', 2],
    ]);
  });

  it('fails a take-over that came too late, or never', () => {
    expect(missed({}, 14_999)).toEqual(['take-over']);
    expect(missed({}, 15_000)).toEqual([]);
    const alone = drilled().events.slice(0, 2);
    const records = drilled().records.map((one) => (one.runId === 'run-10' ? { ...one, state: 'open' as const } : one));
    expect(missed({ events: alone, records })).toEqual(['take-over', 'interrupted runs ended', 'losses']);
  });

  it('fails one that interrupted nothing: it has shown nothing', () => {
    const before = event('succeeded', 11, 'run-10', 1);
    expect(missed({ events: [...drilled().events.slice(0, 2), before] })).toEqual(['take-over']);
    const [first = record(10), ...others] = drilled().records;
    expect(judged({ records: [{ ...first, token: 1 }, ...others] }).interrupted).toEqual([]);
  });

  it('sees due times without an outcome, and with two', () => {
    const { records } = drilled();
    const losses = judged({ records: records.filter(({ scheduledFor }) => scheduledFor !== iso(40)) });
    expect(losses.ok).toBe(false);
    expect(losses.losses).toEqual(['long at 2026-01-01T00:00:40.000Z has no outcome']);
    const open = records.map((one) => (one.scheduledFor === iso(40) ? { ...one, state: 'open' as const } : one));
    expect(missed({ records: open })).toEqual(['losses']);
    const twice = judged({ records: [...records, record(30)] });
    expect(twice.duplicates).toEqual(['long at 2026-01-01T00:00:30.000Z has two outcomes: overlapped and succeeded']);
    expect(missed({ records: [...records, record(30)] })).toEqual(['duplicates']);
    // One that a person asked for is not of the schedule.
    expect(missed({ records: [...records, record(30, { trigger: 'manual' })] })).toEqual([]);
  });

  it.each<[string, ClusterEvent, string]>([
    ['an attempt that ran twice', event('started', 28, 'run-10', 2, 'd3'), 'run-10, attempt 2, was started twice'],
    ['a run that was started after its end', event('started', 36, 'run-10', 3), 'was started by d1 after it had ended'],
    ['a run that ended twice', event('failed', 36, 'run-10', 1), 'run-10 ended twice, last on d1'],
  ])('sees %s', (_, more, text) => {
    const { duplicates } = judged({ events: [...drilled().events, more] });
    expect(duplicates).toEqual([expect.stringContaining(text)]);
    expect(missed({ events: [more, ...drilled().events] })).toContain('duplicates');
  });

  it('wants what was due meanwhile decided, and the deployment back', () => {
    expect(missed({ caughtUpAt: undefined })).toEqual(['catch-up']);
    expect(missed({ backAt: undefined })).toEqual(['the deployment came back']);
  });

  it('knows what a deployment was at', () => {
    const events = [
      ...drilled().events,
      event('claimed', 11, 'run-20', 5),
      event('retrying', 11.5, 'run-20', 5),
      event('takenOver', 11.8, 'run-5', 7),
      event('claimed', 12.1, 'run-30', 8),
    ];
    expect(goingOn(events, 'd1', T0 + 12_000).map(({ runId }) => runId)).toEqual(['run-10', 'run-5']);
  });
});

describe('the report of a drill', () => {
  function text(changes: Partial<Drilled> = {}): string {
    const result = drilled(changes);
    const report: DrillReport = {
      ...judge(result, JOBS, TARGET),
      ...{ report: 'drill-report.md', app: 'those of /app', machine: 'pc', revision: 7 },
      versions: { cronlease: '0.1.0', node: 'v24.0.0' },
      deployments: result.deployments,
      stopped: { ...result.stopped, at: iso(12) },
      span: { from: iso(0), until: iso(40) },
      steps: [...result.steps, { at: iso(12), what: 'd1 was killed | \n twice' }],
    };
    return reportText(report);
  }

  it('tells people all there is to tell', () => {
    const report = text();
    expect(report).toMatch(/^# Failover drill: passed\n/);
    for (const part of [
      '- jobs: those of /app, revision 7',
      '- software: cronlease 0.1.0, Node v24.0.0',
      '| take-over | within 32s | 15s | met |',
      '| losses | 0 | 0 | met |',
      '| run-10 | d2 | 15s | 15.5s | succeeded |',
      '### long',
      '| 2026-01-01T00:00:20.000Z | overlapped |',
      // What would break the table does not.
      '| 2026-01-01T00:00:12.000Z | d1 was killed \\| twice |',
    ]) {
      expect(report).toContain(part);
    }
    expect(report).not.toMatch(/missed|undefined|null|NaN|Infinity/);
  });

  it('says what failed', () => {
    const report = text({ records: [], events: [] });
    expect(report).toMatch(/^# Failover drill: failed\n/);
    expect(report).toContain('| take-over | within 32s | nothing was interrupted | **missed** |');
    expect(report).toContain('- long at 2026-01-01T00:00:10.000Z has no outcome');
    expect(report).toContain('| 2026-01-01T00:00:10.000Z | **none** |');
  });
});
