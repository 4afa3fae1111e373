import { describe, expect, it } from 'vitest';
import { hoursOf } from '../../src/dashboard/data/hours';

describe('the hours in the address of a page', () => {
  it('are none where no instant lies as far back', () => {
    expect(hoursOf('12')).toBe(12);
    for (const wrong of [undefined, '', '-1', 'soon', '99999999999', '1e300']) expect(hoursOf(wrong)).toBeUndefined();
  });
});
