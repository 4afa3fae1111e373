import http from 'node:http';
import type { RequestPolicyFactory } from '@azure/storage-blob';
import type { Millis } from '../../core/brand';
import type { Turns } from './turns';
import { createTurns } from './turns';

/** How many calls are sent side by side, each over a connection of its own. */
interface Limits {
  readonly calls: number;
  /** A lease would run out while its renewal waits behind the calls of a burst. */
  readonly renewals: number;
}

/**
 * The emulator accepts one new connection in each turn of its event loop, after all requests that are ready. Where a
 * burst of calls opened a connection for each, those waited for up to 5 s while calls on older connections were served.
 */
const EMULATOR: Limits = { calls: 12, renewals: 4 };

/**
 * An instance may open 128 connections to one address before it has to wait for more ports, and its host needs some of
 * them. A new connection also costs more time and CPU than the call itself.
 *
 * @see https://learn.microsoft.com/azure/app-service/troubleshoot-intermittent-outbound-connection-errors
 */
const AZURE: Limits = { calls: 80, renewals: 20 };

/** The SDK sends calls to Azure through the proxy that the environment names. The emulator needs none. */
const noProxy = new http.Agent({ keepAlive: true });

/**
 * Sends calls over a few connections. Where all are in use, a call waits for one.
 *
 * @param service the emulator without TLS, or one account
 * @param now on a monotonic clock, which measures how long calls wait
 */
export function fewConnections(service: 'emulator' | 'azure', now: () => Millis = () => 0): RequestPolicyFactory {
  const limits = service === 'emulator' ? EMULATOR : AZURE;
  const turns = (limit: number): Turns => createTurns(limit, now);
  const [calls, renewals] = [turns(limits.calls), turns(limits.renewals)];
  return {
    create: (next) => ({
      async sendRequest(request) {
        if (service === 'emulator') request.agent = noProxy;
        const lane = request.headers.get('x-ms-lease-action') === 'renew' ? renewals : calls;
        await lane.take(request.abortSignal);
        try {
          return await next.sendRequest(request);
        } finally {
          lane.end();
        }
      },
    }),
  };
}
