import { setTimeout as sleep } from 'node:timers/promises';
import * as df from 'durable-functions';
import type { OrchestrationContext } from 'durable-functions';
import { type OrchestrationRun, defineOrchestration, fenceOf } from '../../src/index';
import { sampleContainer } from './containers';

const STEPS = ['collect', 'check', 'publish'] as const;
/** A step takes so long: time to kill its process. */
const STEP_MS = 8_000;

/** One step: its report is written once, or by the orchestration that leads. */
interface Step {
  readonly step: string;
  readonly cronlease: OrchestrationRun;
}

/** Three steps, one after another. Durable continues with the one that is not done. */
export function* closeBooksSteps({ df: steps }: OrchestrationContext) {
  const { cronlease } = steps.getInput<{ cronlease: OrchestrationRun }>();
  const reports: unknown[] = [];
  for (const [index, step] of STEPS.entries()) {
    steps.setCustomStatus({ note: step, fraction: index / STEPS.length });
    reports.push(yield steps.callActivity('closeBooksStep', { step, cronlease } satisfies Step));
  }
  return { reports };
}

/** Carries out a step, and writes its report through the fence of its orchestration. */
export async function closeBooksStep({ step, cronlease }: Step, stepMs = STEP_MS): Promise<string> {
  const fence = fenceOf(cronlease);
  await fence.check();
  await sleep(stepMs);
  const reports = sampleContainer('reports');
  await reports.createIfNotExists();
  const name = `close-books/${cronlease.runId}/${step}.json`;
  const report = { step, attempt: cronlease.attempt, writtenAt: new Date().toISOString() };
  await fence.write(reports.getBlockBlobClient(name), JSON.stringify(report), { contentType: 'application/json' });
  return name;
}

/** Registers what Durable calls for the job `close-books`. */
export function registerCloseBooks(): void {
  df.app.orchestration('closeBooks', closeBooksSteps);
  df.app.activity('closeBooksStep', { handler: (step: Step) => closeBooksStep(step) });
}

export const closeBooks = defineOrchestration({ orchestrator: 'closeBooks' });
