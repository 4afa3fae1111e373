import type { EpochMs, ETag, Millis } from '../../core/brand';
import { ForeignMetadataError } from '../../core/metadata';
import { untilAnswered } from '../../lease/deadline';
import { backfillWatch } from '../backfills';
import { completeRow } from '../complete-row';
import type { Coordinator, RunnableJob } from '../coordinator';
import { type JobDecision, decideRow } from '../decide-row';
import { type HandedOver, packRow, unpackRow } from '../message';
import { requiredWatch } from '../required';

/**
 * Decides again on a hand-over that came late, whose lease was acquired again: Durable keeps a message for as long as
 * no host runs, and meanwhile the due time may have expired, or the job was paused. The claim may then be one of a
 * newer due time, so that a task hub that is always late keeps no job from running. Decision 056.
 *
 * @param acquiredAt the service's Date of the new acquisition: no instance was at work before
 * @returns undefined where nothing is to be claimed now: the ticks decide what becomes of the due time
 */
export async function decideAgain(
  coordinator: Coordinator,
  job: RunnableJob,
  input: HandedOver,
  acquiredAt: EpochMs,
  remaining: () => Millis,
): Promise<HandedOver | undefined> {
  const { store } = coordinator;
  const { name } = job.spec;
  const listing = await untilAnswered(coordinator, remaining, (signal) => store.list({ job: name, signal }));
  const { row, control, date: listedAt = acquiredAt } = listing.jobs.get(name) ?? {};
  if (row === undefined) return undefined;
  const notes = {
    version: undefined,
    unanswered: { etag: input.etag as ETag, lease: input.lease },
    lookAheadMs: undefined,
    handedOver: unpackRow(input.row).run?.scheduledFor,
  };
  const state = { coordinator, required: requiredWatch(coordinator), backfills: backfillWatch(coordinator) };
  const decided = await unlessForeign(decideRow(state, job, notes, { row, control, listedAt }));
  if (decided?.decision.kind !== 'claim') return undefined;
  const { claim } = decided.decision;
  if (claim.what !== 'first') return undefined;
  return { ...input, acquiredAt, row: packRow(completeRow(claim, acquiredAt, coordinator.deployment)) };
}

/** A tick reports a row or a control that is not cronlease's. */
async function unlessForeign(deciding: Promise<JobDecision>): Promise<JobDecision | undefined> {
  try {
    return await deciding;
  } catch (error) {
    if (error instanceof ForeignMetadataError) return undefined;
    throw error;
  }
}
