import { type RequestPolicyFactory, RestError, type WebResource } from '@azure/storage-blob';
import type { Clock } from '../../core/clock';
import { type CallKind, type CallOutcome, callResult } from '../../core/storage-call';

/** A request of the blob service, as the SDK or a server has it. */
interface BlobRequest {
  readonly method: string;
  readonly url: string;
  /** The header `x-ms-lease-action`. */
  readonly leaseAction: string | undefined;
}

const LEASE_ACTIONS = ['acquire', 'renew', 'change', 'release', 'break'] as const;

/** Parameters of a query, none of which is ever escaped. Each call is looked at, and a parsed URL costs ten times as much. */
const COMP = /[?&]comp=([^&]*)/;
const OF_CONTAINER = /[?&]restype=container(?:&|$)/;

/** A policy that reports the kind of each call before it is sent. */
export function callCounter(onCall: (kind: CallKind) => void): RequestPolicyFactory {
  return {
    create: (next) => ({
      sendRequest: (request) => {
        onCall(kindOfRequest(request));
        return next.sendRequest(request);
      },
    }),
  };
}

/** A policy that reports each call once it is over. */
export function callMeter(clock: Clock, onOutcome: (outcome: CallOutcome) => void): RequestPolicyFactory {
  return {
    create: (next) => ({
      async sendRequest(request) {
        const kind = kindOfRequest(request);
        const sent = clock.monotonic();
        let status: number | undefined;
        try {
          const answer = await next.sendRequest(request);
          status = answer.status;
          return answer;
        } catch (error) {
          status = error instanceof RestError ? error.statusCode : undefined;
          throw error;
        } finally {
          onOutcome({ kind, result: callResult(status), ms: clock.monotonic() - sent });
        }
      },
    }),
  };
}

/** Takes the three members that matter: a copy of the whole request would cost more than the rest of a measurement. */
export function kindOfRequest({ method, url, headers }: WebResource): CallKind {
  return kindOfCall({ method, url, leaseAction: headers.get('x-ms-lease-action') });
}

/** @throws Error for a request that this adapter never sends */
export function kindOfCall({ method, url, leaseAction }: BlobRequest): CallKind {
  const action = LEASE_ACTIONS.find((known) => known === leaseAction);
  if (action !== undefined) return action;
  const comp = COMP.exec(url)?.[1];
  if (comp === 'list') return 'listing';
  if (OF_CONTAINER.test(url)) return 'container';
  if (comp === 'metadata') return 'metadata';
  if (comp === 'appendblock') return 'append';
  switch (method) {
    case 'GET':
      return 'read';
    case 'HEAD':
      return 'properties';
    case 'PUT':
      return 'write';
    case 'DELETE':
      return 'delete';
  }
  throw new Error(`${method} with comp=${comp ?? ''} is not a call that can be counted: add it to kindOfCall`);
}
