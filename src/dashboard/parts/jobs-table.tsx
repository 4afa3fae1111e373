import type { TargetedKeyboardEvent } from 'preact';
import type { Job } from '../../client/types';
import { ATTENTION, badState, shownState } from '../../core/shown-state';
import { changed, pageOf } from '../data/address';
import { topicOfState } from '../data/help-topics';
import { now } from '../data/live';
import { duration, span } from '../data/time';
import { noted, outcomeWord, plural, STATE_LABELS } from '../data/words';
import { Bars } from './bars';
import { HelpLink } from './help';
import { useHeldOrder } from '../data/use-live';
import { Ago, Badge, Link, NextDue, OrderChanged, Table, Tags } from './parts';

interface JobsTableProps {
  readonly all: readonly Job[];
  readonly wanted: readonly string[];
  readonly choice: string;
  readonly sort: string;
}

export function JobsTable({ all, wanted, choice, sort }: JobsTableProps) {
  const order = useHeldOrder(wanted, choice);
  const byName = new Map(all.map((job) => [job.name, job]));
  return (
    <Table
      name="Jobs"
      kind="jobs"
      columns={[
        [<SortLink by="name">Job</SortLink>, 'c-job', undefined, sort === 'name' && 'ascending'],
        [<SortLink by="worst">State</SortLink>, 'c-state', 280, sort === 'worst' && 'ascending'],
        ['Last outcomes', 'c-bars', 194],
        [<SortLink by="last">Last run</SortLink>, 'c-last', 206, sort === 'last' && 'descending'],
        [<SortLink by="next">Next due</SortLink>, 'c-next', 142, sort === 'next' && 'ascending'],
      ]}
      above={<OrderChanged order={order} />}
      onKeyDown={moveFocus}
    >
      {order.names.map((name) => {
        const job = byName.get(name);
        return job === undefined ? <GoneRow key={name} name={name} /> : <JobRow key={name} job={job} />;
      })}
    </Table>
  );
}

function SortLink({ by, children }: { readonly by: string; readonly children: string }) {
  return <Link href={changed({ sort: by === 'worst' ? undefined : by, page: undefined })}>{children}</Link>;
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
          <Tags tags={tags} hrefOf={(tag) => changed({ tag, page: undefined })} />
          {description}
        </span>
      </td>
      <td role="cell" class="c-state">
        <State job={job} />
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
            <span class="second">{lastRunText(lastRun)}</span>
          </>
        )}
      </td>
      <td role="cell" class="c-next">
        {nextDueAt === null ? <span class="muted">none</span> : <NextDue at={nextDueAt} zone={timeZone} />}
      </td>
    </tr>
  );
}

/** `succeeded in 2.4 s`. */
export function lastRunText({ outcome, durationMs }: NonNullable<Job['lastRun']>): string {
  return `${outcomeWord(outcome)}${durationMs === null ? '' : ` in ${duration(durationMs)}`}`;
}

/** A state that wants a person leads to what to do. The others are not a stop on the way through the table. */
function State({ job }: { readonly job: Job }) {
  const state = shownState(job);
  const badge = <Badge label={STATE_LABELS[state]} />;
  const text = detailOf(job, now.value);
  return (
    <>
      {ATTENTION.includes(state) ? <HelpLink topic={topicOfState(state)}>{badge}</HelpLink> : badge}
      <span class="second foreign" title={text}>
        {text}
      </span>
    </>
  );
}

function detailOf(job: Job, at: number): string {
  const { detail, overdueSince } = job;
  switch (shownState(job)) {
    case 'overdue':
      return overdueSince === null ? '' : `for ${sinceText(overdueSince, at)}`;
    case 'failing':
      return failingText(job, at);
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

function sinceText(since: string, at: number): string {
  return span(Math.max(0, at - Date.parse(since)));
}

/** One line has no room for all of it, and a second one would move the rows below. */
function failingText(job: Job, at: number): string {
  const { failures, incident } = job;
  const progress = progressOf(job, at);
  if (progress !== '') {
    const now = progress.startsWith('for') ? `running ${progress}` : progress;
    return failures === 0 ? now : `${plural(failures, 'failure')}, ${now}`;
  }
  if (failures === 0) return '';
  const counted = plural(failures, 'failure in a row', 'failures in a row');
  return incident === null
    ? counted
    : `${counted}, ${incident.isWhole ? 'for' : 'over'} ${sinceText(incident.since, at)}`;
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
  return noted(`${STATE_LABELS[badState(job) ?? 'failing'].word.toLowerCase()}, by ${by}`, note);
}
