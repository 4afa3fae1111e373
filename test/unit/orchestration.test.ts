import { describe, expect, it } from 'vitest';
import { loadJobs } from '../../src/config/load';
import type { JobName, Token } from '../../src/core/brand';
import { PLAN_PIECE, beatPiece, beatSummary, isSilent, newestBeat, progressIn } from '../../src/core/fan-out';
import {
  instanceIdOf,
  orchestrationIn,
  parseInstanceId,
  parseOrchestrationEnd,
  progressOf,
} from '../../src/core/orchestration';
import { FenceOfError, fenceOf } from '../../src/functions/fence-of';
import { InvalidOrchestrationError, defineOrchestration } from '../../src/handler/define-orchestration';
import { silentAfterMs } from '../../src/handler/handlers';

const LONGEST = `${'a'.repeat(62)}z` as JobName;
const DUE = Date.UTC(2026, 0, 1, 3, 0, 0, 123);

describe('defineOrchestration', () => {
  it('has 90 s until a take-over, or as long as it says', () => {
    expect(defineOrchestration({ orchestrator: 'close' })).toEqual({ orchestrator: 'close', takeOverAfterMs: 90_000 });
    expect(silentAfterMs(defineOrchestration({ orchestrator: 'close', takeOverAfter: '5m' }))).toBe(300_000);
  });

  it.each([
    [{ orchestrator: '' }, 'orchestrator is ""'],
    [{ orchestrator: 'a b' }, 'orchestrator is "a b"'],
    [{ orchestrator: 'close', takeOverAfter: '59s' }, 'takeOverAfter is "59s": use a duration from 1m to 1d'],
    [{ orchestrator: 'close', takeOverAfter: 'soon' }, 'takeOverAfter is "soon"'],
  ])('refuses %j', (options, message) => {
    expect(() => defineOrchestration(options)).toThrow(InvalidOrchestrationError);
    expect(() => defineOrchestration(options)).toThrow(message);
  });

  it('may have a timeout that no host would allow, but no terms', () => {
    const handlers = {
      close: defineOrchestration({ orchestrator: 'close' }),
      run: { run: (): void => undefined } as object,
    };
    const load = (settings: object) =>
      loadJobs({ jobs: { close: { schedule: '@daily', ...settings } } }, { handlers, functionTimeoutMs: 600_000 });
    expect(load({ timeout: '20d' }).warnings).toEqual([]);
    expect(() => load({ timeout: '20d', handler: 'run' })).toThrow('does not fit');
    expect(() => load({ schedule: '@always' })).toThrow('is an orchestration, which a leader job (@always) cannot');
  });

  it('is unknown where the handlers are: then its timeout is only a warning', () => {
    const jobs = { jobs: { close: { schedule: '@daily', timeout: '20d' } } };
    const { warnings } = loadJobs(jobs, { functionTimeoutMs: 600_000, handlersUnknown: true });
    expect(warnings).toMatchObject([
      { path: 'jobs.close.timeout', message: expect.stringContaining('which only an orchestration may exceed') },
    ]);
  });
});

describe('the id of an orchestration', () => {
  it('has job, due time and token, and at most 100 characters', () => {
    const id = instanceIdOf(LONGEST, DUE, Number.MAX_SAFE_INTEGER);
    expect(id).toBe(`${LONGEST}-20260101T030000Z-t9007199254740991`);
    expect(id.length).toBeLessThanOrEqual(100);
    expect(parseInstanceId(id)).toEqual({ job: LONGEST, token: Number.MAX_SAFE_INTEGER });
  });

  it.each(['close-20260101T030000Z-1a2b3c4d', 'cronlease-probe-1', 'close-20260101T030000Z-t', 'own'])(
    'is not %s',
    (id) => {
      expect(parseInstanceId(id)).toBeUndefined();
    },
  );
});

describe('the end of an orchestration', () => {
  it.each(['', '{}', 'nothing', '[]', '{"state":"succeeded"}', '{"state":"failed","error":5}'])('is not %j', (text) => {
    expect(parseOrchestrationEnd(text)).toBeUndefined();
  });
});

describe('the heartbeat of an orchestration', () => {
  it('is silent after the time of its job', () => {
    const token = 3 as Token;
    const seenAt = (date: number) => newestBeat([{ name: beatPiece(token, 'p'), writtenAt: 0, date }], token, 90_000);
    expect(isSilent(seenAt(90_000))).toBe(false);
    expect(isSilent(seenAt(91_000))).toBe(true);
  });

  it('shows how far it is, in ASCII', () => {
    const summary = beatSummary([], { note: 'prüft 3', fraction: 0.5 });
    expect(progressIn(summary)).toEqual({ note: 'prüft 3', fraction: 0.5 });
    expect(Object.values(summary).join('')).toMatch(/^[ -~]*$/);
    expect(progressIn({})).toBeUndefined();
    expect(progressIn({ progress: '%' })).toBeUndefined();
    expect(progressIn({ progress: '5' })).toBeUndefined();
  });
});

describe('the custom status of an orchestration', () => {
  it.each([
    [null, undefined],
    ['closing', { note: 'closing' }],
    [
      { note: 'closing', fraction: 0.25 },
      { note: 'closing', fraction: 0.25 },
    ],
    [{ fraction: 1 }, { fraction: 1 }],
    [{ fraction: 40 }, { note: '{"fraction":40}' }],
    [{ note: 'closing', step: 2 }, { note: '{"note":"closing","step":2}' }],
    [{}, { note: '{}' }],
    [['a', 1], { note: '["a",1]' }],
    [7, { note: '7' }],
  ])('%j is the progress %j', (status, progress) => {
    expect(progressOf(status)).toEqual(progress);
  });
});

describe('the pieces of a run', () => {
  const run = { job: 'close' as JobName, scheduledFor: DUE };
  const beatOf = (token: number, writtenAt: number, note?: string) => ({
    name: beatPiece(token as Token, 'p'),
    summary: beatSummary([], note === undefined ? undefined : { note }),
    writtenAt,
  });

  it('show the orchestration of the last claim that has started one, and its last progress', () => {
    const pieces = [beatOf(3, 5, 'old'), beatOf(4, 7, 'second'), beatOf(4, 6, 'first'), beatOf(4, 8)];
    expect(orchestrationIn(pieces, run)).toEqual({
      orchestration: 'close-20260101T030000Z-t4',
      progress: { note: 'second' },
    });
  });

  it('show none of a fan-out, and none before its first heartbeat', () => {
    expect(orchestrationIn([{ name: PLAN_PIECE, summary: {}, writtenAt: 1 }, beatOf(3, 5)], run)).toBeUndefined();
    expect(orchestrationIn([{ name: 'kept-1', summary: {}, writtenAt: 1 }], run)).toBeUndefined();
  });
});

describe('fenceOf', () => {
  it('needs a coordinator', () => {
    expect(() => fenceOf({} as never)).toThrow(FenceOfError);
  });
});
