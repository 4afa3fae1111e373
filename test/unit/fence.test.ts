import { describe, expect, it } from 'vitest';
import type { JobName, Token } from '../../src/core/brand';
import { type FencedBlob, createFence, electionMark } from '../../src/lease/fence';

const job = 'a' as JobName;
const leading = { holds: true };
const COORDINATION = 'https://account.blob.core.windows.net/cronlease';
const fenceOf = (token: number, name = job, trust = leading) =>
  createFence(name, token as Token, trust, [COORDINATION]);

interface Stored {
  body: string | Uint8Array;
  etag: string;
  metadata: Record<string, string>;
  contentType: string;
}

/** A blob with the conditions of the service, and a hook before each upload. */
function blobInMemory(beforeUpload: () => void = () => undefined) {
  const state: { stored: Stored | undefined; writes: number } = { stored: undefined, writes: 0 };
  const failed = (statusCode: number): Error => Object.assign(new Error(String(statusCode)), { statusCode });
  const put = (body: string | Uint8Array, metadata: Record<string, string>, contentType: string): void => {
    state.writes += 1;
    state.stored = { body, etag: `"${String(state.writes)}"`, metadata, contentType };
  };
  const blob: FencedBlob = {
    url: 'https://account/container/blob?sig=secret',
    getProperties: () => {
      if (state.stored === undefined) return Promise.reject(failed(404));
      const { etag, metadata, contentType } = state.stored;
      return Promise.resolve({ etag, metadata, contentType });
    },
    upload: (body, _length, options) => {
      beforeUpload();
      const { ifMatch, ifNoneMatch } = options?.conditions ?? {};
      if (ifNoneMatch !== undefined && state.stored !== undefined) return Promise.reject(failed(409));
      if (ifMatch !== undefined && ifMatch !== state.stored?.etag) return Promise.reject(failed(412));
      put(body, options?.metadata ?? {}, options?.blobHTTPHeaders?.blobContentType ?? 'application/octet-stream');
      return Promise.resolve();
    },
  };
  return { blob, state, put };
}

describe('a fenced write', () => {
  it('marks what it writes, and keeps what else is in the metadata', async () => {
    const { blob, state, put } = blobInMemory();
    put('old', { mine: 'kept' }, 'text/csv');
    await fenceOf(4).write(blob, 'new');
    expect(state.stored).toMatchObject({
      body: 'new',
      contentType: 'text/csv',
      metadata: { mine: 'kept', cronleasejob: 'a', cronleasetoken: '4' },
    });
  });

  it('refuses to undo what a higher token wrote, and lets the same or a higher one write', async () => {
    const { blob, state } = blobInMemory();
    await fenceOf(4).write(blob, 'four');
    await fenceOf(4).write(blob, 'four again');
    await fenceOf(5).write(blob, 'five');
    await expect(fenceOf(4).write(blob, 'late')).rejects.toMatchObject({ code: 'StaleLeader' });
    expect(state.stored?.body).toBe('five');
  });

  it('refuses when the successor writes between the look and the write', async () => {
    let overtaken = false;
    const { blob, state } = blobInMemory(() => {
      if (overtaken) return;
      overtaken = true;
      state.stored = {
        body: 'successor',
        etag: '"x"',
        metadata: { cronleasejob: 'a', cronleasetoken: '9' },
        contentType: '',
      };
    });
    await expect(fenceOf(4).write(blob, 'late')).rejects.toMatchObject({ code: 'StaleLeader' });
    expect(state.stored?.body).toBe('successor');
  });

  it.each([
    'https://account.blob.core.windows.net/cronlease/jobs/-layout/control',
    'https://account.blob.core.windows.net/cronlease/runs/a/1-s?sig=secret',
    'https://account.blob.core.windows.net/%63ronlease/jobs%2F-layout%2Fcontrol',
    'https://account.blob.core.windows.net//cronlease//jobs/a/lease',
    'https://account.blob.core.windows.net/reports/%2e%2e/cronlease/jobs/a/lease',
    'https://account.privatelink.blob.core.windows.net/cronlease/jobs/a/lease',
  ])('refuses the coordination container before a call: %s', async (url) => {
    const { blob, state } = blobInMemory();
    const refusal: unknown = await fenceOf(9)
      .write({ ...blob, url, getProperties: () => Promise.reject(new Error('called')) }, 'ours')
      .catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: 'FenceConflict' });
    expect(String(refusal)).toContain(COORDINATION);
    expect(String(refusal)).not.toContain('secret');
    expect(state.writes).toBe(0);
  });

  it.each([
    'https://account.blob.core.windows.net/cronlease-reports/a',
    'https://account.blob.core.windows.net/reports/cronlease/jobs/-layout/control',
    'https://account.blob.core.windows.net/reports/100%',
  ])('writes elsewhere: %s', async (url) => {
    const { blob, state } = blobInMemory();
    await fenceOf(9).write({ ...blob, url }, 'ours');
    expect(state.writes).toBe(1);
  });

  it('refuses what is fenced by another job, without showing a signature', async () => {
    const { blob } = blobInMemory();
    await fenceOf(1, 'b' as JobName).write(blob, 'theirs');
    const refusal: unknown = await fenceOf(9)
      .write(blob, 'ours')
      .catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: 'FenceConflict' });
    expect(String(refusal)).not.toContain('secret');
  });

  it('refuses a target whose token is no number', async () => {
    const { blob, put } = blobInMemory();
    put('x', { cronleasejob: 'a', cronleasetoken: 'many' }, '');
    await expect(fenceOf(1).write(blob, 'y')).rejects.toMatchObject({ code: 'FenceConflict' });
  });

  it('gives up when others keep writing there', async () => {
    const { blob, put } = blobInMemory(() => {
      put('somebody', {}, '');
    });
    await expect(fenceOf(1).write(blob, 'y')).rejects.toMatchObject({ code: 'FenceConflict' });
  });

  it.each([
    [404, 'ContainerNotFound', 'The specified container does not exist.'],
    [412, 'LeaseIdMissing', 'There is currently a lease on the blob and no lease ID was specified in the request.'],
    [409, 'BlobImmutableDueToPolicy', 'This operation is not permitted as the blob is immutable due to a policy.'],
  ])('hands on a refusal that has another reason than a change: %i %s', async (statusCode, code, message) => {
    const { blob } = blobInMemory();
    let uploads = 0;
    const upload = (): Promise<never> => {
      uploads += 1;
      return Promise.reject(Object.assign(new Error(message), { statusCode, code }));
    };
    await expect(fenceOf(1).write({ ...blob, upload }, 'x')).rejects.toMatchObject({ code, message });
    expect(uploads).toBe(1);
  });

  it.each([
    [412, 'ConditionNotMet'],
    [409, 'BlobAlreadyExists'],
    [404, 'BlobNotFound'],
  ])('tries once more after a change that the service names: %i %s', async (statusCode, code) => {
    const { blob, state } = blobInMemory();
    let uploads = 0;
    const upload: FencedBlob['upload'] = (...write) => {
      uploads += 1;
      return uploads > 1 ? blob.upload(...write) : Promise.reject(Object.assign(new Error(code), { statusCode, code }));
    };
    await fenceOf(1).write({ ...blob, upload }, 'x');
    expect(state.stored?.body).toBe('x');
  });

  it('replaces only the version that was read, if that is asked for', async () => {
    const { blob, state, put } = blobInMemory();
    put('read', {}, 'text/plain');
    await fenceOf(1).write(blob, 'computed from what was read', { ifMatch: '"1"' });
    await expect(fenceOf(2).write(blob, 'from the same', { ifMatch: '"1"' })).rejects.toMatchObject({
      code: 'BlobChanged',
      message: expect.stringContaining('read it again') as unknown,
    });
    expect(state.stored?.body).toBe('computed from what was read');
    // A higher token's write is the more important news.
    put('of a successor', { cronleasejob: 'a', cronleasetoken: '3' }, 'text/plain');
    await expect(fenceOf(2).write(blob, 'stale', { ifMatch: '"2"' })).rejects.toMatchObject({ code: 'StaleLeader' });
    const missing = blobInMemory();
    await expect(fenceOf(2).write(missing.blob, 'x', { ifMatch: '"1"' })).rejects.toMatchObject({
      code: 'BlobChanged',
    });
  });

  it('notices a change between the look and the write of that version', async () => {
    let times = 0;
    const { blob, state, put } = blobInMemory(() => {
      times += 1;
      if (times === 1) put('meanwhile', {}, 'text/plain');
    });
    put('read', {}, 'text/plain');
    await expect(fenceOf(1).write(blob, 'mine', { ifMatch: '"1"' })).rejects.toMatchObject({ code: 'BlobChanged' });
    expect(state.stored?.body).toBe('meanwhile');
  });

  it('keeps the marks of jobs and elections apart', async () => {
    const { blob } = blobInMemory();
    await createFence(electionMark('a'), 1 as Token, leading, []).write(blob, 'x');
    await expect(fenceOf(2).write(blob, 'y')).rejects.toThrow(/fenced by election "a", so job "a" must not/);
  });

  it('hands on what else goes wrong', async () => {
    const { blob } = blobInMemory(() => {
      throw Object.assign(new Error('no such account'), { statusCode: 500 });
    });
    await expect(fenceOf(1).write(blob, 'y')).rejects.toThrow('no such account');
  });
});

describe('a fence', () => {
  it('is shut when the trust is over, and once the attempt has ended', async () => {
    const { blob, state } = blobInMemory();
    const trust = { holds: true };
    const fence = fenceOf(1, job, trust);
    fence.check();
    trust.holds = false;
    expect(() => {
      fence.check();
    }).toThrow(expect.objectContaining({ code: 'StaleLeader' }) as Error);
    trust.holds = true;
    fence.close();
    await expect(fence.write(blob, 'x')).rejects.toMatchObject({ code: 'StaleLeader' });
    expect(state.writes).toBe(0);
  });
});
