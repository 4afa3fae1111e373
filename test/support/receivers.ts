import type { Coordinator } from '../../src/coordinator/coordinator';
import type { Outlet } from '../../src/coordinator/outlet';
import { PostError, type Posted } from '../../src/notices/request';
import type { Receiver } from '../../src/notices/formats';
import { createSender } from '../../src/notices/sender';

/** A message that has come to a receiver. */
export interface Received {
  readonly id: string;
  readonly type: string;
  readonly from: string;
  readonly at: number;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface FakeReceiver {
  readonly received: Received[];
  outlet(process: Pick<Coordinator, 'store' | 'clock' | 'deployment'>): Outlet;
  /** Its answer to each message that comes from now on; `lost`: none. */
  answer: (message: Received) => { readonly status: number; readonly retryAfterMs?: number } | 'lost';
}

/** A receiver in this process, of CloudEvents by default. */
export function fakeReceiver(name = 'ops', format: Receiver['format'] = 'cloudevents'): FakeReceiver {
  const receiver: Receiver = {
    ...{
      name,
      format,
      address: new URL('https://alerts.example/hook'),
      secrets: [],
      routingKey: format === 'pagerduty' ? 'key' : undefined,
    },
  };
  const fake: FakeReceiver = {
    received: [],
    answer: () => ({ status: 204 }),
    outlet: ({ store, clock, deployment }) => ({
      ...createSender({
        ...{ store, clock, now: () => clock.now(), instance: `process of ${deployment}` },
        receivers: new Map([[name, receiver]]),
        origin: { source: 'memory', deployment, environment: undefined, publicAddress: undefined },
        call: async ({ headers, body }): Promise<Posted> => {
          const event = JSON.parse(body) as Record<string, unknown>;
          const message: Received = {
            id: headers['webhook-id'] ?? '',
            type: String(event['type']),
            ...{ from: deployment, at: clock.now(), body: event },
          };
          fake.received.push(message);
          const answer = fake.answer(message);
          if (answer === 'lost') throw new PostError('host "alerts.example" has not answered');
          return { status: answer.status, retryAfterMs: answer.retryAfterMs, text: '' };
        },
      }),
      ping: async () => undefined,
    }),
  };
  return fake;
}
