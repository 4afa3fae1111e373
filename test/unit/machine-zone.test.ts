import { afterEach, describe, expect, it, vi } from 'vitest';
import { machineZone } from '../../src/core/show-time';

afterEach(() => vi.restoreAllMocks());

describe('the zone of this machine', () => {
  // With TZ=:/etc/localtime, UTC+3 or "" Node has one of these.
  it.each([undefined, 'Etc/Unknown'])('is UTC where Node has %j', (timeZone) => {
    vi.spyOn(Intl.DateTimeFormat.prototype, 'resolvedOptions').mockReturnValueOnce({ timeZone } as never);
    expect(machineZone()).toBe('UTC');
  });
});
