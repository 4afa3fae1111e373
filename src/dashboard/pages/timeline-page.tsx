import type { TargetedEvent, TargetedKeyboardEvent } from 'preact';
import { useState } from 'preact/hooks';
import { pathOf } from '../../client/operations';
import type { Timeline } from '../../client/types';
import { shownState } from '../../core/shown-state';
import { changed, hasParam, pageNumber, pageOf, param } from '../data/address';
import { coarseNow } from '../data/live';
import type { Scale, TimelineJob } from '../data/marks';
import { ticksOf, zoneOf } from '../data/time';
import { useBegun, useHeldOrder, useLive, useWidth } from '../data/use-live';
import { plural, STATE_LABELS } from '../data/words';
import { NotYet } from '../parts/help';
import { Badge, Link, NoJobs, NoMatch, Notice, OrderChanged, Pages, SearchBox, TagSelect } from '../parts/parts';
import { AtOnce, Hatching, JobRuns } from '../parts/timeline-job';

const PAGE = 50;
const HOUR = 3_600_000;
const LEGEND =
  'A bar is a run, a pale one is planned, as long as usual. A thin line before it: it started late. A frame: due times that did not run. A line below: runs overlap. ';
const FILTERS = ['q', 'tag'] as const;
const REACHES = [1, 3, 12] as const;
const LABEL = 90;

export function TimelinePage() {
  const hours = REACHES.find((one) => String(one) === param('hours')) ?? 12;
  const path = pathOf('getTimeline', [], {
    hours,
    limit: PAGE,
    skip: (pageNumber() - 1) * PAGE,
    tag: param('tag'),
    q: param('q'),
  });
  const { body, failure } = useLive<Timeline>(path);
  return (
    <>
      <div class="title">
        <h1>Timeline</h1>
        <p class="muted">{body === undefined ? '' : countsOf(body, hours)}</p>
        <div class="narrow">
          <SearchBox of="jobs" />
          <TagSelect jobs={body?.jobs ?? []} />
          <Reaches hours={hours} />
        </div>
      </div>
      {body === undefined ? (
        <NotYet failure={failure} what="timeline" rows={12} />
      ) : (
        <Loaded body={body} hours={hours} />
      )}
    </>
  );
}

function countsOf({ busy, empty }: Timeline, hours: number): string {
  const left = empty === 0 ? '' : `, ${empty.toLocaleString('en')} with nothing ${within(hours)} left out`;
  return `${plural(busy, 'job')}${left}`;
}

function within(hours: number): string {
  return hours === 1 ? 'in the last or the next hour' : `in the last or the next ${String(hours)} hours`;
}

function Reaches({ hours }: { readonly hours: number }) {
  return (
    <nav class="chips" aria-label="Length of time">
      {REACHES.map((one) => (
        <Link
          key={one}
          class="chip"
          href={changed({ hours: one === 12 ? undefined : String(one), page: undefined })}
          current={one === hours}
        >
          ±{one} h
        </Link>
      ))}
    </nav>
  );
}

interface TimelineProps {
  readonly body: Timeline;
  readonly hours: number;
}

function Loaded({ body, hours }: TimelineProps) {
  const { busy } = body;
  const jobs = useBegun(body.jobs);
  if (jobs.length === 0) return <Nothing body={body} hours={hours} />;
  return (
    <>
      <Table jobs={jobs} hours={hours} isPart={jobs.length < busy} />
      <Pages page={pageNumber()} size={PAGE} count={busy} of="jobs" />
    </>
  );
}

function Nothing({ body: { busy, empty }, hours }: TimelineProps) {
  if (busy > 0 || hasParam(...FILTERS)) return <NoMatch of="job" filters={FILTERS} />;
  if (empty === 0) return <NoJobs />;
  return (
    <Notice title={`Nothing ran or is due ${within(hours)}`}>
      <p>
        {plural(empty, 'job has', 'jobs have')} no run and no due time near.{' '}
        <Link href={pageOf({})}>Show all jobs</Link>
      </p>
    </Notice>
  );
}

interface TableProps {
  readonly jobs: readonly TimelineJob[];
  readonly hours: number;
  /** Whether there are more jobs, on other pages. */
  readonly isPart: boolean;
}

function Table({ jobs, hours, isPart }: TableProps) {
  const [element, width] = useWidth();
  const [pointed, setPointed] = useState('');
  const choice = JSON.stringify([hours, param('q'), param('tag'), param('page')]);
  const names = jobs.map(({ name }) => name);
  const held = useHeldOrder(names, choice);
  const byName = new Map(jobs.map((job) => [job.name, job]));
  const now = coarseNow.value;
  const scale = { from: now - hours * HOUR, until: now + hours * HOUR, width };
  const point = ({ target }: TargetedEvent<HTMLElement>): void => {
    const item = target instanceof Element ? target.closest('.timeline-row a[data-item]') : null;
    setPointed(item?.querySelector('title')?.textContent ?? '');
  };
  return (
    <div class="panel timeline" onKeyDown={move} onMouseOver={point} onFocusCapture={point}>
      <OrderChanged order={held} />
      <p class="legend muted">
        {LEGEND}
        <svg width={28} height={12} aria-hidden="true">
          <Hatching />
          <rect width={28} height={12} fill="url(#beyond)" />
        </svg>{' '}
        more than is listed: a row has the last 20 outcomes and the next 200 due times.
      </p>
      <div class="timeline-row axis" aria-hidden="true">
        <span class="muted">Planned at once{isPart ? `, of ${String(jobs.length)} jobs` : ''}</span>
        <div ref={element}>{width > 0 && <Axis scale={scale} jobs={jobs} />}</div>
      </div>
      <ol aria-label="Timeline">
        {held.names.map((name) => {
          const job = byName.get(name);
          return (
            <li key={name} class="timeline-row">
              {job === undefined ? (
                <span class="muted">{name} is no longer on this page</span>
              ) : (
                <>
                  <div>
                    <Link href={pageOf({ job: name })} class="job">
                      {name}
                    </Link>
                    <span class="second">
                      <Badge label={STATE_LABELS[shownState(job)]} />
                    </span>
                  </div>
                  {width > 0 && <JobRuns job={job} scale={scale} />}
                </>
              )}
            </li>
          );
        })}
      </ol>
      <p class={`readout foreign ${pointed === '' ? '' : 'pointed'}`} aria-hidden="true">
        {pointed === '' ? 'Point at a run to read about it.' : pointed}
      </p>
    </div>
  );
}

function Axis({ scale, jobs }: { readonly scale: Scale; readonly jobs: readonly TimelineJob[] }) {
  return (
    <svg width={scale.width} height={56}>
      <AtOnce jobs={jobs} scale={scale} />
      {ticksOf(scale, zoneOf(null), LABEL).map(({ at, x, label }) => (
        <text key={at} x={x} y={52} text-anchor={x < 45 ? 'start' : x > scale.width - 45 ? 'end' : 'middle'}>
          {label}
        </text>
      ))}
    </svg>
  );
}

const STEPS: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 };

/** Up and Down go from job to job; Left and Right, within a row, from run to run. */
function move(event: TargetedKeyboardEvent<HTMLElement>): void {
  const { key, currentTarget } = event;
  const step = STEPS[key];
  const focused = document.activeElement;
  const row = focused?.closest('li.timeline-row');
  if (step === undefined || focused == null || row == null) return;
  let next: Element | null | undefined;
  if (key === 'ArrowDown' || key === 'ArrowUp') {
    const rows = [...currentTarget.querySelectorAll('li.timeline-row')];
    next = neighbour(rows, row, step)?.querySelector(focused.matches('a.job') ? 'a.job' : 'svg[tabindex]');
  } else {
    next = itemBeside(row, focused, step);
  }
  if (!(next instanceof HTMLElement || next instanceof SVGElement)) return;
  event.preventDefault();
  next.focus();
}

function neighbour(all: readonly Element[], one: Element, step: number): Element | undefined {
  return all[all.indexOf(one) + step];
}

/** From the row itself, Left leads to the last run, and Right to the next planned one. */
function itemBeside(row: Element, focused: Element, step: number): Element | undefined {
  const items = [...row.querySelectorAll('a[data-item]')];
  if (items.includes(focused)) return neighbour(items, focused, step);
  if (!focused.matches('svg')) return undefined;
  const ahead = items.findIndex((item) => item.getAttribute('data-item') === 'planned');
  return step === 1 ? items[ahead] : items[(ahead === -1 ? items.length : ahead) - 1];
}
