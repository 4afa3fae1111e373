import type { Millis } from '../../core/brand';
import { objectIn, textIn } from '../http/json';
import { dateIn } from '../http/time';
import { STORE_LIMITS } from '../limits';
import type { Exchange } from './members';

/** A lease of etcd, which no call renews. It begins when the cluster has agreed on it. */
export async function grant(exchange: Exchange, seconds: number, signal: AbortSignal) {
  const { json, dateHeader } = await exchange('lease/grant', { TTL: String(seconds) }, signal);
  const lease = textIn(objectIn(json)['ID']);
  if (lease === '') throw new Error('etcd has granted no lease');
  return { lease, date: dateIn(dateHeader) };
}

/**
 * How long a lease of etcd lasts at least, in whole seconds: 0 if it has ended. Never more than it was granted: a
 * member that has just become leader answers more, and one before 3.4.32 or 3.5.14 answers that it lasts forever.
 */
export async function remaining(exchange: Exchange, lease: string, signal: AbortSignal): Promise<Millis> {
  const { json } = await exchange('lease/timetolive', { ID: lease }, signal);
  const { TTL: left, grantedTTL: granted } = objectIn(json);
  return Math.max(0, Math.min(secondsIn(left), secondsIn(granted), LONGEST_SECONDS)) * 1000;
}

const LONGEST_SECONDS = STORE_LIMITS.leaseMs.most / 1000;

/** The gateway leaves out a zero. */
function secondsIn(value: unknown): number {
  return Number(textIn(value)) || 0;
}
