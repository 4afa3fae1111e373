import { REASON_GUIDE, reasonText, wordOf } from '../core/guide';
import { isoOf } from '../core/iso';
import type { Notice } from '../core/notice';
import { showSpan } from '../core/show-time';
import type { Origin } from './receiver';

/** A notice for people, before any format escapes it. */
export interface Words {
  readonly title: string;
  readonly facts: readonly (readonly [label: string, value: string])[];
  /** What the handler threw. */
  readonly error: string | undefined;
  /** Where to read on. */
  readonly link: string | undefined;
}

export function wordsOf(notice: Notice, origin: Origin): Words {
  const { environment, deployment } = origin;
  const place = environment === undefined ? '' : `[${environment}] `;
  return {
    title: place + titleOf(notice),
    facts: [...factsOf(notice), ['Deployment', deployment]],
    error: notice.error,
    link: linkOf(notice, origin),
  };
}

/** One line: the job, what happened, and how often or how long. */
export function titleOf(notice: Notice): string {
  const { change, job, failures = 0, since, at } = notice;
  const runs = failures === 1 ? '1 run' : `${String(failures)} runs`;
  const forLong = since === undefined || since >= at ? '' : ` for ${showSpan(at - since)}`;
  switch (change) {
    case 'failed':
      return `${job} ${wordOf(notice.outcome ?? 'failed')}${failures > 1 ? `: ${runs} in a row` : ''}`;
    case 'recovered':
      return `${job} has recovered after ${runs}${forLong === '' ? '' : ` and ${showSpan(at - (since ?? at))}`}`;
    case 'paused':
      return `${job} is paused: ${runs} in a row failed`;
    case 'overdue':
      return `${job} is overdue: no success${forLong}`;
    case 'punctual':
      return `${job} is no longer overdue`;
    case 'unreadable':
      return `${job} is left alone: its row or control cannot be read`;
    case 'restored':
      return `${job} runs again: its row and control can be read`;
    case 'reminder':
      return notice.trouble === 'overdue' ? `${job} is still overdue` : `${job} still fails: ${runs} in a row`;
    case 'test':
      return 'A test of notices from cronlease';
    case 'digest':
      return `${String(notice.of ?? notice.notices?.length ?? 0)} notices from cronlease`;
  }
}

function factsOf(notice: Notice): Words['facts'] {
  const { change, at, since, failures, skipped, attempts, reason, runId, description, notices = [] } = notice;
  const fact = (label: string, value: string | number | undefined): Words['facts'] =>
    value === undefined ? [] : [[label, String(value)]];
  const time = (instant: number | undefined): string | undefined =>
    instant === undefined ? undefined : isoOf(instant).replace('.000Z', 'Z');
  const isOver = change === 'recovered' || change === 'punctual' || change === 'restored';
  const isRun = change === 'failed' || change === 'paused';
  return [
    ...fact('Job', description),
    ...fact('Run', runId),
    ...fact(
      isOver ? 'Over since' : 'Since',
      change === 'test' || change === 'digest' ? undefined : time(isOver ? at : (since ?? at)),
    ),
    ...fact('Failed runs', isRun || change === 'recovered' || change === 'reminder' ? failures : undefined),
    ...fact('Due times that did not run', skipped),
    ...fact('Attempts of the last run', isRun ? attempts : undefined),
    ...fact('Reason', change === 'recovered' || reason === undefined ? undefined : reasonOf(reason)),
    ...notices.map((one): readonly [string, string] => [time(one.at) ?? '', titleOf(one)]),
  ];
}

/** A code means little at night. Its name stays, for the search in the documentation. */
function reasonOf(reason: string): string {
  const text = reasonText(reason);
  return reason in REASON_GUIDE ? `${text} (${reason})` : reason;
}

/** The page of the run, or that of the job. */
function linkOf({ job, runId }: Notice, { publicAddress }: Origin): string | undefined {
  if (publicAddress === undefined) return undefined;
  const page = new URL(publicAddress);
  if (runId !== undefined) page.searchParams.set('run', runId);
  else if (job !== '') page.searchParams.set('job', job);
  return page.href;
}
