import type { EpochMs, Millis } from '../../core/brand';
import type { CallOptions } from '../../lease/store';
import { NoContainerError } from '../client-error';
import { dateIn, memberTime } from '../http/time';
import { metered, type Service } from '../metered';
import type { Question } from '../port';
import type { Exchange } from './members';
import { grant, remaining } from './time';
import { get, isThere, type Transaction, type TransactionAnswer, transactionIn } from './wire';

export interface Dated extends TransactionAnswer {
  readonly date: EpochMs;
}

export interface Ask {
  /**
   * Carries out a transaction, if the container exists. Reads are linearizable: the member asks for the newest revision.
   *
   * @param isNothing whether an answer means that nothing was found; default: it has not succeeded
   */
  transact(
    question: Question,
    transaction: Transaction,
    isNothing?: (answer: TransactionAnswer) => boolean,
  ): Promise<Dated>;
  /** As {@link transact}, whether or not the container exists. */
  transactAnyway(question: Question, transaction: Transaction): Promise<Dated>;
  grant(question: Question, seconds: number): Promise<{ readonly lease: string; readonly date: EpochMs }>;
  remaining(question: Question, lease: string): Promise<Millis>;
  /** The members' time, to within about a second. */
  now(options: CallOptions | undefined): Promise<EpochMs>;
}

export interface Cluster extends Service {
  readonly exchange: Exchange;
  /** The key of the layout. */
  readonly layout: string;
}

export function asker(cluster: Cluster): Ask {
  const { layout, exchange } = cluster;
  const time = memberTime(cluster.clock);
  const make = <T>(question: Question, send: (signal: AbortSignal) => Promise<T>, isNothing?: (answer: T) => boolean) =>
    metered(cluster, { ...question, isNothing }, send);

  async function send(request: object, signal: AbortSignal): Promise<Dated> {
    const { json, dateHeader } = await exchange('kv/txn', request, signal);
    const date = dateIn(dateHeader);
    time.observe(date);
    return { ...transactionIn(json), date };
  }

  const ask: Ask = {
    transactAnyway: (question, transaction) => make(question, (signal) => send(transaction, signal)),
    transact: (
      question,
      { compare = [], success, failure: otherwise = [] },
      isNothing = ({ succeeded }) => !succeeded,
    ) =>
      make(
        question,
        async (signal) => {
          const request = { compare: [isThere(layout), ...compare], success, failure: [get(layout), ...otherwise] };
          const answer = await send(request, signal);
          if (answer.succeeded) return answer;
          const [seen, ...found] = answer.found;
          if (seen?.kvs.length === 0) throw new NoContainerError(`there is no key ${layout}`);
          return { ...answer, found };
        },
        isNothing,
      ),
    grant: (question, seconds) => make(question, (signal) => grant(exchange, seconds, signal)),
    remaining: (question, lease) => make(question, (signal) => remaining(exchange, lease, signal)),
    async now(options) {
      const known = time.now();
      if (known !== undefined) return known;
      const question = { what: 'ask for the time', kind: 'properties', options } as const;
      return (await ask.transactAnyway(question, { success: [get(layout)] })).date;
    },
  };
  return ask;
}
