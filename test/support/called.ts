import { type CallMeans, runCall } from '../../src/call/call';
import type { CallSpec } from '../../src/core/call';
import { sleep } from '../../src/core/clock';
import type { CallHandler } from '../../src/handler/handlers';
import type { Answer, Asked } from '../../src/notices/request';
import type { Instance } from './rival-ticks';

/** A request that a target of the test got. */
export interface Sent extends Asked {
  readonly at: number;
  readonly from: Instance;
  /** Whether its sender gave it up before its answer. */
  isAborted: boolean;
}

export interface Answering {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** How long the target takes. */
  readonly afterMs?: number;
}

export type Target = (sent: Sent, all: readonly Sent[]) => Answering;

export const CALL: CallSpec = {
  url: 'https://target.example/close',
  method: 'POST',
  headers: {},
  body: { n: '{attempt}' },
};
/** An answer that starts an operation at `/state`. */
export const OPERATION = { status: 202, headers: { 'operation-location': '/state', 'retry-after': '5' } };

/** Makes a call as the app does, with the means of a test. */
export function callHandler(
  call: CallSpec,
  means: Pick<CallMeans, 'send'> & Partial<CallMeans>,
): (on: Instance) => CallHandler {
  return ({ coordinator: { clock } }) => ({
    call: (context, input, kept) => {
      const guard = {
        setting: 'CRONLEASE_CALL_HOSTS',
        hosts: [{ pattern: 'target.example', networks: [] }],
        isLocal: false,
      } as const;
      const tokenFor = async (): Promise<string> => '';
      const all = { clock, guard, readSetting: () => undefined, tokenFor, ...means };
      return runCall({ call, timeZone: 'UTC' }, { means: all, context, kept, input });
    },
  });
}

/** A target inside the test, on the clock of its instances, and the requests that it got. */
export function pretendTarget(
  answer: Target,
  call: CallSpec = CALL,
): { readonly sent: Sent[]; readonly handler: (on: Instance) => CallHandler } {
  const sent: Sent[] = [];
  const handler = (on: Instance): CallHandler => {
    const { clock } = on.coordinator;
    const send: CallMeans['send'] = async (asked, { signal }): Promise<Answer> => {
      const one = { ...asked, at: clock.now(), from: on, isAborted: false };
      sent.push(one);
      const { status, headers = {}, body, afterMs = 100 } = answer(one, sent);
      await sleep(clock, afterMs, signal);
      one.isAborted = signal.aborted;
      if (signal.aborted) throw new Error('aborted');
      const text = body === undefined ? '' : JSON.stringify(body);
      return { status, headers: { 'content-type': 'application/json', ...headers }, text, isCut: false };
    };
    return callHandler(call, { send })(on);
  };
  return { sent, handler };
}
