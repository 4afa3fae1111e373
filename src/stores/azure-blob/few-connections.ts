import { Agent } from 'node:http';
import type { RequestPolicyFactory } from '@azure/storage-blob';

/**
 * The emulator accepts one new connection in each turn of its event loop, after all requests that are ready. Where a
 * burst of calls opened a connection for each, those waited for up to 5 s while calls on older connections were served.
 */
const agent = new Agent({ keepAlive: true, maxSockets: 16 });

/** Sends calls to the emulator over a few connections of this process. Where all are in use, a call waits for one. */
export const fewConnections: RequestPolicyFactory = {
  create: (next) => ({
    sendRequest(request) {
      request.agent = agent;
      return next.sendRequest(request);
    },
  }),
};
