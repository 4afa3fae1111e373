import { given } from '../../core/given';
import { pathOf } from '../../client/operations';
import { changed, pageOf, param, hoursOf } from '../data/address';
import { now } from '../data/live';
import type { Failure } from '../data/api';
import { type HeldOrder, useHeldRuns } from '../data/held-order';
import type { Runs, RunSummary } from '../../client/types';
import { Badge, Link, Notice, OlderPages, OrderChanged, Table, Warnings } from './parts';
import { topicOf } from '../data/help-topics';
import { duration, fullTime, zoneOf } from '../data/time';
import { runHref, runTitle } from './runs-over-time';
import { FILTERS, NO_FILTER, RunFilters } from './run-filters';
import { reasonText, wordOf } from '../../core/guide';
import { OUTCOME_LABELS, plural } from '../data/words';
import { HelpLink, NotYet } from './help';

export function triggerWord(trigger: RunSummary['trigger']): string {
  return trigger === null ? '' : wordOf(trigger);
}

/**
 * The choice of runs in the address, as a query of the API.
 *
 * @param job undefined: the runs of all jobs, or of those in the address
 * @param until the end of the hours in the address. It stands still while a page is open, and so does the list.
 */
export function runsPath(job: string | undefined, limit: number, until = now.peek()): string {
  const query = new URLSearchParams({ ...given({ job }), limit: String(limit) });
  if (job === undefined) addScope(query, until);
  const outcome = param('outcome');
  if (outcome === 'bad') query.set('failed', 'true');
  else if (outcome !== undefined && outcome in OUTCOME_LABELS) query.set('outcome', outcome);
  for (const name of ['trigger', 'channel', 'actor', 'note']) {
    const value = param(name);
    if (value !== undefined) query.set(name, value);
  }
  const cursor = param('cursor');
  if (cursor !== undefined) query.set('cursor', cursor);
  return `${pathOf('listRuns')}?${query.toString()}`;
}

function addScope(query: URLSearchParams, until: number): void {
  const [of, tag, hours] = [param('of'), param('tag'), hoursOf(param('hours'))];
  if (of !== undefined) query.set('job', of);
  if (tag !== undefined) query.set('tag', tag);
  if (hours !== undefined) query.set('since', new Date(until - hours * 3_600_000).toISOString());
}

/** A job's page begins with so many of its runs. */
const LATEST = 8;

interface RunsTableProps {
  readonly job: string;
  readonly runs: Runs | undefined;
  readonly failure: Failure | undefined;
}

export function RunsTable({ job, runs, failure }: RunsTableProps) {
  const isPart = runs !== undefined && runs.runs.length > LATEST && !isAsked();
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

interface HeldProps {
  readonly newest: Runs;
  readonly isPart: boolean;
}

function Held({ newest, isPart }: HeldProps) {
  const { runs, order } = useHeldRuns(newest.runs);
  const shown = isPart ? { runs: runs.slice(0, LATEST), cursor: null } : { runs };
  return (
    <>
      <ListChanged order={order} />
      <Listed runs={{ ...newest, ...shown }} />
    </>
  );
}

export function ListChanged({ order }: { readonly order: HeldOrder }) {
  return (
    <div class="newer">
      <OrderChanged order={order} what="The list has changed." />
    </div>
  );
}

/** Whether the address asks for more than the latest runs. */
function isAsked(): boolean {
  return ['all', 'cursor', ...FILTERS].some((name) => param(name) !== undefined);
}

interface ListedProps {
  readonly runs: Runs;
  /** The runs that a person has chosen. Undefined: none can be. The runs are then those of one job. */
  readonly selection?: Selection;
}

export interface Selection {
  readonly chosen: ReadonlySet<string>;
  /** Undefined: the person may not act. */
  readonly choose: ((runId: string, isChosen: boolean) => void) | undefined;
}

export function Listed({ runs: { runs, problems, cursor }, selection }: ListedProps) {
  const isFirst = param('cursor') === undefined;
  const isChosen = FILTERS.some((name) => param(name) !== undefined);
  return (
    <>
      <Warnings texts={problems} />
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
        <Rows runs={runs} selection={selection} />
      )}
      <OlderPages cursor={cursor} of="runs" />
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

interface RowsProps {
  readonly runs: readonly RunSummary[];
  readonly selection: Selection | undefined;
}

function Rows({ runs, selection }: RowsProps) {
  const columns = [
    ...(selection?.choose === undefined ? [] : ([[<span class="visually-hidden">Choose</span>, 'r-choose']] as const)),
    ...(selection === undefined ? [] : ([['Job', 'r-job']] as const)),
    ...COLUMNS,
  ];
  return (
    <Table name="Runs" kind={`runs ${selection === undefined ? '' : 'all-runs'}`} columns={columns}>
      {runs.map((run) => (
        <RunRow key={run.runId} run={run} selection={selection} />
      ))}
    </Table>
  );
}

/** Whether one request repeats it: it is over, and no stretch of due times. */
function isRepeatable({ outcome, count }: RunSummary): boolean {
  return outcome !== 'running' && outcome !== 'retrying' && count === 1;
}

interface RunRowProps extends Omit<RowsProps, 'runs'> {
  readonly run: RunSummary;
}

/** The cells of a list of all jobs. */
function OfAllJobs({ run, selection: { chosen, choose } }: RunRowProps & { readonly selection: Selection }) {
  const { job, runId } = run;
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
  const { timeZone: zone } = run;
  const { runId, scheduledFor, through, outcome, reason, trigger, latenessMs, durationMs, count, origin, error } = run;
  const isPlain = reason === null || reason === 'completed';
  const late = latenessMs === null || latenessMs < 1_000 ? undefined : duration(latenessMs);
  return (
    <tr role="row">
      {selection !== undefined && <OfAllJobs run={run} selection={selection} />}
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
        {triggerWord(trigger)}
        {origin !== null && (
          <>
            {' · '}
            <Link href={changed({ actor: origin.actor, cursor: undefined })} class="foreign">
              {origin.actor}
            </Link>
            <span class="second foreign">
              by {origin.channel}
              {origin.note === undefined ? '' : `: ${origin.note}`}
            </span>
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
