import path from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';

/** It is code of a browser, whose types this folder lacks. */
interface Part {
  DueTimes(props: object): unknown;
}

let part: Part;

beforeAll(async () => {
  vi.stubGlobal('location', { search: '', hash: '' });
  part = (await import(/* @vite-ignore */ path.join(__dirname, '../../src/dashboard/parts/job-settings.tsx'))) as Part;
});

afterAll(() => vi.unstubAllGlobals());

it.each([
  ['timed', 'There is none within the next 5 years.'],
  ['always', 'There is none: a leader job runs all the time.'],
  ['manual', 'There is none: it only runs on request.'],
])('the page of a job of kind %s says why it has no due time', (kind, text) => {
  const due = { job: 'a', timeZone: 'UTC', enabled: true, due: [], complete: true, paused: false };
  const drawn = JSON.stringify(part.DueTimes({ kind, reading: { body: { jobs: [due] }, failure: undefined } }));
  expect([...drawn.matchAll(/There is none[^"]*/g)].map(([found]) => found)).toEqual([text]);
});
