import type { ComponentChildren, TargetedKeyboardEvent, TargetedMouseEvent } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { changed, go, pageOf, param } from '../data/address';
import { now } from '../data/live';
import { environment, environmentStyle } from '../data/session';
import { MINE, exactTime, fullTime, relative, shortTime, shownZone, zoneOf } from '../data/time';
import type { HeldOrder } from '../data/use-live';
import { capital, type IconName, ICONS, type Label, type Tone } from '../data/words';

export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={ICONS[name]} />
    </svg>
  );
}

export function Badge({ label }: { readonly label: Label }) {
  return (
    <span class={`badge ${label.tone}`}>
      <Icon name={label.icon} />
      {label.word}
    </span>
  );
}

interface LinkProps {
  readonly href: string;
  readonly class?: string;
  readonly title?: string;
  readonly current?: boolean;
  /** What is chosen on a page makes no separate entry in the history. */
  readonly replace?: boolean;
  readonly children: ComponentChildren;
}

export function Link({ href, current, replace, children, ...rest }: LinkProps) {
  const onClick = (event: TargetedMouseEvent<HTMLAnchorElement>): void => follow(event, replace);
  return (
    <a href={href} onClick={onClick} aria-current={current === true ? 'page' : undefined} {...rest}>
      {children}
    </a>
  );
}

export function Tags({ tags, hrefOf }: Tagged & { readonly hrefOf: (tag: string) => string }) {
  return (
    <>
      {tags.map((tag) => (
        <Link key={tag} href={hrefOf(tag)} class="tag">
          {tag}
        </Link>
      ))}
    </>
  );
}

export function Crumbs({ job }: { readonly job?: string | undefined }) {
  return (
    <nav class="crumbs" aria-label="Path">
      <Link href={pageOf({})}>Jobs</Link>
      {job !== undefined && <Link href={pageOf({ job })}>{job}</Link>}
    </nav>
  );
}

export function follow(event: TargetedMouseEvent<HTMLAnchorElement>, replace = false): void {
  // A new tab or window is the browser's to open.
  if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  go(event.currentTarget.getAttribute('href') ?? '.', replace ? 'replace' : 'push');
}

interface TimeProps {
  /** RFC 3339. */
  readonly at: string;
  /** The job's zone; null: unknown. */
  readonly zone: string | null | undefined;
}

/** A time of day in the zone that was chosen. Its tooltip has the job's zone and the viewer's. */
export function Time(props: TimeProps) {
  return <Shown {...props} as={shortTime} />;
}

/** As {@link Time}, with seconds. */
export function Exact(props: TimeProps) {
  return <Shown {...props} as={exactTime} />;
}

export function Ago(props: TimeProps) {
  return <Shown {...props} as={(instant, _, at) => relative(instant, at)} />;
}

function Shown({ at, zone, as }: TimeProps & { readonly as: typeof shortTime }) {
  const instant = Date.parse(at);
  return (
    <time dateTime={at} title={inBothZones(instant, zone)}>
      {as(instant, zoneOf(zone), now.value)}
    </time>
  );
}

/** The next due time. One that has come since the last answer is no longer the next, and never past. */
export function NextDue({ at, zone }: { readonly at: string | null; readonly zone: string | null }) {
  if (at === null) return <>none</>;
  return (
    <>
      <Time at={at} zone={zone} />
      <span class="second">{Date.parse(at) > now.value ? <Ago at={at} zone={zone} /> : 'now'}</span>
    </>
  );
}

function inBothZones(at: number, zone: string | null | undefined): string {
  const zones = new Set([MINE, shownZone(zone ?? 'UTC'), 'UTC']);
  return [...zones].map((one) => fullTime(at, one)).join('\n');
}

interface NoticeProps {
  readonly title?: string;
  readonly tone?: Tone;
  readonly children?: ComponentChildren;
}

export function Notice({ title, tone = 'calm', children }: NoticeProps) {
  return (
    <div class={`notice ${tone}`}>
      {title !== undefined && <h2>{title}</h2>}
      {children}
    </div>
  );
}

/** @param filters the parameters of the address that leave none */
export function NoMatch({ of, filters }: { readonly of: string; readonly filters: readonly string[] }) {
  const without = Object.fromEntries([...filters, 'page', 'cursor'].map((name) => [name, undefined]));
  return (
    <Notice title={`No ${of} matches`}>
      <p>
        <Link href={changed(without)}>Show all {of}s</Link>
      </p>
    </Notice>
  );
}

export function NoJobs() {
  return (
    <Notice title="There are no jobs yet">
      <p>Add a job to jobs.json, write its handler, and deploy the app. The job appears here with the next tick.</p>
    </Notice>
  );
}

export function sentence(text: string): string {
  return `${capital(text)}${/[.!?…]$/.test(text) ? '' : '.'}`;
}

/** The platform's own page, which comes back to this address. Below `keyed/` the browser asks for a key. */
export function LoginLink() {
  if (location.pathname.endsWith('/keyed/')) return <p>Load the page again, and give a key as the password.</p>;
  const back = encodeURIComponent(`${location.pathname}${location.search}`);
  return (
    <p>
      <a class="button" href={`/.auth/login/aad?post_login_redirect_uri=${back}`}>
        Log in
      </a>
    </p>
  );
}

/** Stands for rows that are on their way, at the height that they will have. */
export function Skeleton({ rows, what }: { readonly rows: number; readonly what: string }) {
  return (
    <div class="skeleton" role="status" aria-label={`Loading the ${what}`}>
      {Array.from({ length: rows }, (_, index) => (
        <div key={index} />
      ))}
    </div>
  );
}

/** Waits above rows that stay where they are: the order changes when a person wants it. */
export function OrderChanged({ order, what = 'order' }: { readonly order: HeldOrder; readonly what?: string }) {
  const { stale, sortAgain } = order;
  return (
    <p class={`resort ${stale ? '' : 'hidden'}`}>
      The {what} has changed.{' '}
      <button type="button" class="link" disabled={!stale} onClick={sortAgain}>
        Show
      </button>
    </p>
  );
}

interface FactProps {
  readonly name: string;
  readonly more?: ComponentChildren;
  /** Its value. Without one, nothing is shown. */
  readonly children: ComponentChildren;
}

export function Fact({ name, more, children }: FactProps) {
  if (children === null || children === undefined || children === false) return null;
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {children}
        {more !== undefined && <span class="second">{more}</span>}
      </dd>
    </div>
  );
}

/** Searches what the page lists. `/` leads to it. */
export function SearchBox({ of }: { readonly of: string }) {
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const isTyping = event.target instanceof HTMLElement && event.target.matches('input, textarea, select, dialog *');
      if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      box.current?.focus();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  return (
    <input
      ref={box}
      type="search"
      aria-label={`Search ${of}`}
      placeholder={`Search ${of}   /`}
      value={param('q') ?? ''}
      onInput={({ currentTarget: { value } }) =>
        go(changed({ q: value, page: undefined, cursor: undefined }), 'replace')
      }
    />
  );
}

interface SelectProps {
  /** The parameter of the address that it sets. The first option is chosen without one. */
  readonly name: string;
  readonly label: string;
  readonly options: readonly (readonly [value: string, text: string])[];
  readonly class?: string;
  /** Whether it changes only the looks of a page. Otherwise its list begins again. */
  readonly replace?: boolean;
}

/** A choice that takes effect at once. */
export function Select({ name, label, options, replace = false, ...rest }: SelectProps) {
  const [first = ''] = options[0] ?? [];
  const choose = (value: string): void => {
    const chosen = { [name]: value === first ? undefined : value };
    if (replace) go(changed(chosen), 'replace');
    else go(changed({ ...chosen, page: undefined, cursor: undefined }));
  };
  return (
    <select
      aria-label={label}
      value={param(name) ?? first}
      onChange={({ currentTarget }) => choose(currentTarget.value)}
      {...rest}
    >
      {options.map(([one, text]) => (
        <option key={one} value={one}>
          {text}
        </option>
      ))}
    </select>
  );
}

interface Tagged {
  readonly tags: readonly string[];
}

export function tagsOf(jobs: readonly Tagged[]): readonly string[] {
  return [...new Set(jobs.flatMap(({ tags }) => tags))].toSorted();
}

export function TagSelect({ jobs }: { readonly jobs: readonly Tagged[] }) {
  const chosen = param('tag');
  const tags = tagsOf([...jobs, { tags: chosen === undefined ? [] : [chosen] }]);
  if (tags.length === 0) return null;
  return <Select name="tag" label="Tag" options={[['', 'All tags'], ...tags.map((tag) => [tag, tag] as const)]} />;
}

type Column = readonly [
  heading: ComponentChildren,
  column?: string | undefined,
  /** In pixels. Default: that of its class in style.css, or what the others leave. */
  width?: number | undefined,
  order?: 'ascending' | 'descending' | false,
];

interface TableProps {
  readonly name: string;
  readonly kind: string;
  readonly columns: readonly Column[];
  readonly above?: ComponentChildren;
  readonly onKeyDown?: (event: TargetedKeyboardEvent<HTMLElement>) => void;
  readonly children: ComponentChildren;
}

/** On a phone, its rows are laid out as cards, which would take the meaning from the elements: hence the roles. */
export function Table({ name, kind, columns, above, onKeyDown, children }: TableProps) {
  return (
    <div class={`table ${kind}`} onKeyDown={onKeyDown}>
      {above}
      <table role="table" aria-label={name}>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map(([heading, column, width, order = false], index) => (
              <th
                key={index}
                role="columnheader"
                scope="col"
                class={column}
                style={width === undefined ? {} : { width: `${String(width)}px` }}
                aria-sort={order || undefined}
              >
                {heading}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">{children}</tbody>
      </table>
    </div>
  );
}

export function Warnings({ texts }: { readonly texts: readonly string[] }) {
  return (
    <>
      {texts.map((text, index) => (
        <p key={index} class="warn foreign">
          {sentence(text)}
        </p>
      ))}
    </>
  );
}

/**
 * Leads through a list that is newest first.
 *
 * @param cursor where the next page begins; null: this is the last one
 */
export function OlderPages({ cursor, of }: { readonly cursor: string | null; readonly of: string }) {
  const isFirst = param('cursor') === undefined;
  if (cursor === null && isFirst) return null;
  return (
    <nav class="pages" aria-label={`Pages of ${of}`}>
      {isFirst ? <span /> : <Link href={changed({ cursor: undefined })}>Newest {of}</Link>}
      {cursor !== null && <Link href={changed({ cursor })}>Older {of}</Link>}
    </nav>
  );
}

interface PagesProps {
  readonly page: number;
  readonly size: number;
  readonly count: number;
  readonly of: string;
}

export function Pages({ page, size, count, of }: PagesProps) {
  const pages = Math.ceil(count / size);
  if (pages <= 1) return null;
  const first = (page - 1) * size + 1;
  return (
    <nav class="pages" aria-label={`Pages of ${of}`}>
      {page > 1 ? <Link href={changed({ page: page === 2 ? undefined : String(page - 1) })}>Previous</Link> : <span />}
      <span class="muted">
        {first} to {Math.min(count, first + size - 1)} of {count}
      </span>
      {page < pages ? <Link href={changed({ page: String(page + 1) })}>Next</Link> : <span />}
    </nav>
  );
}

export function EnvironmentChip() {
  const shown = environment.value;
  if (shown === undefined) return null;
  // A long name is cut off.
  return (
    <span class="environment" style={environmentStyle.value} title={shown.name}>
      {shown.name}
    </span>
  );
}
