import type { EpochMs, JobName } from '../../core/brand';
import { type Acknowledged, acknowledge, unacknowledge } from '../acknowledge';
import { type Acting, type Recorded, operate } from '../audit';
import { type ListedAcknowledgement, listedAcknowledgement } from '../views/job-status';
import type { Subject } from '../subject';

interface Answer {
  readonly job: JobName;
  readonly acknowledgement: ListedAcknowledgement;
}

export interface AcknowledgeTerms {
  /** Default: the actor. */
  readonly by?: string | undefined;
  readonly until: EpochMs | undefined;
}

/** Acknowledges the failures of a job until its next success: see `acknowledge`. */
export function ack(
  acting: Acting,
  subject: Subject,
  { by = acting.origin.actor, until }: AcknowledgeTerms,
): Promise<Recorded<Answer & Pick<Acknowledged, 'episode'>>> {
  return operate(acting, 'ack', subject.name, async () => {
    const { note = '' } = acting.origin;
    const { acknowledgement, before, episode } = await acknowledge(acting.store, subject, { by, note, until }, acting);
    const after = listedAcknowledgement(acknowledgement);
    const answer = { job: subject.name, acknowledgement: after, episode };
    return { answer, before: before && listedAcknowledgement(before), after };
  });
}

/** Removes the acknowledgement of a job: see `unacknowledge`. */
export function unack(acting: Acting, subject: Subject): Promise<Recorded<Answer>> {
  return operate(acting, 'unack', subject.name, async () => {
    const before = listedAcknowledgement(await unacknowledge(acting.store, subject, acting));
    return { answer: { job: subject.name, acknowledgement: before }, before, after: null };
  });
}
