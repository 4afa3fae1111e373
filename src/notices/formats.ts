import { createHash } from 'node:crypto';
import { given } from '../core/given';
import { REASON_GUIDE, reasonText, wordOf } from '../core/guide';
import { isoOf } from '../core/iso';
import { isEnding, type Notice, troubleOf } from '../core/notice';
import { showSpan } from '../core/show-time';
import { brief } from '../core/text';

/** A notice in the form that a receiver takes. */
export interface Formatted {
  readonly contentType: string;
  readonly body: string;
}

export function format(as: Format, notice: Notice, origin: Origin, routingKey = ''): Formatted {
  switch (as) {
    case 'cloudevents':
      return { contentType: 'application/cloudevents+json; charset=utf-8', body: cloudEvent(notice, origin) };
    case 'slack':
      return json(slackMessage(wordsOf(notice, origin)));
    case 'teams':
      return { contentType: 'application/json; charset=utf-8', body: teamsMessage(wordsOf(notice, origin)) };
    case 'pagerduty':
      return json(pagerDutyEvent(notice, origin, routingKey));
  }
}

function json(value: object): Formatted {
  return { contentType: 'application/json; charset=utf-8', body: JSON.stringify(value) };
}

/** CloudEvents 1.0, structured mode. */
export function cloudEvent(notice: Notice, origin: Origin): string {
  const { id, change, job, at, ...details } = notice;
  const { title, link } = wordsOf(notice, origin);
  const { notices, since, ...rest } = details;
  return JSON.stringify({
    specversion: '1.0',
    id,
    source: origin.source,
    type: `cronlease.${job === '' ? change : `job.${change}`}`,
    ...(job === '' ? {} : { subject: job }),
    time: isoOf(at),
    datacontenttype: 'application/json',
    data: {
      title,
      ...(job === '' ? {} : { job }),
      change,
      ...rest,
      ...(since === undefined ? {} : { since: isoOf(since) }),
      deployment: origin.deployment,
      ...given({ environment: origin.environment, link }),
      ...(notices === undefined ? {} : { notices: notices.map((one) => ({ ...one, at: isoOf(one.at) })) }),
    },
  });
}

/** @see https://docs.slack.dev/reference/block-kit/blocks/section-block */
const SLACK = { section: 3_000, blocks: 50, header: 150, fallback: 3_000 };

/** Slack reads these as markup: `<!channel>` would call the whole channel. */
export function slackText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** The escaped text of at most `most` characters: an escape is never cut in two. */
function slackCut(text: string, most: number): string {
  const escaped = slackText(text);
  if (escaped.length <= most) return escaped;
  const short = escaped.slice(0, most - 1).replace(/&[a-z]{0,3}$/, '');
  return `${short.replace(/[\uD800-\uDBFF]$/, '')}…`;
}

export function slackMessage({ title, facts, error, link }: Words): object {
  // Otherwise Slack makes links and mentions of plain text, such as "@here" in the description of a job.
  const section = (text: string): object => ({ type: 'section', text: { type: 'mrkdwn', text, verbatim: true } });
  const lines = facts.map(([label, value]) => slackCut(`${label}: ${value}`, SLACK.section));
  // The marks of a block of code, in an error, would end the block.
  const fence = '```';
  const quoted =
    error === undefined ? [] : [`${fence}${slackCut(error.replaceAll('`', '´'), SLACK.section - 6)}${fence}`];
  const more = link === undefined ? [] : [`<${slackText(link)}|Open the dashboard>`];
  const texts = [...packed(lines, SLACK.section), ...quoted, ...more.filter((text) => text.length <= SLACK.section)];
  return {
    text: slackCut(title, SLACK.fallback),
    blocks: [
      { type: 'header', text: { type: 'plain_text', text: brief(title, SLACK.header), emoji: false } },
      ...texts.slice(0, SLACK.blocks - 1).map(section),
    ],
  };
}

/** The lines in as few texts as they fit into. */
function packed(lines: readonly string[], most: number): string[] {
  const texts: string[] = [];
  for (const line of lines) {
    const last = texts.at(-1);
    if (last !== undefined && last.length + 1 + line.length <= most) texts[texts.length - 1] = `${last}\n${line}`;
    else texts.push(line);
  }
  return texts;
}

/** In bytes. @see https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors */
export const TEAMS_BYTES = 28_672;

/** An adaptive card in the message that a workflow takes. It gets shorter until it fits. */
export function teamsMessage(words: Words): string {
  for (let error = 6_000, facts = 100; ; error = Math.floor(error / 2), facts = Math.ceil(facts / 2)) {
    const body = JSON.stringify(teamsCard(words, { error, facts }));
    if (Buffer.byteLength(body) <= TEAMS_BYTES || (error === 0 && facts === 1)) return body;
  }
}

/** Text from handlers and files is in runs of text, which have no markdown: a text block would make links of it. */
function teamsCard(
  { title, facts, error = '', link }: Words,
  most: { readonly error: number; readonly facts: number },
): object {
  const plain = (text: string, style: object = {}): object => ({
    type: 'RichTextBlock',
    inlines: [{ type: 'TextRun', text, ...style }],
  });
  const left = facts.length - most.facts;
  const lines = facts.slice(0, most.facts).map(([label, value]) => plain(`${label}: ${brief(value, 500)}`));
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    // Later versions are not shown by every client.
    version: '1.4',
    msteams: { width: 'Full' },
    body: [
      plain(brief(title, 500), { weight: 'Bolder', size: 'Medium' }),
      ...lines,
      ...(left > 0 ? [plain(`and ${String(left)} more`)] : []),
      ...(error !== '' && most.error > 0 ? [plain(brief(error, most.error), { fontType: 'Monospace' })] : []),
    ],
    ...(link === undefined || link.length > 2_000
      ? {}
      : { actions: [{ type: 'Action.OpenUrl', title: 'Open the dashboard', url: link }] }),
  };
  return {
    type: 'message',
    attachments: [{ contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content }],
  };
}

/** @see https://developer.pagerduty.com/docs/send-alert-event */
const PAGERDUTY = { summary: 1_024, dedupKey: 255, details: 4_000 };

export function pagerDutyEvent(notice: Notice, origin: Origin, routingKey: string): object {
  const { title, facts, error, link } = wordsOf(notice, origin);
  const { job, at } = notice;
  return {
    routing_key: routingKey,
    event_action: isEnding(notice.change) ? 'resolve' : 'trigger',
    dedup_key: dedupKey(notice, origin),
    payload: {
      summary: brief(title, PAGERDUTY.summary),
      source: brief(origin.source, PAGERDUTY.dedupKey),
      severity: severityOf(notice),
      timestamp: isoOf(at),
      ...(job === '' ? {} : { component: job }),
      custom_details: {
        ...Object.fromEntries(facts.map(([label, value]) => [label, brief(value, 500)])),
        ...(error === undefined ? {} : { error: brief(error, PAGERDUTY.details) }),
      },
    },
    ...(link === undefined ? {} : { links: [{ href: link, text: 'Open the dashboard' }] }),
  };
}

/**
 * The same for all notices of one trouble of one job, so that its end resolves the incident of its beginning. A job that
 * fails and is overdue has one trouble, and one end of it is told. A test belongs to no trouble: its notice gives the key.
 */
export function dedupKey(notice: Notice, { source }: Origin): string {
  const trouble = troubleOf(notice) ?? notice.id;
  const key = `cronlease ${source} ${notice.job} ${trouble === 'overdue' ? 'failure' : trouble}`;
  if (key.length <= PAGERDUTY.dedupKey) return key;
  return `cronlease ${createHash('sha256').update(key).digest('hex')}`;
}

function severityOf(notice: Notice): 'critical' | 'error' | 'warning' | 'info' {
  if (isEnding(notice.change) || notice.change === 'test') return 'info';
  switch (troubleOf(notice)) {
    case 'failure':
      return notice.change === 'paused' ? 'critical' : 'error';
    case 'overdue':
      return 'warning';
    default:
      return 'error';
  }
}

/** A notice for people, before any format escapes it. */
export interface Words {
  readonly title: string;
  readonly facts: readonly (readonly [label: string, value: string])[];
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

function linkOf({ job, runId }: Notice, { publicAddress }: Origin): string | undefined {
  if (publicAddress === undefined) return undefined;
  const page = new URL(publicAddress);
  if (runId !== undefined) page.searchParams.set('run', runId);
  else if (job !== '') page.searchParams.set('job', job);
  return page.href;
}

export const FORMATS = ['cloudevents', 'slack', 'teams', 'pagerduty'] as const;
export type Format = (typeof FORMATS)[number];

/** A receiver of notices, from the app settings. Address, secrets and key are secret. */
export interface Receiver {
  readonly name: string;
  readonly format: Format;
  readonly address: URL;
  /** Keys for the signature, two during a rotation. Never empty for `cloudevents`. */
  readonly secrets: readonly Uint8Array[];
  /** Only for `pagerduty`. */
  readonly routingKey: string | undefined;
}

/** The place that notices come from, as they show it. */
export interface Origin {
  /** Which storage coordinates the jobs, without secrets: the same for all deployments. */
  readonly source: string;
  readonly deployment: string;
  readonly environment: string | undefined;
  /** The address of the app for people. Undefined: notices have no links. */
  readonly publicAddress: URL | undefined;
}
