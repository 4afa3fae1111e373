import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { pathOf } from '../../client/operations';
import type { DueTimes, PausedMany, Resumed } from '../../client/types';
import { pageOf } from '../data/address';
import { type Failure, failureIn, read } from '../data/api';
import { fullTime, zoneOf } from '../data/time';
import { plural } from '../data/words';
import { FailureLine } from '../parts/help';
import { EnvironmentChip, Link, Warnings } from '../parts/parts';

/** The most due times that are listed of one job. */
const SHOWN = 10;
const ASKED = 200;

interface Skipped {
  /** Each with the due times in its pause. */
  readonly jobs: DueTimes['jobs'];
  /** Why the due times cannot be listed. */
  readonly failure?: Failure;
}

interface Report extends Skipped {
  /** The jobs that stay paused, with the reason. */
  readonly refused: PausedMany['refused'];
}

const report = signal<Report | undefined>(undefined);

/**
 * Shows which due times the ended pauses skipped, if there are any.
 *
 * @param which the jobs, as a query of `GET next`
 */
export async function reportSkippedTimes(
  ended: readonly Pick<Resumed, 'job' | 'pause'>[],
  which: Readonly<Record<string, string>>,
  refused: PausedMany['refused'] = [],
): Promise<void> {
  const skipped = ended.length === 0 ? { jobs: [] } : await skippedIn(ended, which);
  if (skipped.jobs.length > 0 || refused.length > 0 || skipped.failure !== undefined) {
    report.value = { ...skipped, refused };
  }
}

async function skippedIn(
  ended: readonly Pick<Resumed, 'job' | 'pause'>[],
  which: Readonly<Record<string, string>>,
): Promise<Skipped> {
  const pauses = new Map(
    ended.map(({ job, pause: { since, until } }) => [job, [Date.parse(since), Date.parse(until ?? since)] as const]),
  );
  const from = new Date(Math.min(...[...pauses.values()].map(([since]) => since)) - 1);
  const until = new Date(Math.max(...[...pauses.values()].map(([, end]) => end)));
  try {
    const { body } = await read(pathOf('listDueTimes', [], { ...which, from, until, count: ASKED }));
    const jobs = (body as DueTimes).jobs.map((one) => {
      const [since, end] = pauses.get(one.job) ?? [0, 0];
      return {
        ...one,
        due: one.due.filter(({ startsAt }) => Date.parse(startsAt) >= since && Date.parse(startsAt) < end),
      };
    });
    return { jobs: jobs.filter(({ due }) => due.length > 0) };
  } catch (error) {
    return { jobs: [], failure: failureIn(error) };
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

function Missed({ missed: { job, timeZone, due, complete } }: { readonly missed: DueTimes['jobs'][number] }) {
  const more = due.length - SHOWN;
  return (
    <div>
      <p onClick={close}>
        <Link href={pageOf({ job })}>{job}</Link>{' '}
        <span class="muted">
          {plural(due.length, 'due time')}
          {complete ? '' : ' and more'}
        </span>
      </p>
      <ol class="due">
        {due.slice(0, SHOWN).map(({ startsAt }) => (
          <li key={startsAt}>
            <time dateTime={startsAt}>{fullTime(Date.parse(startsAt), zoneOf(timeZone))}</time>
          </li>
        ))}
      </ol>
      {(more > 0 || !complete) && (
        <p class="muted">and {more > 0 ? plural(more, 'more', 'more') : 'more'}, which its runs list.</p>
      )}
    </div>
  );
}
