import { type HttpAnswer, type HttpRequest, type Post, rotating } from '../http/members';
import type { ConsulCluster } from '../http/url';
import { ConsulError, isAgentAtFault } from './errors';

/** Makes one exchange with an agent. Rejects with a {@link ConsulError} if its status is none of `expected`. */
export type Exchange = (
  request: Pick<HttpRequest, 'method' | 'path' | 'body' | 'signal'>,
  ...expected: readonly number[]
) => Promise<HttpAnswer>;

/** The connections of this process: several stores and elections on one cluster share theirs. */
const SHARED = new Map<string, Post>();

export function exchangesWith(cluster: ConsulCluster): Exchange {
  const post = SHARED.get(cluster.url) ?? rotating(cluster, isAgentAtFault);
  SHARED.set(cluster.url, post);
  const headers = cluster.token === undefined ? undefined : { 'x-consul-token': cluster.token };
  return (request, ...expected) =>
    post({ ...request, headers }, (answer) => {
      const { status, json, said } = answer;
      if (expected.includes(status) || (status === 200 && json !== undefined)) return answer;
      throw new ConsulError(status, said.trim() || 'no answer of Consul');
    });
}
