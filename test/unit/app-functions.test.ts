import type { OrchestrationHandler } from 'durable-functions';
import { expect, it } from 'vitest';
import { runHooks } from '../../src/local/host/core-api';
import { loadRealPackages } from '../support/local-host';

const { durable, registry } = loadRealPackages();
const orchestrator: OrchestrationHandler = function* (context) {
  yield context.df.callActivity('activity');
};

it('knows which functions an app has once its code is loaded, and leaves none of its own', async () => {
  durable.app.orchestration('early', orchestrator);
  const { appFunctions } = await import('../../src/functions/hub.js');
  const hasFunction = appFunctions(['early', 'late', 'missing']);
  durable.app.orchestration('late', orchestrator);
  expect(hasFunction('missing')).toBe(true);
  await runHooks(registry, 'appStart', {});
  expect(['early', 'late', 'missing'].map(hasFunction)).toEqual([true, true, false]);
  expect([...registry.functions.keys()].toSorted()).toEqual(['early', 'late']);
});
