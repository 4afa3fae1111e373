import type { ComponentChildren } from 'preact';
import { pathOf } from '../../client/operations';
import type { Job, Jobs } from '../../client/types';
import { SHOWN_STATES, type ShownState, needsAttention, shownState } from '../../core/shown-state';
import { endMaintenance, maintained, startMaintenance } from '../data/actions';
import { changed, hasParam, pageNumber, param } from '../data/address';
import { mayAct } from '../data/session';
import { useBegun, useLive } from '../data/use-live';
import { plural, STATE_LABELS, type Tone } from '../data/words';
import { Ask } from '../parts/action-dialog';
import { NotYet, ProblemsNotice } from '../parts/help';
import { JobsTable } from '../parts/jobs-table';
import { Icon, Link, NoJobs, NoMatch, Notice, Pages, SearchBox, Select, TagSelect, Time } from '../parts/parts';
import { DeploymentLine } from './deployments-page';
import { FailedLately } from './runs-page';

const PAGE = 100;
const FOLDED_ROWS = 12;
const FILTERS = ['state', 'tag', 'q'] as const;

export function Overview() {
  const { body, failure } = useLive<Jobs>(pathOf('listJobs'));
  if (body !== undefined) return <Loaded all={body} />;
  return (
    <>
      <h1>Jobs</h1>
      <NotYet failure={failure} what="jobs" rows={FOLDED_ROWS} />
    </>
  );
}

interface Asked {
  readonly jobs: readonly Job[];
  /** Those that the search and the tag leave. */
  readonly searched: readonly Job[];
  /** Those of them in the chosen state. */
  readonly listed: readonly Job[];
}

function Loaded({ all: { jobs: answered, deployments, maintenance, problems } }: { readonly all: Jobs }) {
  const jobs = useBegun(answered);
  const asked = askedOf(jobs);
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
        {jobs.length > 0 && mayAct.value && (
          <Ask action={startMaintenance({ all: jobs, listed: hasParam(...FILTERS) ? asked.listed : undefined })} />
        )}
      </div>
      {maintenance.length > 0 && <Maintenance maintenance={maintenance} jobs={jobs} />}
      <ProblemsNotice problems={problems} />
      {jobs.length === 0 ? <NoJobs /> : <Chosen {...asked} />}
    </>
  );
}

/** All can see that jobs stand still on purpose. */
function Maintenance({ maintenance, jobs }: Pick<Jobs, 'maintenance' | 'jobs'>) {
  return (
    <Notice title="Maintenance" tone="warn">
      {maintenance.map((work) => (
        <div key={`${work.since} ${work.jobs}`} class="work">
          <p class="foreign">
            {work.by} paused {maintained(work)}: {work.note}. Since <Time at={work.since} zone={null} />
            {work.until === null ? '' : ', until '}
            {work.until !== null && <Time at={work.until} zone={null} />}.
          </p>
          {mayAct.value && <Ask action={endMaintenance(work, jobs)} />}
        </div>
      ))}
    </Notice>
  );
}

type Sort = 'worst' | 'name' | 'last' | 'next';

function Chosen({ jobs, searched, listed }: Asked) {
  const [state, tag, q] = [param('state'), param('tag'), param('q')];
  const sort = (['name', 'last', 'next'] as const).find((one) => one === param('sort')) ?? 'worst';
  const page = Math.min(Math.max(1, Math.ceil(listed.length / PAGE)), pageNumber());
  const shown = listed.toSorted(ORDERS[sort]).slice((page - 1) * PAGE, page * PAGE);
  return (
    <>
      <Filters searched={searched} />
      <JobsTable
        all={jobs}
        wanted={shown.map(({ name }) => name)}
        choice={JSON.stringify([state, tag, q, sort, page])}
        sort={sort}
      />
      {listed.length === 0 && <NoMatch of="job" filters={FILTERS} />}
      <Pages page={page} size={PAGE} count={listed.length} of="jobs" />
    </>
  );
}

function askedOf(jobs: readonly Job[]): Asked {
  const [state, tag] = [param('state'), param('tag')];
  const words = (param('q') ?? '').toLowerCase().split(/\s+/).filter(Boolean);
  const isIn = ({ name, description, tags }: Job, word: string): boolean =>
    [name, description ?? '', ...tags].some((text) => text.toLowerCase().includes(word));
  const searched = jobs.filter(
    (job) => (tag === undefined || job.tags.includes(tag)) && words.every((word) => isIn(job, word)),
  );
  const listed = searched.filter((job) => {
    if (state === undefined) return true;
    return state === 'attention' ? needsAttention(job) : shownState(job) === state;
  });
  return { jobs, searched, listed };
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

/** The counts are filters. They count what the search and the tag leave. */
function Filters({ searched }: Pick<Asked, 'searched'>) {
  const byState = Map.groupBy(searched, shownState);
  const attention = searched.filter((job) => needsAttention(job)).length;
  return (
    <nav class="chips" aria-label="Jobs by state">
      <Chip label="All" count={searched.length} />
      <Chip label="Need attention" count={attention} value="attention" tone={attention > 0 ? 'bad' : undefined} />
      {SHOWN_STATES.filter((state) => byState.has(state) || state === param('state')).map((state) => (
        <Chip
          key={state}
          label={STATE_LABELS[state].word}
          count={byState.get(state)?.length ?? 0}
          value={state}
          tone={STATE_LABELS[state].tone}
          icon={<Icon name={STATE_LABELS[state].icon} />}
        />
      ))}
    </nav>
  );
}

interface ChipProps {
  readonly label: string;
  readonly count: number;
  /** Undefined: all states. */
  readonly value?: string;
  readonly tone?: Tone | undefined;
  readonly icon?: ComponentChildren;
}

function Chip({ label, count, value, tone, icon }: ChipProps) {
  const href = changed({ state: value, page: undefined });
  return (
    <Link href={href} class={`chip ${tone ?? ''}`} current={value === param('state')}>
      {icon}
      {label} <b>{count}</b>
    </Link>
  );
}

const SORTS: Readonly<Record<Sort, string>> = {
  worst: 'Worst first',
  name: 'By name',
  last: 'By last run',
  next: 'By next due',
};

function Search({ jobs }: Pick<Asked, 'jobs'>) {
  return (
    <div class="narrow">
      <SearchBox of="jobs" />
      <Select name="sort" label="Sort" options={Object.entries(SORTS)} class="sort" />
      <TagSelect jobs={jobs} />
    </div>
  );
}
