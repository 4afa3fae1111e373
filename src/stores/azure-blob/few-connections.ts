import http from 'node:http';
import type { RequestPolicyFactory } from '@azure/storage-blob';
import type { Millis } from '../../core/brand';
import { type RankedQueue, rankedQueue } from '../../core/ranked-queue';
import type { CallKind } from '../../core/storage-call';
import { deadlineOf } from '../../lease/deadline';
import { kindOfRequest } from './count-calls';

/** Calls that do not wait for each other. */
type Lane = 'listings' | 'others';

/**
 * How many calls of each lane are sent side by side, each over its own connection. Every job waits for a listing, so
 * that must not wait behind the calls of a burst.
 */
type Limits = Readonly<Record<Lane, number>>;

/**
 * The emulator accepts one new connection in each turn of its event loop, after all requests that are ready. If a burst
 * of calls opened a connection for each, those waited for up to 5 s while calls on older connections were served.
 */
const EMULATOR: Limits = { listings: 2, others: 14 };

/**
 * An instance may open 128 connections to one address before it has to wait for more ports, and its host needs some of
 * them. A new connection also costs more time and CPU than the call itself. A listing takes 8 at the most.
 *
 * @see https://learn.microsoft.com/azure/app-service/troubleshoot-intermittent-outbound-connection-errors
 */
const AZURE: Limits = { listings: 8, others: 92 };

/** The SDK sends calls to Azure through the proxy that the environment names. The emulator needs none. */
const noProxy = new http.Agent({ keepAlive: true });

/**
 * Sends calls over a few connections. Where all are in use, a call waits for one: what ends a run or keeps its lease goes
 * before what begins another run, and the lease that is over first goes first. Decision 029.
 *
 * @param service the emulator without TLS, or one account
 * @param now on a monotonic clock, which measures how long calls wait
 */
export function fewConnections(service: 'emulator' | 'azure', now: () => Millis = () => 0): RequestPolicyFactory {
  const limits = service === 'emulator' ? EMULATOR : AZURE;
  const lane = (name: Lane): Turns => createTurns(limits[name], now);
  const lanes: Readonly<Record<Lane, Turns>> = { listings: lane('listings'), others: lane('others') };
  return {
    create: (next) => ({
      async sendRequest(request) {
        if (service === 'emulator') request.agent = noProxy;
        const { abortSignal } = request;
        const kind = kindOfRequest(request);
        const turns = lanes[kind === 'listing' ? 'listings' : 'others'];
        await turns.take(abortSignal, urgencyOf(kind, abortSignal));
        try {
          return await next.sendRequest(request);
        } finally {
          turns.end();
        }
      },
    }),
  };
}

/** An acquisition that is not made under a lease begins what costs further calls. */
export function urgencyOf(kind: CallKind, signal: object | undefined): Urgency {
  const deadline = deadlineOf(signal);
  return { deadline, begins: kind === 'acquire' && deadline === Infinity };
}

/** What the SDK's requests have of an `AbortSignal`. */
interface Signal {
  readonly aborted: boolean;
  addEventListener(type: 'abort', listener: () => void): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

/** Gives out turns to send calls. */
export interface Turns {
  /** Resolves when a call may be sent. Rejects when the signal is aborted before that. */
  take(signal: Signal | undefined, urgency?: Urgency): Promise<void>;
  /** Ends a call that was sent. */
  end(): void;
}

/** How long a call may wait. */
export interface Urgency {
  /** When the lease is over under which the call is made. Default: never. */
  readonly deadline?: Millis;
  /** Whether all calls that do not begin something go first. */
  readonly begins?: boolean;
}

interface Waiting {
  readonly since: Millis;
  readonly begin: () => void;
}

/** Callers give up after 5 s. A call that has waited for this long may not be answered in the rest. */
const FRESH_MS: Millis = 3_000;

/**
 * Lets at most `limit` calls be sent side by side. The others wait: those whose leases end first are sent first, and
 * those that begin something last, so that what has begun ends in time. Otherwise they are sent in order. Among both,
 * calls that have waited for too long go last, or an overload would never end: each call would be sent just before its
 * caller gives up, and again later.
 *
 * @param now on a monotonic clock
 */
export function createTurns(limit: number, now: () => Millis): Turns {
  let sent = 0;
  const begun = createLine(now);
  const beginning = createLine(now);

  return {
    async take(signal, { deadline = Infinity, begins = false } = {}) {
      if (sent < limit) {
        sent += 1;
        return;
      }
      await new Promise<void>((resolve, reject) => {
        let leave = (): void => undefined;
        const giveUp = (): void => {
          leave();
          reject(new Error('the caller has given up before the call was sent'));
        };
        if (signal?.aborted === true) {
          giveUp();
          return;
        }
        leave = (begins ? beginning : begun).add(deadline, {
          since: now(),
          begin() {
            signal?.removeEventListener('abort', giveUp);
            resolve();
          },
        });
        signal?.addEventListener('abort', giveUp);
      });
    },
    end() {
      // The next call takes this one's turn: a newcomer cannot slip in between.
      const waiting = begun.shift() ?? beginning.shift();
      if (waiting === undefined) sent -= 1;
      else waiting.begin();
    },
  };
}

function createLine(now: () => Millis) {
  const fresh: RankedQueue<Waiting> = rankedQueue();
  const stale = new Set<Waiting>();
  return {
    add(deadline: Millis, waiting: Waiting): () => void {
      const leave = fresh.add([deadline], waiting);
      return () => {
        leave();
        stale.delete(waiting);
      };
    },
    shift(): Waiting | undefined {
      for (let first = fresh.shift(); first !== undefined; first = fresh.shift()) {
        if (now() - first.since <= FRESH_MS) return first;
        stale.add(first);
      }
      const [oldest] = stale;
      if (oldest !== undefined) stale.delete(oldest);
      return oldest;
    },
  };
}
