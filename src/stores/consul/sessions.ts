import type { Millis } from '../../core/brand';
import type { Clock } from '../../core/clock';
import { elapsedSince, moment, type Moment } from '../../lease/trust';
import { objectIn, textIn } from '../http/json';
import type { Exchange } from './agents';

/** No session lasts as long. */
const FORGET_AFTER_MS = 10 * 60_000;

/** The sessions that this process has made: when each was asked for, and its length. */
const MADE = new Map<string, { readonly sent: Moment; readonly ms: Millis }>();

/**
 * Makes a session, on which the cluster agrees. It ends once its time has passed, at the earliest, and once twice that
 * has passed, at the latest, unless the cluster has a new leader, which lets it begin again.
 */
export async function makeSession(
  { exchange, node, clock }: { readonly exchange: Exchange; readonly node: string; readonly clock: Clock },
  seconds: number,
  signal: AbortSignal,
): Promise<string> {
  const sent = moment(clock);
  const body = {
    Name: 'cronlease',
    Node: node,
    TTL: `${String(seconds)}s`,
    Behavior: 'release',
    LockDelay: '0s',
    // Health checks end sessions early. Old versions have another name for them.
    NodeChecks: [],
    Checks: [],
  };
  const { json } = await exchange({ method: 'PUT', path: '/v1/session/create', body, signal });
  const session = textIn(objectIn(json)['ID']);
  if (session === '') throw new Error('Consul has made no session');
  for (const [id, made] of MADE) {
    if (elapsedSince(clock, made.sent) < FORGET_AFTER_MS) break;
    MADE.delete(id);
  }
  MADE.set(session, { sent, ms: seconds * 1000 });
  return session;
}

/** How long a session lasts at least. Undefined: another process has made it, and it cannot be known. */
export function leftOf(clock: Clock, session: string): Millis | undefined {
  const made = MADE.get(session);
  return made && Math.max(0, made.ms - elapsedSince(clock, made.sent));
}
