import type { Runs, RunSummary } from '../../client/types';
import { reasonText, wordOf } from '../../core/guide';
import { changed, hasParam, pageOf } from '../data/address';
import { topicOf } from '../data/help-topics';
import { duration, fullTime, zoneOf } from '../data/time';
import { isOpen, noted, OUTCOME_LABELS, plural } from '../data/words';
import { HelpLink, NotYet } from './help';
import { Badge, Link, NoMatch, Notice, OlderPages, OrderChanged, Table, Warnings } from './parts';
import { FILTERS, RunFilters } from './run-filters';
import { type HeldOrder, type Reading, useHeldRuns } from '../data/use-live';
import { runHref, runTitle } from './runs-over-time';

/** A job's page begins with so many of its runs. */
const LATEST = 8;

export function RunsTable({ job, reading }: { readonly job: string; readonly reading: Reading<Runs> }) {
  const { body: runs, failure } = reading;
  const isPart = runs !== undefined && runs.runs.length > LATEST && !hasParam('all', 'cursor', ...FILTERS);
  return (
    <section>
      <div class="section-head">
        <h2>{isPart ? 'Latest runs' : 'Runs'}</h2>
        <RunFilters />
      </div>
      {runs === undefined ? <NotYet failure={failure} what="runs" rows={8} /> : <Held newest={runs} isPart={isPart} />}
      {isPart && (
        <nav class="pages" aria-label="More runs">
          <Link href={changed({ all: '1' })}>More runs of this job</Link>
          <Link href={pageOf({ view: 'runs', of: job })}>On their own page</Link>
        </nav>
      )}
    </section>
  );
}

function Held({ newest, isPart }: { readonly newest: Runs; readonly isPart: boolean }) {
  const { runs, order } = useHeldRuns(newest.runs);
  const shown = isPart ? { runs: runs.slice(0, LATEST), cursor: null } : { runs };
  return <Listed runs={{ ...newest, ...shown }} order={order} />;
}

/** What a person has chosen in a list of the runs of all jobs. */
export interface Selection {
  readonly chosen: ReadonlySet<string>;
  /** Undefined: the person may not act. */
  readonly choose: ((runId: string, isChosen: boolean) => void) | undefined;
}

interface ListedProps {
  readonly runs: Runs;
  readonly order: HeldOrder;
  /** Undefined: the runs are those of one job. */
  readonly selection?: Selection;
}

export function Listed({ runs: { runs, problems, cursor }, order, selection }: ListedProps) {
  return (
    <>
      <div class="newer">
        <OrderChanged order={order} what="list" />
      </div>
      <Warnings texts={problems} />
      {runs.length > 0 ? (
        <Table
          name="Runs"
          kind={`slim runs ${selection === undefined ? '' : 'all-runs'}`}
          columns={[...columnsOf(selection), ...COLUMNS]}
        >
          {runs.map((run) => (
            <RunRow key={run.runId} run={run} selection={selection} />
          ))}
        </Table>
      ) : hasParam(...FILTERS) ? (
        <NoMatch of="run" filters={FILTERS} />
      ) : (
        <Notice title={hasParam('cursor') ? 'No older run' : 'No run yet'}>
          <p>Every due time appears here with its outcome, whether it runs or not.</p>
        </Notice>
      )}
      <OlderPages cursor={cursor} of="runs" />
    </>
  );
}

const COLUMNS = [
  ['Due', 'r-due', 150],
  ['Outcome', 'r-outcome'],
  ['Started by', 'r-by', 140],
  ['Late', 'r-late', 104],
  ['Took', 'r-took', 104],
] as const;

function columnsOf(selection: Selection | undefined) {
  if (selection === undefined) return [];
  const choose = [<span class="visually-hidden">Choose</span>, 'r-choose', 40] as const;
  return [...(selection.choose === undefined ? [] : [choose]), ['Job', 'r-job', 220] as const];
}

/** Whether one request repeats it: it is over, and no stretch of due times. */
function isRepeatable({ outcome, count }: RunSummary): boolean {
  return !isOpen(outcome) && count === 1;
}

interface RunRowProps {
  readonly run: RunSummary;
  readonly selection: Selection | undefined;
}

/** The cells of a list of all jobs. */
function OfAllJobs({ run, selection }: RunRowProps) {
  if (selection === undefined) return null;
  const { job, runId } = run;
  const { chosen, choose } = selection;
  return (
    <>
      {choose !== undefined && (
        <td role="cell" class="r-choose">
          {isRepeatable(run) && (
            <input
              type="checkbox"
              aria-label={`Choose run ${runId}`}
              checked={chosen.has(runId)}
              onChange={({ currentTarget: { checked } }) => choose(runId, checked)}
            />
          )}
        </td>
      )}
      <td role="cell" class="r-job">
        <Link href={pageOf({ job })} class="job">
          {job}
        </Link>
      </td>
    </>
  );
}

function RunRow({ run, selection }: RunRowProps) {
  const { runId, timeZone: zone, scheduledFor, through, outcome, reason, trigger, count, origin, error } = run;
  const { latenessMs, durationMs } = run;
  const isPlain = reason === null || reason === 'completed';
  const late = latenessMs === null || latenessMs < 1_000 ? undefined : duration(latenessMs);
  return (
    <tr role="row">
      <OfAllJobs run={run} selection={selection} />
      <td role="cell" class="r-due">
        <Link href={runHref(runId)} class="job">
          <time dateTime={scheduledFor} title={fullTime(Date.parse(scheduledFor), zoneOf(zone))}>
            {runTitle(scheduledFor, zone)}
          </time>
        </Link>
        {through !== null && <span class="second">to {runTitle(through, zone)}</span>}
      </td>
      <td role="cell" class="r-outcome">
        <Badge label={OUTCOME_LABELS[outcome]} />{' '}
        <span class="muted foreign">
          {isPlain ? '' : <HelpLink topic={topicOf(outcome, reason)}>{reasonText(reason)}</HelpLink>}
          {count !== null && count > 1 ? ` (${plural(count, 'due time')})` : ''}
        </span>
        {error !== null && (
          <span class="second foreign" title={error}>
            {error}
          </span>
        )}
      </td>
      <td role="cell" class="r-by muted">
        {trigger !== null && wordOf(trigger)}
        {origin !== null && (
          <>
            {' · '}
            <Link href={changed({ actor: origin.actor, cursor: undefined })} class="foreign">
              {origin.actor}
            </Link>
            <span class="second foreign">{noted(`by ${origin.channel}`, origin.note)}</span>
          </>
        )}
      </td>
      <td role="cell" class="r-late">
        {late !== undefined && <span class="warn">{late}</span>}
      </td>
      <td role="cell" class="r-took">
        {durationMs === null ? '' : duration(durationMs)}
        {late !== undefined && <span class="second warn on-phone">{late} late</span>}
      </td>
    </tr>
  );
}
