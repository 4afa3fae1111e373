import path from 'node:path';
import { afterAll, describe, expect, it, vi } from 'vitest';

/** It is code of a browser, whose types this folder lacks. */
interface Address {
  hoursBefore(now: number, text: string | undefined): Date | undefined;
}

afterAll(() => vi.unstubAllGlobals());

describe('the hours in the address of a page', () => {
  it('are none where no instant lies as far back', async () => {
    vi.stubGlobal('location', { search: '', hash: '' });
    const file = path.join(__dirname, '../../src/dashboard/data/address.ts');
    const { hoursBefore } = (await import(/* @vite-ignore */ file)) as Address;
    expect(hoursBefore(86_400_000, '12')).toEqual(new Date(43_200_000));
    for (const wrong of [undefined, '', '-1', 'soon', '99999999999', '1e300']) {
      expect(hoursBefore(86_400_000, wrong)).toBeUndefined();
    }
  });
});
