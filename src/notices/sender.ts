import { createHash } from 'node:crypto';
import type { Outlet, OwnNotice, Report } from '../coordinator/outlet';
import type { EpochMs, Millis } from '../core/brand';
import { type Clock, sleep } from '../core/clock';
import {
  afterTry,
  type Delivery,
  dueReceivers,
  encodeDelivery,
  newDelivery,
  type ReceiverState,
  SEND_WITHIN_MS,
  type TryEnd,
  withState,
} from '../core/delivery';
import { asciiJson } from '../core/metadata';
import type { Notice } from '../core/notice';
import { CALL_LIMIT_MS, within } from '../lease/deadline';
import { type NoticeStore, StoreError } from '../lease/store';
import type { Format, Origin, Receiver } from './formats';
import { POST_LIMIT_MS } from './request';
import { type Call, tryOnce } from './try';

export interface SenderOptions {
  readonly store: NoticeStore;
  readonly clock: Clock;
  /** The service's time. */
  readonly now: () => EpochMs;
  readonly instance: string;
  readonly receivers: ReadonlyMap<string, Receiver>;
  readonly origin: Origin;
  readonly call: Call;
}

/** How a receiver's turn has ended. `off`, `over`: nothing was sent to it. */
type Turn = LaneEnd | 'off' | 'over';

/** A try that comes this soon is made by the same process. Later ones are found by a sweep. */
const SOON_MS = 10_000;

/** Sends notices, and keeps the state of their delivery in storage. */
export function createSender({
  store,
  clock,
  now,
  instance,
  receivers,
  origin,
  call,
}: SenderOptions): Omit<Outlet, 'ping'> {
  const lanes = new Map<string, Lane>();
  let off = new Set<string>();
  let lastReport: Report | undefined;

  return {
    instance,
    receivers: new Set(receivers.keys()),
    sawOff(ids) {
      off = new Set(ids);
    },
    async send(own, report) {
      lastReport = report;
      try {
        await deliver(own, report);
      } catch (error) {
        if (!(error instanceof StoreError)) throw error;
        // It stays as it was: another sweep takes it over, and it is sent once more under the same id.
        report.log('warn', `notice ${own.notice.id}: the state of its delivery could not be stored:`, error);
      }
    },
  };

  async function deliver(own: OwnNotice, report: Report): Promise<void> {
    const { notice, etag } = own;
    let state = own.delivery;
    for (;;) {
      const due = dueReceivers(state, now()).filter(({ name }) => receivers.has(name));
      const withinMs = state.until - POST_LIMIT_MS - now();
      const ends = await Promise.all(due.map(async (one) => ({ one, end: await endFor(one, own, withinMs, report) })));
      for (const { one, end } of ends) {
        state = withState(state, tellEnd(one, end, notice, now(), report), now());
        if (typeof end === 'object' && end.kind === 'gone') switchOff(one.name, report);
      }
      // A sweep takes it over, here or elsewhere.
      if (ends.some(({ end }) => typeof end === 'object' && end.kind === 'late')) break;
      const soon = nextTry(state);
      if (soon === undefined || soon > now() + SOON_MS || soon + POST_LIMIT_MS > state.until) break;
      await sleep(clock, soon - now());
    }
    const metadata = encodeDelivery({ ...state, until: now() });
    await within(clock, CALL_LIMIT_MS, (signal) => store.writeNotice(notice.id, metadata, etag, { signal }));
  }

  function nextTry({ to }: Delivery): EpochMs | undefined {
    const open = to.filter(({ name, end }) => end === undefined && receivers.has(name));
    return open.length === 0 ? undefined : Math.min(...open.map(({ next }) => next));
  }

  /** @param withinMs the time in which its turn must come */
  async function endFor(
    { name }: ReceiverState,
    { notice, isOver = false }: OwnNotice,
    withinMs: Millis,
    report: Report,
  ): Promise<Turn> {
    const receiver = receivers.get(name);
    if (receiver === undefined) throw new Error(`receiver "${name}" is not in the settings`);
    if (off.has(offId(receiver))) return 'off';
    // Its end has been sent, or will be, and would not resolve an incident that is opened after it.
    if (isOver && receiver.format === 'pagerduty') return 'over';
    if (notice.change === 'digest') return tryNow(receiver, notice);
    return laneOf(receiver, report)(notice, withinMs);
  }

  function laneOf(receiver: Receiver, report: Report): Lane {
    const known = lanes.get(receiver.name);
    if (known !== undefined) return known;
    const lane = createLane(clock, receiver.format, {
      one: (notice) => tryNow(receiver, notice),
      digest: (notices) => digest(receiver, notices, lastReport ?? report),
    });
    lanes.set(receiver.name, lane);
    return lane;
  }

  function tryNow(receiver: Receiver, notice: Notice): Promise<TryEnd> {
    return tryOnce(call, receiver, notice, { origin, now: now() });
  }

  /** Stores the digest first, so that a later try sends the same one, and then sends it. */
  async function digest(receiver: Receiver, notices: readonly Notice[], report: Report): Promise<LaneEnd> {
    const notice = digestOf(receiver.name, notices);
    const delivery = newDelivery(notice, [receiver.name], instance, now() + SEND_WITHIN_MS);
    const stored = { body: asciiJson(notice), metadata: encodeDelivery(delivery) };
    try {
      const answer = await within(clock, CALL_LIMIT_MS, (signal) => store.createNotice(notice.id, stored, { signal }));
      if (answer.kind === 'created') await deliver({ notice, delivery, etag: answer.etag }, report);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      return { kind: 'failed', why: error.message, isThrottled: false, retryAfterMs: undefined };
    }
    return { kind: 'digest' };
  }

  /** All deployments see it with their next sweep. */
  function switchOff(name: string, report: Report): void {
    const receiver = receivers.get(name);
    if (receiver === undefined) return;
    const id = offId(receiver);
    off.add(id);
    const at = now();
    const metadata = encodeDelivery({ ...newDelivery({ at }, [], instance, at), doneAt: at });
    within(clock, CALL_LIMIT_MS, (signal) => store.createNotice(id, { body: '{}', metadata }, { signal })).catch(
      (error: unknown) => {
        report.log('warn', `receiver "${name}" could not be switched off for other instances:`, error);
      },
    );
  }
}

/** The receiver's next state, with the events that tell of it. */
function tellEnd(state: ReceiverState, end: Turn, { id, job }: Notice, now: EpochMs, report: Report): ReceiverState {
  const event = (name: 'noticeSent' | 'noticeLost', reason: string): void => {
    report.event({ event: name, at: now, ...(job === '' ? {} : { job }), reason });
  };
  const { name } = state;
  if (end === 'off' || end === 'over') return { ...state, end };
  if (end.kind === 'digest') return { ...state, end: 'digest' };
  if (end.kind === 'late') return state;
  const next = afterTry(state, end, now);
  if (end.kind === 'sent') event('noticeSent', `${id} to ${name}`);
  if (end.kind === 'gone') {
    event('noticeLost', `receiver "${name}" answered 410 and is switched off: set a new address, or test it`);
  }
  if (end.kind === 'failed') {
    report.log('warn', `notice ${id}: receiver "${name}", try ${String(next.tries)}: ${end.why}`);
    if (next.end === 'givenUp') event('noticeLost', `${id} did not reach "${name}": ${end.why}`);
  }
  return next;
}

const OFF = '_off_';

/** The blob that switches a receiver off at this address. Another address is another receiver. */
export function offId({ name, address, routingKey = '' }: Receiver): string {
  const digest = createHash('sha256').update(`${address.href} ${routingKey}`).digest('hex');
  return `${OFF}${name}_${digest.slice(0, 16)}`;
}

/** One notice in place of several. The same ones give the same id. */
function digestOf(receiver: string, notices: readonly Notice[]): Notice {
  const ids = notices.map(({ id }) => id).sort();
  const digest = createHash('sha256')
    .update(`${receiver} ${ids.join(' ')}`)
    .digest('hex');
  return {
    id: `all_digest_${digest.slice(0, 32)}`,
    change: 'digest',
    job: '',
    at: Math.max(...notices.map(({ at }) => at)),
    // A digest has no room for what the handlers threw.
    notices: notices.slice(0, DIGEST_SIZE).map(({ error: _error, ...others }) => others),
    of: notices.length,
  };
}

/** So many notices go out one by one; more of them within a minute go out together. */
const SINGLES = 5;
const MINUTE_MS: Millis = 60_000;
const GATHER_MS: Millis = 20_000;
const DIGEST_SIZE = 100;
/** The shortest time between two messages. Slack takes one a second, PagerDuty 120 a minute from all deployments. */
const APART_MS: Readonly<Record<Format, Millis>> = { cloudevents: 0, slack: 1_000, teams: 1_000, pagerduty: 1_000 };

/** The end of a notice in its lane. `late`: its time was over before its turn came, and it was not sent. */
type LaneEnd = TryEnd | { readonly kind: 'digest' } | { readonly kind: 'late' };

/** The way to one receiver. Its turn must come within `withinMs`: after that, another process may send the notice. */
type Lane = (notice: Notice, withinMs: Millis) => Promise<LaneEnd>;

interface Waiting {
  readonly notice: Notice;
  /** Monotonic, as `until`. */
  readonly since: Millis;
  readonly until: Millis;
  readonly resolve: (end: LaneEnd) => void;
}

/** How a lane sends. Neither call rejects. */
interface Sending {
  one(notice: Notice): Promise<TryEnd>;
  /** Stores one notice in place of these, and sends it. */
  digest(notices: readonly Notice[]): Promise<LaneEnd>;
}

/**
 * Sends the notices of one receiver one after another. Where many jobs fail at once, the first few are sent at once,
 * and the others together. An incident of PagerDuty belongs to one job, so those are never put together. Decision 094.
 */
function createLane(clock: Clock, as: Format, sending: Sending): Lane {
  const queue: Waiting[] = [];
  let sentAt: Millis[] = [];
  let isRunning = false;
  const apartMs = APART_MS[as];

  async function apart(): Promise<void> {
    const last = sentAt.at(-1);
    if (last !== undefined && apartMs > 0) await sleep(clock, last + apartMs - clock.monotonic());
  }

  async function next(): Promise<readonly Waiting[]> {
    await apart();
    sentAt = sentAt.filter((at) => clock.monotonic() - at < MINUTE_MS);
    if (as === 'pagerduty' || (sentAt.length < SINGLES && queue.length <= SINGLES - sentAt.length)) {
      return queue.splice(0, 1);
    }
    const first = queue[0]?.since ?? 0;
    while (queue.length < DIGEST_SIZE && clock.monotonic() - first < GATHER_MS) {
      await sleep(clock, Math.min(1_000, first + GATHER_MS - clock.monotonic()));
    }
    return queue.splice(0, DIGEST_SIZE);
  }

  function isInTime({ until, resolve }: Waiting): boolean {
    if (clock.monotonic() <= until) return true;
    resolve({ kind: 'late' });
    return false;
  }

  async function run(): Promise<void> {
    while (queue.length > 0) {
      const batch = (await next()).filter(isInTime);
      const [first] = batch;
      if (first === undefined) continue;
      sentAt.push(clock.monotonic());
      const end =
        batch.length === 1 ? await sending.one(first.notice) : await sending.digest(batch.map(({ notice }) => notice));
      for (const { resolve } of batch) resolve(end);
    }
    isRunning = false;
  }

  return (notice, withinMs) =>
    new Promise((resolve) => {
      const since = clock.monotonic();
      queue.push({ notice, since, until: since + withinMs, resolve });
      if (isRunning) return;
      isRunning = true;
      void run();
    });
}
