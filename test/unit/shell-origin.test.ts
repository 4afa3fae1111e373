import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import path from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { isProven } from '../../src/core/origin';
import { actingOn } from '../../src/cli/run/person';
import { openStore } from '../../src/cli/storage';

afterEach(() => {
  vi.unstubAllEnvs();
});

const claims = { oid: 'AAAA-1', tid: 'BBBB-2', upn: 'ann@example.com' };
const token = ['e30', Buffer.from(JSON.stringify(claims)).toString('base64url'), 'x'].join('.');

/** An Azure CLI that is signed in. */
function azureCli(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'az-'));
  const answer = JSON.stringify({
    accessToken: token,
    expires_on: 4_102_444_800,
    expiresOn: '2100-01-01 00:00:00.000000',
  });
  writeFileSync(path.join(folder, 'az'), `#!/bin/sh\necho '${answer}'\n`, { mode: 0o755 });
  return folder;
}

describe('the actor of a command', () => {
  it('is the identity whose token makes the calls', async () => {
    vi.stubEnv('PATH', `${azureCli()}:${process.env['PATH'] ?? ''}`);
    vi.stubEnv('AZURE_TOKEN_CREDENTIALS', 'AzureCliCredential');
    const store = openStore({ storage: 'https://acme.blob.core.windows.net' });
    const { origin } = await actingOn(store, 'moving');
    expect(origin).toEqual({
      ...{ actor: 'ann@example.com', identity: 'bbbb-2/aaaa-1', channel: 'shell', note: 'moving' },
    });
    expect(isProven(origin)).toBe(true);
  });

  it('is the user of the operating system where a key makes them, and unproven', async () => {
    const { origin } = await actingOn(openStore({ storage: 'UseDevelopmentStorage=true' }));
    expect(origin).toEqual({ actor: userInfo().username, channel: 'shell' });
    expect(isProven(origin)).toBe(false);
  });
});
