import type { TargetedKeyboardEvent } from 'preact';
import { ATTENTION, badState, shownState } from '../../core/shown-state';
import { changed, pageOf } from '../data/address';
import { Bars } from './bars';
import { now } from '../data/live';
import { useHeldOrder } from '../data/held-order';
import type { Job } from '../../client/types';
import { Ago, Badge, InHowLong, Link, OrderChanged, Time } from './parts';
import { topicOfState } from '../data/help-topics';
import { duration, span } from '../data/time';
import { outcomeLabel, plural, STATE_LABELS } from '../data/words';
import { HelpLink } from './help';

interface TableProps {
  readonly all: readonly Job[];
  /** The names of the jobs to show, in their order. */
  readonly wanted: readonly string[];
  readonly choice: string;
  readonly sort: string;
}

// Its rows are laid out as cards on a phone, which would take the meaning from the elements: hence the roles.
export function JobsTable({ all, wanted, choice, sort }: TableProps) {
  const order = useHeldOrder(wanted, choice);
  const byName = new Map(all.map((job) => [job.name, job]));
  return (
    <div class="table jobs" onKeyDown={moveFocus}>
      <OrderChanged order={order} />
      <table role="table" aria-label="Jobs">
        <thead role="rowgroup">
          <tr role="row">
            <Heading class="c-job" by="name" sort={sort}>
              Job
            </Heading>
            <Heading class="c-state" by="worst" sort={sort}>
              State
            </Heading>
            <th role="columnheader" scope="col" class="c-bars">
              Last outcomes
            </th>
            <Heading class="c-last" by="last" sort={sort}>
              Last run
            </Heading>
            <Heading class="c-next" by="next" sort={sort}>
              Next due
            </Heading>
          </tr>
        </thead>
        <tbody role="rowgroup">
          {order.names.map((name) => {
            const job = byName.get(name);
            return job === undefined ? <GoneRow key={name} name={name} /> : <JobRow key={name} job={job} />;
          })}
        </tbody>
      </table>
    </div>
  );
}

interface HeadingProps {
  readonly class: string;
  readonly by: string;
  readonly sort: string;
  readonly children: string;
}

function Heading({ by, sort, children, ...rest }: HeadingProps) {
  const isChosen = by === sort;
  return (
    <th
      role="columnheader"
      scope="col"
      aria-sort={isChosen ? (by === 'last' ? 'descending' : 'ascending') : undefined}
      {...rest}
    >
      <Link href={changed({ sort: by === 'worst' ? undefined : by, page: undefined })} class={isChosen ? 'chosen' : ''}>
        {children}
      </Link>
    </th>
  );
}

/** Arrow keys go from job to job. */
function moveFocus(event: TargetedKeyboardEvent<HTMLElement>): void {
  const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
  if (step === 0) return;
  const links = [...event.currentTarget.querySelectorAll<HTMLElement>('a.job')];
  const index = links.findIndex((link) => link === document.activeElement);
  const next = links[index + step];
  if (index === -1 || next === undefined) return;
  event.preventDefault();
  next.focus();
}

/** Keeps the place of a job that is gone until the rows may move. */
function GoneRow({ name }: { readonly name: string }) {
  return (
    <tr role="row" class="gone">
      <td role="cell" class="c-job" colSpan={5}>
        {name} is no longer listed
      </td>
    </tr>
  );
}

function JobRow({ job }: { readonly job: Job }) {
  const { name, description, tags, timeZone, lastRun, nextDueAt } = job;
  return (
    <tr role="row">
      <td role="cell" class="c-job">
        <Link href={pageOf({ job: name })} class="job">
          {name}
        </Link>
        <span class="second foreign" title={description ?? undefined}>
          {tags.map((tag) => (
            <Link key={tag} href={changed({ tag, page: undefined })} class="tag">
              {tag}
            </Link>
          ))}
          {description}
        </span>
      </td>
      <td role="cell" class="c-state">
        <StateBadge job={job} />
        <StateDetail job={job} />
      </td>
      <td role="cell" class="c-bars">
        <Bars job={job} />
      </td>
      <td role="cell" class="c-last">
        {lastRun === null ? (
          <span class="muted">never</span>
        ) : (
          <>
            <Ago at={lastRun.scheduledFor} zone={timeZone} />
            <span class="second">
              {outcomeLabel(lastRun.outcome).word.toLowerCase()}
              {lastRun.durationMs === null ? '' : ` in ${duration(lastRun.durationMs)}`}
            </span>
          </>
        )}
      </td>
      <td role="cell" class="c-next">
        {nextDueAt === null ? (
          <span class="muted">none</span>
        ) : (
          <>
            <Time at={nextDueAt} zone={timeZone} />
            <span class="second">
              <InHowLong at={nextDueAt} zone={timeZone} />
            </span>
          </>
        )}
      </td>
    </tr>
  );
}

/** A state that wants a person leads to what to do. The others are not a stop on the way through the table. */
function StateBadge({ job }: { readonly job: Job }) {
  const state = shownState(job);
  const badge = <Badge label={STATE_LABELS[state]} />;
  return ATTENTION.includes(state) ? <HelpLink topic={topicOfState(state)}>{badge}</HelpLink> : badge;
}

/** What the state by itself does not show. */
function StateDetail({ job }: { readonly job: Job }) {
  const text = detailOf(job, now.value);
  return (
    <span class="second foreign" title={text}>
      {text}
    </span>
  );
}

function detailOf(job: Job, at: number): string {
  const { detail, overdueSince, failures } = job;
  switch (shownState(job)) {
    case 'overdue':
      return overdueSince === null ? '' : `for ${span(Math.max(0, at - Date.parse(overdueSince)))}`;
    case 'failing': {
      const progress = progressOf(job, at);
      // One line has no room for all of it, and a second one would move the rows below.
      if (progress === '')
        return failures === 0 ? '' : plural(failures, 'failure in a row', 'failures in a row') + howLong(job, at);
      const now = progress.startsWith('for') ? `running ${progress}` : progress;
      return failures === 0 ? now : `${plural(failures, 'failure')}, ${now}`;
    }
    case 'acknowledged':
      return acknowledgedText(job);
    case 'retrying':
    case 'running':
      return detail ?? progressOf(job, at);
    case 'unreadable':
    case 'waiting':
    case 'paused':
    case 'disabled':
    case 'idle':
      return detail ?? '';
  }
}

function howLong({ incident }: Job, at: number): string {
  if (incident === null) return '';
  return `, ${incident.isWhole ? 'for' : 'over'} ${span(Math.max(0, at - Date.parse(incident.since)))}`;
}

/** How far the run in progress is: `attempt 2, for 4 min`, `attempt 2 in 20 s`. */
function progressOf({ state, currentRun }: Job, at: number): string {
  if (currentRun === null) return '';
  const { attempt, startedAt, retryAt } = currentRun;
  if (state === 'retrying') {
    const wait = retryAt === null ? 0 : Date.parse(retryAt) - at;
    return wait > 0 ? `attempt ${String(attempt + 1)} in ${span(wait)}` : `attempt ${String(attempt)} failed`;
  }
  const since = startedAt === null ? 0 : at - Date.parse(startedAt);
  if (since <= 0) return '';
  return `${attempt > 1 ? `attempt ${String(attempt)}, ` : ''}for ${span(since)}`;
}

function acknowledgedText(job: Job): string {
  const { by = '', note = '' } = job.incident?.acknowledgement ?? {};
  return `${STATE_LABELS[badState(job) ?? 'failing'].word.toLowerCase()}, by ${by}${note === '' ? '' : `: ${note}`}`;
}
