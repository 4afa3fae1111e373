import type { RequestPolicyFactory } from '@azure/storage-blob';
import type { CallKind } from '../../core/storage-call';

/** A request of the blob service, as the SDK or a server has it. */
interface BlobRequest {
  readonly method: string;
  readonly url: string;
  /** The header `x-ms-lease-action`. */
  readonly leaseAction: string | undefined;
}

const LEASE_ACTIONS = ['acquire', 'renew', 'change', 'release', 'break'] as const;

/** A policy that reports the kind of each call before it is sent. */
export function callCounter(onCall: (kind: CallKind) => void): RequestPolicyFactory {
  return {
    create: (next) => ({
      sendRequest: (request) => {
        onCall(kindOfCall({ ...request, leaseAction: request.headers.get('x-ms-lease-action') }));
        return next.sendRequest(request);
      },
    }),
  };
}

/** @throws Error for a request that this adapter never sends */
export function kindOfCall({ method, url, leaseAction }: BlobRequest): CallKind {
  const action = LEASE_ACTIONS.find((known) => known === leaseAction);
  if (action !== undefined) return action;
  const { searchParams } = new URL(url);
  const comp = searchParams.get('comp');
  if (comp === 'list') return 'listing';
  if (searchParams.get('restype') === 'container') return 'container';
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
  throw new Error(`${method} with comp=${comp ?? ''} is no call that can be counted: add it to kindOfCall`);
}
