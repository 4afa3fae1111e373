import type { Millis } from '../../core/brand';
import { objectIn, textIn } from '../http/json';
import { dateIn } from '../http/time';
import type { Exchange } from './members';

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
