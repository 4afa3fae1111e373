import type { EpochMs, Millis } from '../../core/brand';
import type { Clock } from '../../core/clock';
import type { Exchange } from './members';
import { objectIn, textIn } from './wire';

/** The time of the member that has answered, in whole seconds. */
export function dateIn(header: string | undefined): EpochMs {
  const date = Date.parse(header ?? '');
  if (Number.isNaN(date)) throw new Error('the answer has no Date, which a proxy may have removed');
  return date;
}

/** A lease of etcd, which no call renews. It begins when the cluster has agreed on it. */
export async function grant(exchange: Exchange, seconds: number, signal: AbortSignal) {
  const { json, dateHeader } = await exchange('lease/grant', { TTL: String(seconds) }, signal);
  const lease = textIn(objectIn(json)['ID']);
  if (lease === '') throw new Error('etcd has granted no lease');
  return { lease, date: dateIn(dateHeader) };
}

/** How long a lease of etcd lasts at least, in whole seconds: 0 if it has ended. */
export async function remaining(exchange: Exchange, lease: string, signal: AbortSignal): Promise<Millis> {
  const { json } = await exchange('lease/timetolive', { ID: lease }, signal);
  return Math.max(0, Number(textIn(objectIn(json)['TTL']) || 0)) * 1000;
}

/** The members' time between answers: that of the last one, and what has passed since. */
export interface MemberTime {
  observe(date: EpochMs): void;
  /** Undefined: no member has answered. */
  now(): EpochMs | undefined;
}

export function memberTime(clock: Clock): MemberTime {
  let last: { readonly date: EpochMs; readonly at: Millis } | undefined;
  return {
    observe(date) {
      last = { date, at: clock.monotonic() };
    },
    now: () => last && Math.round(last.date + clock.monotonic() - last.at),
  };
}
