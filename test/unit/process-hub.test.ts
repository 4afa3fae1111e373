import { describe, expect, it, vi } from 'vitest';
import type { AttemptInput, AttemptResult } from '../../src/coordinator/message';
import { createProcessHub } from '../../src/runner/process-hub';
import { settableClock } from '../support/clock';

const PROBE: AttemptInput = { kind: 'probe' };
const PROVEN: AttemptResult = { kind: 'proven' };

function hubThat(run: (input: AttemptInput) => Promise<AttemptResult>) {
  const clock = settableClock();
  const failures: string[] = [];
  const hub = createProcessHub({
    clock,
    run: run as never,
    onFailure: (id, error) => void failures.push(`${id}: ${String(error)}`),
  });
  return { clock, failures, hub };
}

const again = (notBefore: number): AttemptResult => ({ kind: 'again', notBefore, next: PROBE as never });

describe('the task hub of a process', () => {
  it('starts an orchestration once for each id', async () => {
    const run = vi.fn<() => Promise<AttemptResult>>(async () => PROVEN);
    const { hub } = hubThat(run);
    expect(await hub.status('one')).toBe('unknown');
    await hub.start('one', PROBE);
    await hub.start('one', PROBE);
    await vi.waitFor(async () => expect(await hub.status('one')).toBe('completed'));
    expect(run).toHaveBeenCalledTimes(1);
  });

  it('reports an orchestration that an error ended', async () => {
    const { hub, failures } = hubThat(async () => {
      throw new Error('broken');
    });
    await hub.start('one', PROBE);
    await vi.waitFor(async () => expect(await hub.status('one')).toBe('failed'));
    expect(failures).toEqual(['one: Error: broken']);
  });

  it('makes the next attempt when its time has come, and not before', async () => {
    const run = vi.fn<() => Promise<AttemptResult>>();
    const { hub, clock } = hubThat(run);
    run.mockResolvedValueOnce(again(clock.now() + 10_000)).mockResolvedValueOnce(PROVEN);
    await hub.start('one', PROBE);
    await clock.advance(9_999);
    expect(run).toHaveBeenCalledTimes(1);
    expect(await hub.status('one')).toBe('pending');
    await clock.advance(1);
    await vi.waitFor(async () => expect(await hub.status('one')).toBe('completed'));
    expect(run).toHaveBeenCalledTimes(2);
  });

  it('takes no step once it is closed', async () => {
    const run = vi.fn<() => Promise<AttemptResult>>();
    const { hub, clock } = hubThat(run);
    run.mockResolvedValue(again(clock.now() + 10_000));
    await hub.start('one', PROBE);
    hub.close();
    await clock.advance(60_000);
    expect(run).toHaveBeenCalledTimes(1);
    expect(await hub.status('one')).toBe('pending');
    await expect(hub.start('two', PROBE)).rejects.toThrow('closed');
  });

  it('forgets what has finished long ago as it goes on, and nothing that runs', async () => {
    const run = vi.fn<() => Promise<AttemptResult>>(async () => PROVEN);
    const { hub, clock } = hubThat(run);
    run.mockResolvedValueOnce(again(clock.now() + 3_600_000));
    await hub.start('long', PROBE);
    await hub.start('old', PROBE);
    await vi.waitFor(async () => expect(await hub.status('old')).toBe('completed'));
    await clock.advance(300_000);
    await hub.start('recent', PROBE);
    await clock.advance(300_001);
    await hub.start('new', PROBE);
    const states = await Promise.all(['long', 'old', 'recent'].map((id) => hub.status(id)));
    expect(states).toEqual(['pending', 'unknown', 'completed']);
  });

  it('forgets what has finished also after the clock was set back', async () => {
    const { hub, clock } = hubThat(async () => PROVEN);
    await hub.start('old', PROBE);
    await vi.waitFor(async () => expect(await hub.status('old')).toBe('completed'));
    clock.setWall(clock.now() - 86_400_000);
    await clock.advance(600_001);
    await hub.start('new', PROBE);
    expect(await hub.status('old')).toBe('unknown');
  });

  it('forgets the finished orchestrations of a span', async () => {
    const { hub, clock } = hubThat(async () => PROVEN);
    const began = clock.now();
    await hub.start('old', PROBE);
    await clock.advance(60_000);
    await hub.start('new', PROBE);
    await vi.waitFor(async () => expect(await hub.status('new')).toBe('completed'));
    await hub.purge({ from: new Date(began), to: new Date(began + 1_000) });
    expect([await hub.status('old'), await hub.status('new')]).toEqual(['unknown', 'completed']);
  });
});
