import { describe, expect, it, vi } from 'vitest';
import { createTokens } from '../../src/call/identity';
import { tokenOf } from '../../src/stores/azure-blob/connection';
import { settableClock } from '../support/clock';

const { made } = vi.hoisted(() => ({ made: { count: 0 } }));

vi.mock('@azure/identity', () => ({
  DefaultAzureCredential: undefined,
  ManagedIdentityCredential: class {
    constructor() {
      made.count += 1;
      if (made.count === 1) throw new Error('EMFILE: too many open files');
    }
    getToken = async () => ({ token: 'a token', expiresOnTimestamp: 0 });
  },
}));

describe("the app's identity", () => {
  it('that could not be loaded for a store is loaded again', async () => {
    const token = tokenOf({ CRONLEASE_STORAGE__credential: 'managedidentity' }, 'scope');
    await expect(token?.()).rejects.toThrow('EMFILE');
    expect(await token?.()).toBe('a token');
    expect(await token?.()).toBe('a token');
    expect(made.count).toBe(2);
  });

  it('that could not be loaded for calls is loaded again, and its tokens last until shortly before their end', async () => {
    const clock = settableClock();
    const asked: unknown[] = [];
    let loads = 0;
    const tokens = createTokens(clock, async () => {
      loads += 1;
      if (loads === 1) throw new Error('EMFILE: too many open files');
      return {
        getToken: async (scope) => {
          asked.push(scope);
          return { token: `token ${String(asked.length)}`, expiresOnTimestamp: clock.now() + 3_600_000 };
        },
      };
    });
    await expect(tokens('api://one')).rejects.toThrow('EMFILE');
    expect(await tokens('api://one')).toBe('token 1');
    await clock.advance(54 * 60_000);
    expect(await tokens('api://one')).toBe('token 1');
    await clock.advance(60_000);
    expect(await tokens('api://one')).toBe('token 2');
    expect(asked).toEqual(['api://one/.default', 'api://one/.default']);
    expect(loads).toBe(2);
  });
});
