import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runJob } from 'cronlease/testing';
import { greet } from './greet';

test('greets whom its input names', async () => {
  const run = await runJob(greet, { settings: { input: { name: 'world' } }, scheduledFor: '2026-03-01T00:00:00Z' });
  assert.equal(run.outcome, 'succeeded');
  assert.deepEqual(run.result, { greeted: 'world' });
});
