import { describe, expect, it } from 'vitest';
import { listerOfAll } from '../../src/stores/azure-blob/list-all';
import { type AskPage, RangesRefusedError } from '../../src/stores/azure-blob/listing';
import { type ListedService, listedService } from '../support/listed-service';

const ROWS = Array.from({ length: 100 }, (_, index) => `jobs/job-${String(index).padStart(3, '0')}/lease`);

interface Asked {
  readonly start: string | undefined;
  readonly continuation: string | undefined;
}

/** A service with these rows, and the calls that it gets. */
function world(
  pageSize: number,
  names: readonly string[] = ROWS,
): { service: ListedService; asked: Asked[]; askPage: AskPage } {
  const service = listedService(names, { pageSize, shortPages: [] });
  const asked: Asked[] = [];
  const askPage: AskPage = (what, request, options) => {
    asked.push({ start: request.start, continuation: request.continuation });
    return service.askPage(what, request, options);
  };
  return { service, asked, askPage };
}

describe('a listing of all jobs', () => {
  it('is one call, always the same, while it fits on a page', async () => {
    const { service, asked, askPage } = world(100);
    const list = listerOfAll({ askPage, pageSize: 100, pagesAtOnce: 8 }, service.readControl);
    for (let time = 0; time < 3; time += 1) expect((await list(undefined)).jobs.size).toBe(100);
    expect(asked).toEqual(Array.from({ length: 3 }, () => ({ start: undefined, continuation: undefined })));
  });

  it('is split once it is longer, with about as many calls, none of which waits for another', async () => {
    const { service, asked, askPage } = world(20);
    const list = listerOfAll({ askPage, pageSize: 20, pagesAtOnce: 8 }, service.readControl);
    await list(undefined);
    expect(asked.map(({ start }) => start)).toEqual(Array.from({ length: 5 }, () => undefined));
    asked.length = 0;
    expect((await list(undefined)).jobs.size).toBe(100);
    expect(asked).toHaveLength(6);
    expect(asked.every(({ continuation }) => continuation === undefined)).toBe(true);
    expect(new Set(asked.map(({ start }) => start)).size).toBe(6);
  });

  it('requests at most 8 pages at once', async () => {
    const { service, askPage } = world(5);
    let running = 0;
    let most = 0;
    const list = listerOfAll(
      {
        pageSize: 5,
        pagesAtOnce: 8,
        askPage: async (...call) => {
          running += 1;
          most = Math.max(most, running);
          await new Promise(setImmediate);
          running -= 1;
          return askPage(...call);
        },
      },
      service.readControl,
    );
    await list(undefined);
    expect(most).toBe(1);
    expect((await list(undefined)).jobs.size).toBe(100);
    expect(most).toBe(8);
  });

  it('is planned again when jobs come and go', async () => {
    const { service, asked, askPage } = world(20);
    const list = listerOfAll({ askPage, pageSize: 20, pagesAtOnce: 8 }, service.readControl);
    await list(undefined);
    service.hold([...ROWS, ...ROWS.map((name) => name.replace('/job-', '/jab-'))].toSorted());
    expect((await list(undefined)).jobs.size).toBe(200);
    asked.length = 0;
    expect((await list(undefined)).jobs.size).toBe(200);
    expect(asked.length).toBeLessThanOrEqual(11);
    service.hold(ROWS.slice(0, 10));
    expect((await list(undefined)).jobs.size).toBe(10);
    asked.length = 0;
    expect((await list(undefined)).jobs.size).toBe(10);
    expect(asked).toHaveLength(1);
  });

  it.each<[string, (askPage: AskPage) => AskPage]>([
    [
      'lists from the beginning whatever the start',
      (ask) =>
        (what, request, ...rest) =>
          ask(what, { ...request, start: undefined }, ...rest),
    ],
    [
      'has another order than that of names',
      (ask) => async (what, request, options) => {
        const page = await ask(what, request, options);
        return { ...page, blobs: page.blobs.toReversed() };
      },
    ],
    [
      'rejects the start',
      (ask) =>
        async (what, request, ...rest) => {
          if (request.start !== undefined) throw new RangesRefusedError('400 UnsupportedQueryParameter');
          return ask(what, request, ...rest);
        },
    ],
  ])('is read page by page, and whole, if the service %s', async (_, spoil) => {
    const { service, asked, askPage } = world(20);
    const list = listerOfAll({ askPage: spoil(askPage), pageSize: 20, pagesAtOnce: 8 }, service.readControl);
    for (let time = 0; time < 2; time += 1) expect((await list(undefined)).jobs.size).toBe(100);
    asked.length = 0;
    // Found out once: the third listing does not try.
    expect((await list(undefined)).jobs.size).toBe(100);
    expect(asked).toHaveLength(5);
  });

  it('that is continued, and refused there, begins anew', async () => {
    const { service, askPage } = world(20);
    let refuses = false;
    const list = listerOfAll(
      {
        pageSize: 20,
        pagesAtOnce: 8,
        askPage: async (what, request, options) => {
          if (refuses && request.start !== undefined) throw new RangesRefusedError('400 UnsupportedQueryParameter');
          return askPage(what, request, options);
        },
      },
      service.readControl,
    );
    await list(undefined);
    const { continuation } = await list({ enough: AbortSignal.abort() });
    refuses = true;
    await expect(list({ from: continuation ?? '' })).rejects.toMatchObject({ code: 'StoreUnavailable' });
    expect((await list(undefined)).jobs.size).toBe(100);
  });

  it('fails with the error of one range, and calls off the others', async () => {
    const { service, askPage } = world(20);
    const list = listerOfAll({ askPage, pageSize: 20, pagesAtOnce: 8 }, service.readControl);
    await list(undefined);
    const ends: unknown[] = [];
    const failing = listerOfAll(
      {
        pageSize: 20,
        pagesAtOnce: 8,
        askPage: (what, request, options) => {
          if (request.start === undefined) return askPage(what, request, options);
          if (request.start.includes('job-017')) return Promise.reject(new Error('503'));
          return new Promise((_, reject) => {
            options?.signal?.addEventListener('abort', () => {
              ends.push(request.start);
              reject(options.signal?.reason as Error);
            });
          });
        },
      },
      service.readControl,
    );
    await failing(undefined);
    await expect(failing(undefined)).rejects.toThrow('503');
    expect(ends).toHaveLength(4);
  });

  it('ends with the reason of its caller', async () => {
    const { service, askPage } = world(20);
    const list = listerOfAll({ askPage, pageSize: 20, pagesAtOnce: 8 }, service.readControl);
    await list(undefined);
    const reason = new Error('the lease is nearly over');
    await expect(list({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });

  it('that is cut off every time gets ranges for what it has seen, and keeps those behind', async () => {
    const { service, asked, askPage } = world(20);
    const list = listerOfAll({ askPage, pageSize: 20, pagesAtOnce: 8 }, service.readControl);
    const { continuation } = await list({ enough: service.afterCalls(3) });
    expect(continuation).toBeDefined();
    asked.length = 0;
    await list({ enough: service.afterCalls(100) });
    const planned = asked.filter(({ continuation: marker }) => marker === undefined).length;
    expect(planned).toBeGreaterThan(1);
    await list({ enough: AbortSignal.abort() });
    asked.length = 0;
    expect((await list(undefined)).jobs.size).toBe(100);
    expect(asked.filter(({ continuation: marker }) => marker === undefined).length).toBeGreaterThan(planned);
  });

  it('requests fewer pages at once while listings are cut off or fail, and more again once they are whole', async () => {
    const { service, askPage } = world(5);
    let running = 0;
    let most = 0;
    let fails = false;
    const counting: AskPage = async (...call) => {
      running += 1;
      most = Math.max(most, running);
      await new Promise(setImmediate);
      running -= 1;
      if (fails) throw new Error('503');
      return askPage(...call);
    };
    const list = listerOfAll({ askPage: counting, pageSize: 5, pagesAtOnce: 8 }, service.readControl);
    const mostOf = async (call: Promise<unknown>): Promise<number> => {
      most = 0;
      await call;
      return most;
    };
    await list(undefined);
    expect(await mostOf(list(undefined))).toBe(8);
    await list({ enough: AbortSignal.abort() });
    expect(await mostOf(list(undefined))).toBe(4);
    fails = true;
    for (let time = 0; time < 5; time += 1) await expect(list(undefined)).rejects.toThrow('503');
    fails = false;
    expect(await mostOf(list(undefined))).toBe(1);
    expect(await mostOf(list(undefined))).toBe(2);
    expect(await mostOf(list(undefined))).toBe(4);
  });

  it('is never split where one page is requested at a time, as on the emulator', async () => {
    const { service, asked, askPage } = world(20);
    const list = listerOfAll({ askPage, pageSize: 20, pagesAtOnce: 1 }, service.readControl);
    for (let time = 0; time < 2; time += 1) expect((await list(undefined)).jobs.size).toBe(100);
    expect(asked).toHaveLength(10);
    expect(asked.every(({ start }) => start === undefined)).toBe(true);
  });
});
