import { describe, expect, it } from 'vitest';
import { callOfContainer } from '../../src/import/curl';
import { jobsDocument } from '../../src/import/jobs-document';
import { readK8s } from '../../src/import/k8s';

const IMAGE = 'curlimages/curl:8.11.0';
const URL_OK = 'https://billing.example.com/close';

describe('a container that runs curl', () => {
  it.each([
    [[URL_OK], { url: URL_OK, method: 'GET', headers: {} }, false],
    [['-fsS', '-X', 'POST', URL_OK], { url: URL_OK, method: 'POST', headers: {} }, true],
    [['-XPOST', '-sfo/dev/null', '--url', URL_OK], { url: URL_OK, method: 'POST', headers: {} }, true],
    [
      ['-H', 'X-Team: billing', '-d', 'a=1', '--data-raw', '@b', URL_OK],
      {
        ...{ url: URL_OK, method: 'POST', body: 'a=1&@b' },
        headers: { 'content-type': 'application/x-www-form-urlencoded', 'x-team': 'billing' },
      },
      false,
    ],
    [
      ['--json', '{"a":1}', '-X', 'PUT', URL_OK],
      {
        ...{ url: URL_OK, method: 'PUT', body: '{"a":1}' },
        headers: { 'content-type': 'application/json', accept: 'application/json' },
      },
      false,
    ],
    [
      ['-d', '{"a":1}', '-H', 'Content-Type: application/json', URL_OK],
      { url: URL_OK, method: 'POST', body: '{"a":1}', headers: { 'content-type': 'application/json' } },
      false,
    ],
  ])('becomes a call: %j', (args, call, fails) => {
    expect(callOfContainer({ image: IMAGE, args })).toEqual({ call, fails });
    expect(callOfContainer({ image: 'alpine', command: ['curl'], args })).toEqual({ call, fails });
    const text = args.map((word) => `'${word}'`).join(' ');
    expect(callOfContainer({ image: 'alpine', command: ['/bin/sh', '-c', `curl ${text}`] })).toEqual({ call, fails });
  });

  it.each([
    ['an unknown option', ['--retry', '3', URL_OK]],
    ['redirects', ['-L', URL_OK]],
    ['a time limit', ['-m', '10', URL_OK]],
    ['a user', ['-u', 'a:b', URL_OK]],
    ['an option in a bundle', ['-sk', URL_OK]],
    ['two addresses', [URL_OK, URL_OK]],
    ['no address', ['-s']],
    ['no TLS', ['http://billing/close']],
    ['a user in the address', ['https://a:b@billing.example.com/']],
    ['a file to send', ['-d', '@file', URL_OK]],
    ['a file to write', ['-o', 'out.json', URL_OK]],
    ['a value that Kubernetes fills in', ['-H', 'x-key: $(KEY)', URL_OK]],
    ['a secret', ['-H', 'Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.e30.abcdefghijkl', URL_OK]],
    ['a key of a function', ['-H', 'x-functions-key: of-the-host', URL_OK]],
    ['what a call would fill in', ['-d', '{attempt}', URL_OK]],
    ['what a call would read from a setting', ['-d', '100%OFF%', URL_OK]],
    ['a header that a call sets', ['-H', 'Host: other', URL_OK]],
    ['a header that curl drops', ['-H', 'Accept:', URL_OK]],
    ['a method that no call has', ['-X', 'PURGE', URL_OK]],
    ['a body with GET', ['-X', 'GET', '-d', 'a', URL_OK]],
    ['an option without its value', [URL_OK, '-H']],
    ['a range of curl', ['https://billing.example.com/[1-3]']],
    ['a glob of curl', ['https://billing.example.com/{a,b}']],
  ])('stays one for a handler with %s', (_what, args) => {
    expect(callOfContainer({ image: IMAGE, args })).toBeUndefined();
  });

  it.each([
    [`curl ${URL_OK} && curl ${URL_OK}`],
    [`curl ${URL_OK} | jq .`],
    [`curl ${URL_OK} > /tmp/x`],
    [`curl $URL`],
    [`curl "https://x.example/$DAY"`],
    [`curl ${URL_OK}\ncurl ${URL_OK}`],
    [`curl 'https://x.example`],
    [`wget ${URL_OK}`],
  ])('stays one for a handler where a shell does more: %s', (text) => {
    expect(callOfContainer({ image: 'alpine', command: ['sh', '-c', text] })).toBeUndefined();
  });

  it('is no container with another image or program', () => {
    expect(callOfContainer({ image: 'example/curl-job', args: [URL_OK] })).toBeUndefined();
    expect(callOfContainer({ image: IMAGE, command: ['/run.sh'], args: [URL_OK] })).toBeUndefined();
  });
});

it('a CronJob whose only container runs curl becomes a call, and a note says so', () => {
  const text = (more: string) => `apiVersion: batch/v1
kind: CronJob
metadata:
  name: close
spec:
  schedule: 0 3 * * *
  concurrencyPolicy: Forbid
  jobTemplate:
    spec:
      activeDeadlineSeconds: 60
      template:
        spec:
          containers:
            - name: curl
              image: ${IMAGE}
              args: ['-sS', '${URL_OK}']
${more}`;
  const found = readK8s('jobs.yaml', text(''), { now: 0, timeZone: 'UTC' });
  const { document } = jobsDocument([found], { revision: 1, functionTimeoutMs: 1_800_000 });
  expect(document.jobs['close']?.call).toEqual({ url: URL_OK, method: 'GET', headers: {} });
  expect(found.notes.map(({ what, why }) => `${what}: ${why}`)).toContain(
    'close: a container that only runs curl: it became a "call", which needs no handler, and it fails with an answer that curl takes without --fail',
  );
  const two = readK8s('jobs.yaml', text('            - name: two\n              image: busybox\n'), {
    now: 0,
    timeZone: 'UTC',
  });
  expect(two.drafts[0]?.settings.call).toBeUndefined();
});
