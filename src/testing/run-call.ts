import { type Send, runCall } from '../call/call';
import type { Millis } from '../core/brand';
import { type CallSpec, originOf } from '../core/call';
import type { Clock } from '../core/clock';
import type { JobInFile } from '../config/job-in-file';
import type { JobContext } from '../handler/handler';
import { type Guard, checkAddress, hostOf } from '../notices/guard';

/** A job whose jobs file has a `call`, for `runJob`. */
export interface CallJob {
  readonly call: NonNullable<JobInFile['call']>;
}

/** What a call needs in a test. */
export interface CallTestOptions {
  /** Answers the requests of a call. Default: the global `fetch`. */
  readonly fetch?: typeof fetch;
  /** The app settings that a call names as `%NAME%`. Default: none. */
  readonly appSettings?: Readonly<Record<string, string>>;
  /** The hosts that a call may go to besides its own, as in `CRONLEASE_CALL_HOSTS`. Default: none. */
  readonly callHosts?: readonly string[];
}

/** A call that a test plays. */
export function playedCall(
  { call, timeZone }: { readonly call: CallSpec; readonly timeZone: string },
  clock: Clock,
  { fetch = globalThis.fetch, appSettings = {}, callHosts = [] }: CallTestOptions,
) {
  const readSetting = (name: string): string | undefined => appSettings[name];
  const own = originOf(call, readSetting);
  const hosts = [...(own === undefined ? [] : [hostOf(own)]), ...callHosts.map((host) => host.toLowerCase())];
  const guard: Guard = {
    setting: 'CRONLEASE_CALL_HOSTS',
    hosts: hosts.map((pattern) => ({ pattern, networks: [] })),
    isLocal: true,
  };
  const send: Send = async ({ address, method, headers, body }, { signal, mostBytes }) => {
    checkAddress(address, guard);
    const sent = await fetch(address, { method, headers, signal, redirect: 'manual', ...(body && { body }) });
    const bytes = Buffer.from(await sent.arrayBuffer());
    return {
      status: sent.status,
      headers: Object.fromEntries(sent.headers),
      text: bytes.subarray(0, mostBytes).toString('utf8'),
      isCut: bytes.length > mostBytes,
    };
  };
  let kept = '';
  let wait: Millis = 0;
  const waiting: Clock = {
    ...clock,
    after: (delay, run) => {
      wait = delay;
      return clock.after(delay, run);
    },
  };
  const means = {
    clock: waiting,
    guard,
    readSetting,
    send,
    tokenFor: (audience: string) => Promise.resolve(`token-for-${audience}`),
  };
  const keeper = {
    read: () => Promise.resolve(kept === '' ? undefined : kept),
    keep: (text: string) => {
      kept = text;
      return Promise.resolve();
    },
  };
  return {
    /** Makes the call, as an attempt does. */
    call: (context: JobContext, input: unknown): Promise<unknown> =>
      runCall({ call, timeZone }, { means, context, kept: keeper, input }),
    /** How long it waits to poll an operation. The next answer is 0. */
    takeWait: (): Millis => {
      const taken = wait;
      wait = 0;
      return taken;
    },
  };
}
