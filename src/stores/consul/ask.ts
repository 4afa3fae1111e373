import type { EpochMs } from '../../core/brand';
import { NoContainerError } from '../client-error';
import { listIn, textIn } from '../http/json';
import { dateIn, memberTime } from '../http/time';
import { undisturbedWithin } from '../lease-automaton';
import { type Call, metered, type Service } from '../metered';
import type { Exchange } from './agents';
import { ConsulError } from './errors';
import { makeSession } from './sessions';
import { get, type Operation, type TransactionAnswer, transactionIn, tree } from './wire';

export interface Dated extends TransactionAnswer {
  readonly date: EpochMs;
}

/** The exchanges of one call. */
export interface Calls {
  /**
   * Carries out a transaction, if the container exists. Reads are consistent: the leader asks the others first whether
   * it still leads.
   *
   * @throws NoContainerError
   */
  transact(...operations: readonly Operation[]): Promise<Dated>;
  /** As {@link transact}, whether or not the container exists. */
  transactAnyway(...operations: readonly Operation[]): Promise<Dated>;
  /** How the keys that begin so go on, up to the next slash. */
  branches(prefix: string): Promise<readonly string[]>;
  session(seconds: number): Promise<string>;
  /** The agents' time, to within about a second. */
  now(): Promise<EpochMs>;
}

/** Makes one call of the port, of one or several exchanges, in the time of one. */
export type Ask = <T>(question: Call<T>, use: (calls: Calls, signal: AbortSignal) => Promise<T>) => Promise<T>;

export interface Cluster extends Service {
  readonly exchange: Exchange;
  /** The key of the layout. */
  readonly layout: string;
  /** The node in the catalog on which sessions are. */
  readonly node: string;
}

export function asker(cluster: Cluster): Ask {
  const { layout, exchange, clock } = cluster;
  const time = memberTime(clock);

  function callsUntil(signal: AbortSignal): Calls {
    const calls: Calls = {
      async transactAnyway(...operations) {
        const request = { method: 'PUT', path: '/v1/txn?consistent', body: operations, signal } as const;
        const { status, json, dateHeader } = await exchange(request, 409);
        const date = dateIn(dateHeader);
        time.observe(date);
        return { ...transactionIn(status, json), date };
      },
      async transact(...operations) {
        const answer = await calls.transactAnyway(get(layout), ...operations);
        if (answer.refused.includes(0)) throw new NoContainerError(`there is no key ${layout}`);
        return { ...answer, found: answer.found?.filter(({ key }) => key !== layout) };
      },
      async branches(prefix) {
        const path = `/v1/kv/${prefix.split('/').map(encodeURIComponent).join('/')}?keys&separator=/&consistent`;
        const { status, json } = await exchange({ method: 'GET', path, signal }, 404);
        return status === 404 ? [] : listIn(json).map(textIn);
      },
      session: (seconds) => makeSession(cluster, seconds, signal),
      now: async () => time.now() ?? (await calls.transactAnyway(tree(layout))).date,
    };
    return calls;
  }

  return (question, use) => metered(cluster, question, (signal) => use(callsUntil(signal), signal));
}

export const untilUndisturbed = undisturbedWithin(
  20,
  () => new ConsulError(409, 'others write the same keys all the time'),
);
