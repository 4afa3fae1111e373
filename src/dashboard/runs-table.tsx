import type { JSX } from 'preact';
import { changed, param } from './address';
import type { Failure } from './api';
import type { Runs, RunSummary } from './model';
import { Badge, Link, Notice, sentence, Skeleton } from './parts';
import { HelpLink } from './help-link';
import { topicOf } from './help-topics';
import { FailureNotice } from './failure-notice';
import { duration, fullTime, zoneOf } from './time';
import { runHref, runTitle } from './timeline';
import { FILTERS, NO_FILTER, RunFilters } from './run-filters';
import { TRIGGER_WORDS } from './words';
import { OUTCOME_LABELS, plural, reasonText } from './words';

export function triggerWord(trigger: RunSummary['trigger']): string {
  return trigger === null ? '' : TRIGGER_WORDS[trigger];
}

/** The choice of runs in the address, as a query of the API. */
export function runsPath(job: string, limit: number): string {
  const query = new URLSearchParams({ job, limit: String(limit) });
  const outcome = param('outcome');
  if (outcome === 'bad') query.set('failed', 'true');
  else if (outcome !== undefined && outcome in OUTCOME_LABELS) query.set('outcome', outcome);
  for (const name of ['trigger', 'channel', 'actor', 'note']) {
    const value = param(name);
    if (value !== undefined) query.set(name, value);
  }
  const cursor = param('cursor');
  if (cursor !== undefined) query.set('cursor', cursor);
  return `runs?${query.toString()}`;
}

interface RunsTableProps {
  readonly runs: Runs | undefined;
  readonly failure: Failure | undefined;
  readonly zone: string | null;
}

export function RunsTable({ runs, failure, zone }: RunsTableProps): JSX.Element {
  return (
    <section>
      <div class="section-head">
        <h2>Runs</h2>
        <RunFilters />
      </div>
      {runs === undefined ? (
        failure === undefined ? (
          <Skeleton rows={8} what="runs" />
        ) : (
          <FailureNotice failure={failure} what="The runs" />
        )
      ) : (
        <Listed runs={runs} zone={zone} />
      )}
    </section>
  );
}

function Listed({
  runs: { runs, problems, cursor },
  zone,
}: {
  readonly runs: Runs;
  readonly zone: string | null;
}): JSX.Element {
  const isFirst = param('cursor') === undefined;
  const isChosen = FILTERS.some((name) => param(name) !== undefined);
  return (
    <>
      {problems.map((problem) => (
        <p key={problem} class="warn foreign">
          {sentence(problem)}
        </p>
      ))}
      {runs.length === 0 ? (
        <Notice title={isChosen ? 'No run matches' : isFirst ? 'No run yet' : 'No older run'}>
          {isChosen ? (
            <p>
              <Link href={changed(NO_FILTER)}>Show all runs</Link>
            </p>
          ) : (
            <p>Every due time appears here with its outcome, whether it runs or not.</p>
          )}
        </Notice>
      ) : (
        <Rows runs={runs} zone={zone} />
      )}
      {(cursor !== null || !isFirst) && (
        <nav class="pages" aria-label="Pages of runs">
          {isFirst ? <span /> : <Link href={changed({ cursor: undefined })}>Newest runs</Link>}
          {cursor !== null && <Link href={changed({ cursor })}>Older runs</Link>}
        </nav>
      )}
    </>
  );
}

const COLUMNS = [
  ['Due', 'r-due'],
  ['Outcome', 'r-outcome'],
  ['Started by', 'r-by'],
  ['Late', 'r-late'],
  ['Took', 'r-took'],
] as const;

function Rows({ runs, zone }: { readonly runs: readonly RunSummary[]; readonly zone: string | null }): JSX.Element {
  return (
    <div class="table slim">
      <table role="table" aria-label="Runs">
        <thead role="rowgroup">
          <tr role="row">
            {COLUMNS.map(([heading, column]) => (
              <th key={heading} role="columnheader" scope="col" class={column}>
                {heading}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {runs.map((run) => (
            <RunRow key={run.runId} run={run} zone={zone} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function RunRow({ run, zone }: { readonly run: RunSummary; readonly zone: string | null }): JSX.Element {
  const { runId, scheduledFor, outcome, reason, trigger, latenessMs, durationMs, count, origin } = run;
  const isPlain = reason === null || reason === 'completed';
  return (
    <tr role="row">
      <td role="cell" class="r-due">
        <Link href={runHref(runId)} class="job">
          <time dateTime={scheduledFor} title={fullTime(Date.parse(scheduledFor), zoneOf(zone))}>
            {runTitle(scheduledFor, zone)}
          </time>
        </Link>
      </td>
      <td role="cell" class="r-outcome">
        <Badge label={OUTCOME_LABELS[outcome]} />{' '}
        <span class="muted foreign">
          {isPlain ? '' : <HelpLink topic={topicOf(outcome, reason)}>{reasonText(reason)}</HelpLink>}
          {count !== null && count > 1 ? ` (${plural(count, 'due time')})` : ''}
        </span>
      </td>
      <td role="cell" class="r-by muted">
        {triggerWord(trigger)}
        {origin !== null && (
          <>
            {' · '}
            <Link href={changed({ actor: origin.actor, cursor: undefined })} class="foreign">
              {origin.actor}
            </Link>
            <span class="second foreign">
              by {origin.channel}
              {origin.reason === undefined ? '' : `: ${origin.reason}`}
            </span>
          </>
        )}
      </td>
      <td role="cell" class="r-late">
        {latenessMs === null || latenessMs < 1_000 ? '' : <span class="warn">{duration(latenessMs)}</span>}
      </td>
      <td role="cell" class="r-took">
        {durationMs === null ? '' : duration(durationMs)}
      </td>
    </tr>
  );
}
