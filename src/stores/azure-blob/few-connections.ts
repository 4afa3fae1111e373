import http from 'node:http';
import https from 'node:https';
import type { RequestPolicyFactory } from '@azure/storage-blob';

/**
 * The emulator accepts one new connection in each turn of its event loop, after all requests that are ready. Where a
 * burst of calls opened a connection for each, those waited for up to 5 s while calls on older connections were served.
 */
const toEmulator = new http.Agent({ keepAlive: true, maxSockets: 16 });

/**
 * An instance may open 128 connections to one address before it has to wait for more ports, and its host needs some of
 * them. A new connection also costs more time and CPU than the call itself.
 *
 * @see https://learn.microsoft.com/azure/app-service/troubleshoot-intermittent-outbound-connection-errors
 */
const toAzure = new https.Agent({ keepAlive: true, maxSockets: 100 });

/**
 * Sends calls over a few connections of this process to each account. Where all are in use, a call waits for one.
 *
 * @param service the emulator without TLS, or anything with TLS
 */
export function fewConnections(service: 'emulator' | 'azure'): RequestPolicyFactory {
  return {
    create: (next) => ({
      sendRequest(request) {
        if (service === 'emulator') request.agent = toEmulator;
        // The SDK has set the agent of a proxy that the environment names. The emulator needs none.
        else request.agent ??= toAzure;
        return next.sendRequest(request);
      },
    }),
  };
}
