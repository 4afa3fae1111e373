import { describe, expect, it } from 'vitest';
import type { Token } from '../../../src/core/brand';
import { createFence } from '../../../src/lease/fence';
import { blobOver, createTarget } from './blob';

const fence = () => createFence('a', 1 as Token, { holds: true }, []);
const unheard = (): undefined => undefined;

describe('the simulated target of fenced writes', () => {
  it('gives a call up when the fence closes, so that no task waits for ever for storage that never answered', async () => {
    const { write, close } = fence();
    const hanging = blobOver(createTarget(unheard), () => new Promise<never>(unheard), unheard);
    const written = write(hanging, 'x');
    close();
    await expect(written).rejects.toMatchObject({ name: 'AbortError' });
  });

  it('answers a call as the network does while the fence is open', async () => {
    const tokens: number[] = [];
    const target = createTarget((token) => tokens.push(token));
    const { write } = fence();
    await write(
      blobOver(target, (_kind, apply) => apply(), unheard),
      'x',
    );
    expect(tokens).toEqual([1]);
    const broken = blobOver(target, () => Promise.reject(new Error('503')), unheard);
    await expect(write(broken, 'x')).rejects.toThrow('503');
  });
});
