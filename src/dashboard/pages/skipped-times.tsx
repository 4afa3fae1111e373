import { signal } from '@preact/signals';
import { pathOf } from '../../client/operations';
import { useEffect, useRef } from 'preact/hooks';
import { ApiError, type Failure, read } from '../data/api';
import { pageOf } from '../data/address';
import type { DueTimes, Resumed } from '../../client/types';
import { EnvironmentChip, Link, Warnings } from '../parts/parts';
import { fullTime, zoneOf } from '../data/time';
import { plural } from '../data/words';
import { FailureLine } from '../parts/help';

/** The most due times that are listed of one job. */
const SHOWN = 10;
const ASKED = 200;

type Ended = Pick<Resumed, 'job' | 'pause'>;

interface SkippedTimes {
  readonly job: string;
  readonly timeZone: string;
  readonly due: readonly string[];
  /** Whether there are more than `due` has. */
  readonly isMore: boolean;
}

interface Report {
  readonly jobs: readonly SkippedTimes[];
  /** The jobs that stay paused, with the reason. */
  readonly refused: readonly { readonly job: string; readonly problem: string }[];
  /** Why the due times cannot be listed. */
  readonly failure: Failure | undefined;
}

const report = signal<Report | undefined>(undefined);

/**
 * Shows which due times the ended pauses skipped, if there are any.
 *
 * @param which the jobs, as a query of `GET next`
 */
export async function reportSkippedTimes(
  ended: readonly Ended[],
  which: string,
  refused: Report['refused'] = [],
): Promise<void> {
  const { jobs, failure } = await skippedIn(ended, which);
  if (jobs.length > 0 || refused.length > 0 || failure !== undefined) report.value = { jobs, refused, failure };
}

async function skippedIn(
  ended: readonly Ended[],
  which: string,
): Promise<{ readonly jobs: readonly SkippedTimes[]; readonly failure: Failure | undefined }> {
  if (ended.length === 0) return { jobs: [], failure: undefined };
  const pauses = new Map(ended.map(({ job, pause }) => [job, pause]));
  const from = Math.min(...ended.map(({ pause }) => Date.parse(pause.since))) - 1;
  const until = Math.max(...ended.map(({ pause }) => Date.parse(pause.until ?? pause.since)));
  const query = `${pathOf('listDueTimes')}?${which}&from=${new Date(from).toISOString()}&until=${new Date(until).toISOString()}`;
  try {
    const { body } = await read(`${query}&count=${String(ASKED)}`);
    const jobs = (body as DueTimes).jobs.map(({ job, timeZone, due, complete }) => {
      const pause = pauses.get(job);
      const [since, end] = [Date.parse(pause?.since ?? ''), Date.parse(pause?.until ?? '')];
      const inPause = due
        .map(({ startsAt }) => startsAt)
        .filter((at) => Date.parse(at) >= since && Date.parse(at) < end);
      return { job, timeZone, due: inPause, isMore: !complete };
    });
    return { jobs: jobs.filter(({ job, due }) => pauses.has(job) && due.length > 0), failure: undefined };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { jobs: [], failure: error.failure };
  }
}

/** The due times that a pause skipped, as soon as it has ended. */
export function SkippedTimesDialog() {
  return report.value === undefined ? null : <Open report={report.value} />;
}

function close(): void {
  report.value = undefined;
}

function Open({ report: { jobs, refused, failure } }: { readonly report: Report }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} aria-labelledby="skipped-times-title" onClose={close}>
      <form method="dialog">
        <EnvironmentChip />
        <h2 id="skipped-times-title">
          {jobs.length === 0 && refused.length > 0 ? 'Some jobs stay paused' : 'Skipped due times'}
        </h2>
        {jobs.length > 0 && <p>They do not run by themselves. Run those again that are needed.</p>}
        {failure !== undefined && (
          <FailureLine
            failure={failure}
            before="The due times cannot be listed now, but the runs of each job name them: "
          />
        )}
        <div class="skipped-times" tabIndex={0}>
          {jobs.map((one) => (
            <Missed key={one.job} missed={one} />
          ))}
          <Warnings texts={refused.map(({ problem }) => problem)} />
        </div>
        <div class="buttons">
          <button type="submit" class="primary">
            Close
          </button>
        </div>
      </form>
    </dialog>
  );
}

function Missed({ missed: { job, timeZone, due, isMore } }: { readonly missed: SkippedTimes }) {
  const more = due.length - SHOWN;
  return (
    <div>
      <p onClick={close}>
        <Link href={pageOf({ job })}>{job}</Link>{' '}
        <span class="muted">
          {plural(due.length, 'due time')}
          {isMore ? ' and more' : ''}
        </span>
      </p>
      <ol class="due">
        {due.slice(0, SHOWN).map((at) => (
          <li key={at}>
            <time dateTime={at}>{fullTime(Date.parse(at), zoneOf(timeZone))}</time>
          </li>
        ))}
      </ol>
      {(more > 0 || isMore) && (
        <p class="muted">and {more > 0 ? plural(more, 'more', 'more') : 'more'}, which its runs list.</p>
      )}
    </div>
  );
}
