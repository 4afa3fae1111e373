import type { JSX, TargetedEvent, TargetedKeyboardEvent } from 'preact';
import { useState } from 'preact/hooks';
import { shownState } from '../../core/shown-state';
import { changed, go, pageOf, param } from '../data/address';
import { coarseNow } from '../data/clock';
import { useHeldOrder } from '../data/held-order';
import { AtOnce, Hatching, LanePicture } from '../parts/lane-picture';
import type { Lane } from '../data/lane-marks';
import type { Lanes } from '../data/model';
import { pageNumber, Pages } from '../parts/pages';
import { Badge, Link, Notice, OrderChanged, SearchBox, Skeleton } from '../parts/parts';
import { FailureNotice } from '../parts/failure-notice';
import { type Scale, ticksOf } from '../data/scale';
import { zoneOf } from '../data/time';
import { useLive, useWidth } from '../data/use-live';
import { plural, STATE_LABELS } from '../data/words';

const PAGE = 50;
const HOUR = 3_600_000;
const LEGEND =
  'A bar is a run, a pale one is planned, as long as usual. A frame: due times that did not run. A line below: runs overlap. ';
const REACHES = [1, 3, 12] as const;
const LABEL = 90;
const AXIS = 24;

/** The last and the next hours of all jobs, a lane for each. */
export function LanesPage(): JSX.Element {
  const hours = REACHES.find((one) => String(one) === param('hours')) ?? 12;
  const query = new URLSearchParams({
    hours: String(hours),
    limit: String(PAGE),
    skip: String((pageNumber() - 1) * PAGE),
    ...Object.fromEntries(
      ['tag', 'q'].flatMap((name) => (param(name) === undefined ? [] : [[name, param(name) ?? '']])),
    ),
  });
  const { body, failure } = useLive(`lanes?${query.toString()}`);
  return (
    <>
      <div class="title">
        <h1>Lanes</h1>
        <p class="muted">{body === undefined ? '' : countsOf(body as Lanes, hours)}</p>
        <div class="narrow">
          <SearchBox of="jobs" />
          <TagSelect lanes={body as Lanes | undefined} />
          <Reaches hours={hours} />
        </div>
      </div>
      {body !== undefined ? (
        <Loaded body={body as Lanes} hours={hours} />
      ) : failure === undefined ? (
        <Skeleton rows={12} what="lanes" />
      ) : (
        <FailureNotice failure={failure} what="The lanes" />
      )}
    </>
  );
}

function countsOf({ busy, empty }: Lanes, hours: number): string {
  const left = empty === 0 ? '' : `, ${empty.toLocaleString('en')} with nothing ${within(hours)} left out`;
  return `${plural(busy, 'job')}${left}`;
}

function within(hours: number): string {
  return hours === 1 ? 'in the last or the next hour' : `in the last or the next ${String(hours)} hours`;
}

function Reaches({ hours }: { readonly hours: number }): JSX.Element {
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

function TagSelect({ lanes }: { readonly lanes: Lanes | undefined }): JSX.Element | null {
  const tag = param('tag');
  const tags = [
    ...new Set([...(lanes?.lanes.flatMap((lane) => lane.tags) ?? []), ...(tag === undefined ? [] : [tag])]),
  ];
  if (tags.length === 0) return null;
  return (
    <select
      aria-label="Tag"
      value={tag ?? ''}
      onChange={({ currentTarget: { value } }) => go(changed({ tag: value, page: undefined }))}
    >
      <option value="">All tags</option>
      {tags.toSorted().map((one) => (
        <option key={one} value={one}>
          {one}
        </option>
      ))}
    </select>
  );
}

function Loaded({ body, hours }: { readonly body: Lanes; readonly hours: number }): JSX.Element {
  const { lanes, busy } = body;
  if (lanes.length === 0) return <Nothing body={body} hours={hours} />;
  return (
    <>
      <Table lanes={lanes} hours={hours} isPart={lanes.length < busy} />
      <Pages page={pageNumber()} size={PAGE} count={busy} of="lanes" />
    </>
  );
}

function Nothing({ body: { busy, empty }, hours }: { readonly body: Lanes; readonly hours: number }): JSX.Element {
  const isChosen = param('q') !== undefined || param('tag') !== undefined || busy > 0;
  if (isChosen) {
    return (
      <Notice title="No lane matches">
        <p>
          <Link href={changed({ q: undefined, tag: undefined, page: undefined })}>Show all lanes</Link>
        </p>
      </Notice>
    );
  }
  if (empty === 0) {
    return (
      <Notice title="There are no jobs yet">
        <p>Add a job to jobs.json, write its handler, and deploy the app. Its lane appears here with the next tick.</p>
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
  readonly lanes: readonly Lane[];
  readonly hours: number;
  /** Whether there are more lanes, on other pages. */
  readonly isPart: boolean;
}

function Table({ lanes, hours, isPart }: TableProps): JSX.Element {
  const [element, width] = useWidth();
  const [pointed, setPointed] = useState('');
  const choice = JSON.stringify([hours, param('q'), param('tag'), param('page')]);
  const held = useHeldOrder(
    lanes.map(({ name }) => name),
    choice,
  );
  const byName = new Map(lanes.map((lane) => [lane.name, lane]));
  const now = coarseNow.value;
  const scale = { from: now - hours * HOUR, until: now + hours * HOUR, width };
  const point = ({ target }: TargetedEvent<HTMLElement>): void => {
    const item = target instanceof Element ? target.closest('.lane a[data-item]') : null;
    setPointed(item?.querySelector('title')?.textContent ?? '');
  };
  return (
    <div class="panel lanes" onKeyDown={move} onMouseOver={point} onFocusCapture={point}>
      <OrderChanged order={held} />
      <p class="legend muted">
        {LEGEND}
        <svg width={28} height={12} aria-hidden="true">
          <Hatching />
          <rect width={28} height={12} fill="url(#beyond)" />
        </svg>{' '}
        more than is listed: a lane has the last 20 outcomes and the next 200 due times.
      </p>
      <div class="lane axis" aria-hidden="true">
        <span class="muted">Planned at once{isPart ? `, of ${String(lanes.length)} jobs` : ''}</span>
        <div ref={element}>{width > 0 && <Axis scale={scale} lanes={lanes} />}</div>
      </div>
      <ol aria-label="Lanes">
        {held.names.map((name) => {
          const lane = byName.get(name);
          return (
            <li key={name} class="lane">
              {lane === undefined ? (
                <span class="muted">{name} is no longer on this page</span>
              ) : (
                <>
                  <Heading lane={lane} />
                  {width > 0 && <LanePicture lane={lane} scale={scale} now={now} />}
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

function Heading({ lane }: { readonly lane: Lane }): JSX.Element {
  return (
    <div>
      <Link href={pageOf({ job: lane.name })} class="job">
        {lane.name}
      </Link>
      <span class="second">
        <Badge label={STATE_LABELS[shownState(lane)]} />
      </span>
    </div>
  );
}

function Axis({ scale, lanes }: { readonly scale: Scale; readonly lanes: readonly Lane[] }): JSX.Element {
  return (
    <svg width={scale.width} height={56}>
      <AtOnce lanes={lanes} scale={scale} height={56 - AXIS} />
      {ticksOf(scale, zoneOf(null), LABEL).map(({ at, x, label }) => (
        <text key={at} x={x} y={52} text-anchor={x < 45 ? 'start' : x > scale.width - 45 ? 'end' : 'middle'}>
          {label}
        </text>
      ))}
    </svg>
  );
}

/** Up and Down go from lane to lane; Left and Right, within a lane, from run to run. */
function move(event: TargetedKeyboardEvent<HTMLElement>): void {
  const { key, currentTarget } = event;
  const focused = document.activeElement;
  const lane = focused?.closest('li.lane');
  if (focused === null || lane === null || lane === undefined) return;
  const next =
    key === 'ArrowDown' || key === 'ArrowUp'
      ? neighbour([...currentTarget.querySelectorAll('li.lane')], lane, key === 'ArrowDown' ? 1 : -1)?.querySelector(
          focused.matches('a.job') ? 'a.job' : 'svg[tabindex]',
        )
      : key === 'ArrowRight' || key === 'ArrowLeft'
        ? itemBeside(lane, focused, key === 'ArrowRight' ? 1 : -1)
        : undefined;
  if (!(next instanceof HTMLElement || next instanceof SVGElement)) return;
  event.preventDefault();
  next.focus();
}

function neighbour(all: readonly Element[], one: Element, step: number): Element | undefined {
  return all[all.indexOf(one) + step];
}

/** From the lane itself, Left leads to the last run, and Right to the next planned one. */
function itemBeside(lane: Element, focused: Element, step: 1 | -1): Element | undefined {
  const items = [...lane.querySelectorAll('a[data-item]')];
  if (items.includes(focused)) return neighbour(items, focused, step);
  if (!focused.matches('svg')) return undefined;
  const ahead = items.findIndex((item) => item.getAttribute('data-item') === 'planned');
  return step === 1 ? items[ahead] : items[(ahead === -1 ? items.length : ahead) - 1];
}
