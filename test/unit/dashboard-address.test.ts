import { afterEach, describe, expect, it, vi } from 'vitest';

async function hoursOf(search: string): Promise<number | undefined> {
  vi.stubGlobal('location', { search, hash: '' });
  vi.resetModules();
  const { hoursIn } = await import('../../src/dashboard/data/address');
  return hoursIn();
}

afterEach(() => vi.unstubAllGlobals());

describe('the address of a page', () => {
  it('has no hours back to which no instant lies', async () => {
    expect(await hoursOf('?hours=12')).toBe(12);
    for (const wrong of ['', '?hours=', '?hours=-1', '?hours=soon', '?hours=99999999999', '?hours=1e300']) {
      expect(await hoursOf(wrong)).toBeUndefined();
    }
  });
});
