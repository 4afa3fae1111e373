import http from 'node:http';
import type { RequestPolicyFactory } from '@azure/storage-blob';
import type { Millis } from '../../core/brand';
import type { CallKind } from '../../core/storage-call';
import { deadlineOf } from '../../lease/deadline';
import { kindOfRequest } from './count-calls';
import { type Turns, type Urgency, createTurns } from './turns';

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
