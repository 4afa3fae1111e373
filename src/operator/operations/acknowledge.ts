import type { EpochMs, JobName } from '../../core/brand';
import { type Acknowledgement, acknowledgeEpisode } from '../../core/episode';
import type { LeaseStore } from '../../lease/store';
import { type Acting, type Recorded, operate } from '../audit';
import { type ChangeOptions, changeControl, checkNote } from '../change-control';
import type { JobState } from '../job-state';
import { OperatorError } from '../operator-error';
import type { Subject } from '../subject';
import { type JobEpisode, jobEpisode, outcomesOf, overdueFrom } from '../views/episode';
import { type ListedAcknowledgement, listedAcknowledgement } from '../views/job-status';

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

/** An acknowledgement that was written, or removed. */
interface Acknowledged {
  readonly acknowledgement: Acknowledgement;
  /** The one that was in force before. */
  readonly before: Acknowledgement | undefined;
  readonly episode: JobEpisode;
}

/**
 * Acknowledges the episode of a job that fails or is overdue. It replaces the acknowledgement that is in force, and ends
 * with the next success.
 *
 * @param acknowledgement.until when it is to end, if the episode has not ended before
 * @throws OperatorError `NothingToAcknowledge`, `NoteTooLong`, `PastEnd`, `ControlFull`
 */
export async function acknowledge(
  store: LeaseStore,
  subject: Subject,
  { by, note, until }: Pick<Acknowledgement, 'by' | 'note' | 'until'>,
  options?: ChangeOptions,
): Promise<Acknowledged> {
  checkNote({ by, note });
  return changeControl(
    store,
    subject,
    (state) => {
      const episode = episodeIn(subject, state);
      if (episode === undefined) {
        throw new OperatorError(
          'NothingToAcknowledge',
          `job "${subject.name}" neither fails nor is overdue: there is nothing to acknowledge`,
        );
      }
      if (until !== undefined && until <= state.now) {
        const at = new Date(until).toISOString();
        const message = `the acknowledgement is to end at ${at}, which is past: give a later end, or none`;
        throw new OperatorError('PastEnd', message);
      }
      const acknowledgement = acknowledgeEpisode(episode, { by, note, at: state.now, until });
      return {
        control: { ...state.control, acknowledgement },
        result: { acknowledgement, before: episode.acknowledgement, episode },
      };
    },
    options,
  );
}

/**
 * Removes the acknowledgement of a job's episode.
 *
 * @returns the one that was removed
 * @throws OperatorError `NotAcknowledged`
 */
export function unacknowledge(store: LeaseStore, subject: Subject, options?: ChangeOptions): Promise<Acknowledgement> {
  return changeControl(
    store,
    subject,
    (state) => {
      const acknowledgement = episodeIn(subject, state)?.acknowledgement;
      if (acknowledgement === undefined) {
        throw new OperatorError('NotAcknowledged', `job "${subject.name}" has no acknowledgement in force`);
      }
      return { control: { ...state.control, acknowledgement: undefined }, result: acknowledgement };
    },
    options,
  );
}

function episodeIn(subject: Subject, state: JobState): JobEpisode | undefined {
  const { row } = state;
  if (row === undefined || row.forgotten !== undefined) return undefined;
  const outcomes = outcomesOf(subject, row, state);
  const overdueSince = subject.spec && overdueFrom(subject.spec, row, state, outcomes);
  return jobEpisode(outcomes, state, overdueSince);
}
