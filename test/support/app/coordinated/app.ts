import * as df from 'durable-functions';
import { appendFileSync } from 'node:fs';
import { type OrchestrationRun, defineOrchestration, fenceOf, registerCoordinator } from '../../../../src/index';
import { handlers } from './handlers';

interface Step {
  readonly index: number;
  readonly ms: number;
  readonly cronlease: OrchestrationRun;
}

function note(what: string, { index, cronlease: { job, scheduledFor, attempt, token } }: Step): void {
  const line = { what, job, scheduledFor: Date.parse(scheduledFor), attempt, token, index };
  appendFileSync(process.env['NOTES'] ?? '', `${JSON.stringify({ ...line, pid: process.pid, at: Date.now() })}\n`);
}

df.app.activity('step', {
  handler: async (step: Step) => {
    await fenceOf(step.cronlease).check();
    note('begun', step);
    await new Promise((resolve) => setTimeout(resolve, step.ms));
    await fenceOf(step.cronlease).check();
    note('done', step);
    return step.index;
  },
});

interface Steps {
  readonly input: { readonly count: number; readonly ms: number; readonly fails?: number; readonly stuck?: boolean };
  readonly cronlease: OrchestrationRun;
}

df.app.orchestration('steps', function* (context) {
  const { input, cronlease } = context.df.getInput<Steps>();
  const done: unknown[] = [];
  for (let index = 1; index <= input.count; index += 1) {
    context.df.setCustomStatus(`step ${String(index)} of ${String(input.count)}`);
    done.push(yield context.df.callActivity('step', { index, ms: input.ms, cronlease }));
  }
  if (cronlease.attempt < (input.fails ?? 0)) throw new Error(`attempt ${String(cronlease.attempt)} fails`);
  if (input.stuck === true) done.push(yield context.df.waitForExternalEvent('cronlease.cancel'));
  return { done };
});

registerCoordinator({
  jobs: 'jobs.json',
  handlers: {
    ...handlers,
    steps: defineOrchestration({ orchestrator: 'steps', takeOverAfter: '1m' }),
    missing: defineOrchestration({ orchestrator: 'missing' }),
  },
});
