import path from 'node:path';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';

/** It is code of a browser, whose types this folder lacks. */
interface Api {
  readonly ApiError: new () => Error & { readonly failure: object };
  read(path: string): Promise<unknown>;
  change(id: string, names: readonly string[], body: object): Promise<unknown>;
}

let api: Api;

beforeAll(async () => {
  api = (await import(/* @vite-ignore */ path.join(__dirname, '../../src/dashboard/data/api.ts'))) as Api;
});

function answer(body: string | ReadableStream<Uint8Array>, { status = 200, type = 'application/json' } = {}): void {
  vi.stubGlobal('location', { href: 'https://app.example/api/manage/?view=runs' });
  vi.stubGlobal('fetch', () => Promise.resolve(new Response(body, { status, headers: { 'content-type': type } })));
}

/** A connection that ends in the middle of a body. */
function broken(): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('{"jobs": ['));
      controller.error(new TypeError('terminated'));
    },
  });
}

async function failureOf(asked: Promise<unknown>): Promise<unknown> {
  const error: unknown = await asked.catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(api.ApiError);
  return (error as InstanceType<Api['ApiError']>).failure;
}

afterEach(() => vi.unstubAllGlobals());

describe('an answer that a page cannot read', () => {
  it.each([
    ['ends in the middle', () => answer(broken()), 'the app does not answer'],
    [
      'is the page of a proxy',
      () => answer('<html>Sign in</html>', { type: 'text/html' }),
      'something other than the app has answered',
    ],
    [
      'is a problem that ends in the middle',
      () => answer(broken(), { status: 503, type: 'application/problem+json' }),
      'the app does not answer',
    ],
  ])('is a failure, after which the page asks again: it %s', async (_, send, detail) => {
    send();
    expect(await failureOf(api.read('jobs'))).toMatchObject({ code: 'Unreachable', detail });
  });

  it('leaves open what became of a change', async () => {
    answer(broken());
    expect(await failureOf(api.change('pauseJob', ['nightly'], { note: 'a' }))).toMatchObject({
      code: 'Unreachable',
      detail: 'the app does not answer: the change may or may not have taken effect',
    });
  });
});
