import type { JSX } from 'preact';
import { Ago, Fact, Link, Since, Time } from './parts';
import type { Job } from '../data/model';
import { runHref } from './runs-over-time';
import { plural } from '../data/words';
interface IncidentFactProps {
  readonly incident: NonNullable<Job['incident']>;
  readonly zone: string | null;
}

/** The failures of a job until its next success, and who looks after them. */
export function IncidentFact({ incident, zone }: IncidentFactProps): JSX.Element {
  const { since, isWhole, failures, firstRunId, acknowledgement } = incident;
  return (
    <>
      <Fact name={failures === 0 ? 'Without success' : 'Failing'}>
        {firstRunId === null ? (
          <Since at={since} zone={zone} />
        ) : (
          <>
            since {isWhole ? '' : 'before '}
            <Link href={runHref(firstRunId)}>
              <Time at={since} zone={zone} />
            </Link>
          </>
        )}
        <span class="second">{failures === 0 ? 'no run has failed' : plural(failures, 'failed run')}</span>
      </Fact>
      {acknowledgement !== null && (
        <Fact name="Acknowledged">
          <span class="foreign">
            by {acknowledgement.by}
            {acknowledgement.note === '' ? '' : `: ${acknowledgement.note}`}
          </span>
          <span class="second">
            <Ago at={acknowledgement.at} zone={zone} />, until{' '}
            {acknowledgement.until === null ? 'its next success' : <Time at={acknowledgement.until} zone={zone} />}
          </span>
        </Fact>
      )}
    </>
  );
}
