import type { TargetedEvent, TargetedKeyboardEvent } from 'preact';
import { pathOf } from '../../client/operations';
import { useState } from 'preact/hooks';
import { shownState } from '../../core/shown-state';
import { changed, pageOf, param, pageNumber } from '../data/address';
import { coarseNow } from '../data/live';
import { useHeldOrder } from '../data/held-order';
import { AtOnce, Hatching, JobRuns } from '../parts/timeline-job';
import type { TimelineJob, Scale } from '../data/marks';
import type { Timeline } from '../../client/types';
import { Badge, Link, Notice, OrderChanged, Pages, SearchBox, TagSelect } from '../parts/parts';
import { ticksOf, zoneOf } from '../data/time';
import { useBegun, useLive, useWidth } from '../data/use-live';
import { plural, STATE_LABELS } from '../data/words';
import { NotYet } from '../parts/help';
const PAGE = 50;
const HOUR = 3_600_000;
const LEGEND =
  'A bar is a run, a pale one is planned, as long as usual. A thin line before it: it started late. A frame: due times that did not run. A line below: runs overlap. ';
const REACHES = [1, 3, 12] as const;
const LABEL = 90;
const AXIS = 24;

export function TimelinePage() {
  const hours = REACHES.find((one) => String(one) === param('hours')) ?? 12;
  const query = new URLSearchParams({
    hours: String(hours),
    limit: String(PAGE),
    skip: String((pageNumber() - 1) * PAGE),
    ...Object.fromEntries(
      ['tag', 'q'].flatMap((name) => (param(name) === undefined ? [] : [[name, param(name) ?? '']])),
    ),
  });
  const { body, failure } = useLive(`${pathOf('getTimeline')}?${query.toString()}`);
  return (
    <>
      <div class="title">
        <h1>Timeline</h1>
        <p class="muted">{body === undefined ? '' : countsOf(body as Timeline, hours)}</p>
        <div class="narrow">
          <SearchBox of="jobs" />
          <Tags timeline={body as Timeline | undefined} />
          <Reaches hours={hours} />
        </div>
      </div>
      {body !== undefined ? (
        <Loaded body={body as Timeline} hours={hours} />
      ) : (
        <NotYet failure={failure} what="timeline" rows={12} />
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

function Tags({ timeline }: { readonly timeline: Timeline | undefined }) {
  const tag = param('tag');
  const tags = [
    ...new Set([...(timeline?.jobs.flatMap((job) => job.tags) ?? []), ...(tag === undefined ? [] : [tag])]),
  ];
  if (tags.length === 0) return null;
  return <TagSelect tags={tags.toSorted()} />;
}

function Loaded({ body, hours }: { readonly body: Timeline; readonly hours: number }) {
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

function Nothing({ body: { busy, empty }, hours }: { readonly body: Timeline; readonly hours: number }) {
  const isChosen = param('q') !== undefined || param('tag') !== undefined || busy > 0;
  if (isChosen) {
    return (
      <Notice title="No job matches">
        <p>
          <Link href={changed({ q: undefined, tag: undefined, page: undefined })}>Show all jobs</Link>
        </p>
      </Notice>
    );
  }
  if (empty === 0) {
    return (
      <Notice title="There are no jobs yet">
        <p>Add a job to jobs.json, write its handler, and deploy the app. It appears here with the next tick.</p>
      </Notice>
    );
  }
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
                  <Heading job={job} />
                  {width > 0 && <JobRuns job={job} scale={scale} now={now} />}
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

function Heading({ job }: { readonly job: TimelineJob }) {
  return (
    <div>
      <Link href={pageOf({ job: job.name })} class="job">
        {job.name}
      </Link>
      <span class="second">
        <Badge label={STATE_LABELS[shownState(job)]} />
      </span>
    </div>
  );
}

function Axis({ scale, jobs }: { readonly scale: Scale; readonly jobs: readonly TimelineJob[] }) {
  return (
    <svg width={scale.width} height={56}>
      <AtOnce jobs={jobs} scale={scale} height={56 - AXIS} />
      {ticksOf(scale, zoneOf(null), LABEL).map(({ at, x, label }) => (
        <text key={at} x={x} y={52} text-anchor={x < 45 ? 'start' : x > scale.width - 45 ? 'end' : 'middle'}>
          {label}
        </text>
      ))}
    </svg>
  );
}

/** Up and Down go from job to job; Left and Right, within a row, from run to run. */
function move(event: TargetedKeyboardEvent<HTMLElement>): void {
  const { key, currentTarget } = event;
  const focused = document.activeElement;
  const row = focused?.closest('li.timeline-row');
  if (focused === null || row === null || row === undefined) return;
  const next =
    key === 'ArrowDown' || key === 'ArrowUp'
      ? neighbour(
          [...currentTarget.querySelectorAll('li.timeline-row')],
          row,
          key === 'ArrowDown' ? 1 : -1,
        )?.querySelector(focused.matches('a.job') ? 'a.job' : 'svg[tabindex]')
      : key === 'ArrowRight' || key === 'ArrowLeft'
        ? itemBeside(row, focused, key === 'ArrowRight' ? 1 : -1)
        : undefined;
  if (!(next instanceof HTMLElement || next instanceof SVGElement)) return;
  event.preventDefault();
  next.focus();
}

function neighbour(all: readonly Element[], one: Element, step: number): Element | undefined {
  return all[all.indexOf(one) + step];
}

/** From the row itself, Left leads to the last run, and Right to the next planned one. */
function itemBeside(row: Element, focused: Element, step: 1 | -1): Element | undefined {
  const items = [...row.querySelectorAll('a[data-item]')];
  if (items.includes(focused)) return neighbour(items, focused, step);
  if (!focused.matches('svg')) return undefined;
  const ahead = items.findIndex((item) => item.getAttribute('data-item') === 'planned');
  return step === 1 ? items[ahead] : items[(ahead === -1 ? items.length : ahead) - 1];
}
