import { afterEach, describe, expect, it, vi } from 'vitest';
import { ApiError, change, read } from '../../src/dashboard/data/api';

function answer(body: BodyInit, { status = 200, type = 'application/json' } = {}): void {
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
  expect(error).toBeInstanceOf(ApiError);
  return (error as ApiError).failure;
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
    expect(await failureOf(read('jobs'))).toMatchObject({ code: 'Unreachable', detail });
  });

  it('leaves open what became of a change', async () => {
    answer(broken());
    expect(await failureOf(change('pauseJob', ['nightly'], { note: 'a' }))).toMatchObject({
      code: 'Unreachable',
      detail: 'the app does not answer: the change may or may not have taken effect',
    });
  });
});
