import { randomUUID } from 'node:crypto';
import type { TryEnd } from '../../core/delivery';
import type { Notice } from '../../core/notice';
import { noticeSettings } from '../../functions/remote-settings';
import { unresolvedSettings } from '../../functions/settings';
import { post } from '../../notices/request';
import type { Origin, Receiver } from '../../notices/formats';
import { tryOnce } from '../../notices/try';
import { systemClock } from '../../system-clock';
import { readDevFile } from '../dev/dev-file';
import { CliError, NO, OK, print, printJson, say } from '../output';
import { askYes, userName } from './person';

interface Tested {
  readonly receiver: string;
  readonly format: string;
  /** Whether it has accepted the notice. */
  readonly accepted: boolean;
  /** Whether a person has seen it. Null if no one was asked. */
  readonly arrived: boolean | null;
  readonly problem: string | null;
}

/** `cronlease notify test`: sends one notice to a receiver of this shell's settings, or to each of them. */
export async function notifyTest(
  _what: 'test',
  name: string | undefined,
  { json = false }: { readonly json?: boolean },
): Promise<number> {
  const { receivers, guard, publicAddress } = noticeSettings(process.env, readDevFile('.') !== undefined);
  for (const sentence of unresolvedSettings(process.env).values()) say(sentence);
  const chosen = [...receivers.values()].filter((one) => name === undefined || one.name === name);
  if (chosen.length === 0) {
    const known = [...receivers.keys()].join(', ') || 'none';
    const what = name === undefined ? 'no receiver is set' : `there is no receiver "${name}"`;
    throw new CliError(
      'NoReceiver',
      `${what} in CRONLEASE_RECEIVERS of this shell (${known}): set it, with CRONLEASE_NOTIFY_HOSTS, as in the app`,
    );
  }
  const origin: Origin = {
    source: 'cronlease notify test',
    deployment: `sent by ${userName()}`,
    environment: process.env['CRONLEASE_ENVIRONMENT'],
    publicAddress,
  };
  const results: Tested[] = [];
  for (const receiver of chosen) {
    const notice: Notice = { id: `test_${randomUUID()}`, change: 'test', job: '', at: systemClock.now() };
    const call = (posting: Parameters<typeof post>[0]) => post(posting, { guard, clock: systemClock });
    const end = await tryOnce(call, receiver, notice, { origin, now: systemClock.now() });
    const tested = await resultOf(receiver, end);
    results.push(tested);
    if (!json) print(lineOf(tested));
  }
  if (json) printJson(results);
  return results.every(({ accepted, arrived }) => accepted && arrived !== false) ? OK : NO;
}

/** A workflow of Teams accepts a message before it has posted it, and may then fail without a word. */
async function resultOf({ name, format }: Receiver, end: TryEnd): Promise<Tested> {
  const tested = { receiver: name, format, accepted: end.kind === 'sent', arrived: null, problem: null };
  if (end.kind === 'gone') return { ...tested, problem: 'it answered 410: it no longer wants notices' };
  if (end.kind === 'failed') return { ...tested, problem: end.why };
  if (format !== 'teams') return tested;
  const arrived = await askYes(`Receiver "${name}" has accepted the notice. Has it arrived in the channel? [y/N] `);
  if (arrived === undefined) say(`Receiver "${name}" has accepted the notice: look whether it has arrived.`);
  const problem = arrived === false ? 'it was accepted, and has not arrived: look at the runs of the workflow' : null;
  return { ...tested, arrived: arrived ?? null, problem };
}

function lineOf({ receiver, format, arrived, problem }: Tested): string {
  return `${receiver} (${format}): ${problem ?? (arrived === true ? 'arrived' : 'accepted')}`;
}
