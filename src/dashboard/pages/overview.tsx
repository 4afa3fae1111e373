import { pathOf } from '../../client/operations';
import { SHOWN_STATES, type ShownState, needsAttention, shownState } from '../../core/shown-state';
import { changed, go, param, pageNumber } from '../data/address';
import { DeploymentLine } from './deployments-page';
import { JobsTable } from '../parts/jobs-table';
import type { Job, Jobs } from '../../client/types';
import { Maintenance, StartMaintenance } from '../parts/maintenance';
import { Icon, Link, Notice, Pages, SearchBox, Select, TagSelect } from '../parts/parts';
import { FailedLately } from './runs-page';
import { plural, STATE_LABELS } from '../data/words';
import { useBegun, useLive } from '../data/use-live';
import { NotYet, ProblemsNotice } from '../parts/help';

const PAGE = 100;
const FOLDED_ROWS = 12;

export function Overview() {
  const { body, failure } = useLive(pathOf('listJobs'));
  if (body !== undefined) return <Loaded all={body as Jobs} />;
  return (
    <>
      <h1>Jobs</h1>
      <NotYet failure={failure} what="jobs" rows={FOLDED_ROWS} />
    </>
  );
}

function Loaded({ all }: { readonly all: Jobs }) {
  const { deployments, maintenance, problems } = all;
  const jobs = useBegun(all.jobs);
  const listed = listedOf(searchedOf(jobs));
  const attention = jobs.filter((job) => needsAttention(job)).length;
  return (
    <>
      <div class="title">
        <h1>Jobs</h1>
        <p class="muted">
          {attention === 0 ? 'No job needs attention' : `${plural(attention, 'job needs', 'jobs need')} attention`}
        </p>
        <FailedLately jobs={jobs} />
        {jobs.length > 0 && <Search jobs={jobs} />}
      </div>
      <div class="with-actions">
        <DeploymentLine deployments={deployments} />
        {jobs.length > 0 && <StartMaintenance scope={{ all: jobs, listed: isFiltered() ? listed : undefined }} />}
      </div>
      {maintenance.length > 0 && <Maintenance works={maintenance} jobs={jobs} />}
      <ProblemsNotice problems={problems} />
      {jobs.length === 0 ? <NoJobs /> : <Chosen jobs={jobs} />}
    </>
  );
}

function NoJobs() {
  return (
    <Notice title="There are no jobs yet">
      <p>Add a job to jobs.json, write its handler, and deploy the app. The job appears here with the next tick.</p>
    </Notice>
  );
}

type Sort = 'worst' | 'name' | 'last' | 'next';

function Chosen({ jobs }: { readonly jobs: readonly Job[] }) {
  const [state, tag, q] = [param('state'), param('tag'), param('q')];
  const sort = (['name', 'last', 'next'] as const).find((one) => one === param('sort')) ?? 'worst';
  const searched = searchedOf(jobs);
  const chosen = listedOf(searched).toSorted(ORDERS[sort]);
  const page = Math.min(Math.max(1, Math.ceil(chosen.length / PAGE)), pageNumber());
  const shown = chosen.slice((page - 1) * PAGE, page * PAGE);
  return (
    <>
      <Filters searched={searched} state={state} />
      <JobsTable
        all={jobs}
        wanted={shown.map(({ name }) => name)}
        choice={JSON.stringify([state, tag, q, sort, page])}
        sort={sort}
      />
      {chosen.length === 0 && (
        <Notice title="No job matches">
          <p>
            <Link href={changed({ state: undefined, tag: undefined, q: undefined, page: undefined })}>
              Show all jobs
            </Link>
          </p>
        </Notice>
      )}
      <Pages page={page} size={PAGE} count={chosen.length} of="jobs" />
    </>
  );
}

function isFiltered(): boolean {
  return ['state', 'tag', 'q'].some((name) => param(name) !== undefined);
}

/** The jobs that the search and the tag leave. */
function searchedOf(jobs: readonly Job[]): readonly Job[] {
  const tag = param('tag');
  const words = (param('q') ?? '').toLowerCase().split(/\s+/).filter(Boolean);
  return jobs.filter((job) => (tag === undefined || job.tags.includes(tag)) && words.every((word) => isIn(job, word)));
}

function listedOf(searched: readonly Job[]): readonly Job[] {
  const state = param('state');
  return searched.filter((job) => isInState(job, state));
}

function isIn({ name, description, tags }: Job, word: string): boolean {
  return [name, description ?? '', ...tags].some((text) => text.toLowerCase().includes(word));
}

function isInState(job: Job, state: string | undefined): boolean {
  if (state === undefined) return true;
  return state === 'attention' ? needsAttention(job) : shownState(job) === state;
}

const LAST = '~';

const ORDERS: Readonly<Record<Sort, (a: Job, b: Job) => number>> = {
  worst: (a, b) => rankOf(shownState(a)) - rankOf(shownState(b)) || b.failures - a.failures || compare(a.name, b.name),
  name: (a, b) => compare(a.name, b.name),
  last: (a, b) => compare(b.lastRun?.scheduledFor ?? '', a.lastRun?.scheduledFor ?? '') || compare(a.name, b.name),
  next: (a, b) => compare(a.nextDueAt ?? LAST, b.nextDueAt ?? LAST) || compare(a.name, b.name),
};

/** A run that starts or ends makes a job neither better nor worse, and so it does not change the order. */
function rankOf(state: ShownState): number {
  return SHOWN_STATES.indexOf(state === 'running' || state === 'waiting' ? 'idle' : state);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

interface FiltersProps {
  readonly searched: readonly Job[];
  readonly state: string | undefined;
}

/** The counts are filters. They count what the search and the tag leave. */
function Filters({ searched, state }: FiltersProps) {
  const counts = new Map<ShownState, number>();
  for (const job of searched) counts.set(shownState(job), (counts.get(shownState(job)) ?? 0) + 1);
  const attention = searched.filter((job) => needsAttention(job)).length;
  return (
    <nav class="chips" aria-label="Jobs by state">
      <Chip label="All" count={searched.length} value={undefined} state={state} />
      <Chip
        label="Need attention"
        count={attention}
        value="attention"
        state={state}
        tone={attention > 0 ? 'bad' : undefined}
      />
      {SHOWN_STATES.filter((one) => counts.has(one) || one === state).map((one) => (
        <Chip
          key={one}
          label={STATE_LABELS[one].word}
          count={counts.get(one) ?? 0}
          value={one}
          state={state}
          icon={one}
        />
      ))}
    </nav>
  );
}

interface ChipProps {
  readonly label: string;
  readonly count: number;
  readonly value: string | undefined;
  readonly state: string | undefined;
  readonly tone?: 'bad' | undefined;
  readonly icon?: ShownState;
}

function Chip({ label, count, value, state, tone, icon }: ChipProps) {
  const badge = icon && STATE_LABELS[icon];
  return (
    <Link
      href={changed({ state: value, page: undefined })}
      class={`chip ${tone ?? badge?.tone ?? ''}`}
      current={value === state}
    >
      {badge !== undefined && <Icon name={badge.icon} />}
      {label} <b>{count}</b>
    </Link>
  );
}

function Search({ jobs }: { readonly jobs: readonly Job[] }) {
  const tags = [...new Set(jobs.flatMap((job) => job.tags))].sort();
  return (
    <div class="narrow">
      <SearchBox of="jobs" />
      <SortSelect />
      {(tags.length > 0 || param('tag') !== undefined) && <TagSelect tags={tags} />}
    </div>
  );
}

const SORTS: Readonly<Record<Sort, string>> = {
  worst: 'Worst first',
  name: 'By name',
  last: 'By last run',
  next: 'By next due',
};

function SortSelect() {
  return (
    <Select
      class="sort"
      label="Sort"
      value={param('sort') ?? 'worst'}
      options={Object.entries(SORTS)}
      choose={(sort) => go(changed({ sort: sort === 'worst' ? undefined : sort, page: undefined }))}
    />
  );
}
