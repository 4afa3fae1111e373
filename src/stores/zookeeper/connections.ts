import type { Millis } from '../../core/brand';
import type { Clock } from '../../core/clock';
import type { Member, Members } from '../http/url';
import { unlessGivenUp } from '../metered';
import { ZooKeeperError } from './errors';
import { type Line, openLine, type Session } from './session';

/** Lends the session to `use`, which may send several requests at once. */
export type WithSession = <T>(signal: AbortSignal, use: (session: Session) => Promise<T>) => Promise<T>;

export interface Driving {
  readonly ensemble: Members;
  readonly clock: Clock;
  /** How long it may take to find a server that grants a session. */
  readonly connectMs: Millis;
}

/** The connections of this process: several stores and elections on one ensemble share theirs. */
const SHARED = new Map<string, WithSession>();

/**
 * One connection, on which calls follow each other without waiting. It does not connect by itself, and repeats no call:
 * a call that was sent may have taken effect, and only the caller knows what a second one would do. A connection that
 * ended, or on which a call was given up, is replaced at the next call, by one to the next server.
 */
export function connectionsOf(driving: Driving): WithSession {
  const key = `${String(driving.connectMs)} ${driving.ensemble.url}`;
  const shared = SHARED.get(key) ?? connections(driving);
  SHARED.set(key, shared);
  return shared;
}

interface Lane {
  readonly line: Promise<Line>;
  calls: number;
  opened: Line | undefined;
  sessionMs: Millis;
  usedAt: Millis;
}

function connections(driving: Driving): WithSession {
  const { clock, ensemble } = driving;
  // Not all instances begin with the same server.
  let next = Math.floor(clock.now()) % ensemble.members.length;
  let current: Lane | undefined;
  const retire = (lane: Lane): void => {
    if (lane === current) current = undefined;
    if (lane.calls > 0) return;
    lane.line.then(
      (line) => line.end(new Error('the connection is no longer used')),
      () => undefined,
    );
  };
  const open = (): Lane => {
    const stop = new AbortController();
    const lane: Lane = { line: anyLine(driving, () => (next += 1), stop.signal), calls: 0, ...UNUSED };
    lane.usedAt = clock.monotonic();
    const cancel = clock.after(driving.connectMs, () => stop.abort());
    lane.line.then(
      async (line) => {
        cancel();
        lane.opened = line;
        lane.sessionMs = await line.ready;
        await line.ended;
        retire(lane);
      },
      () => {
        cancel();
        retire(lane);
      },
    );
    return lane;
  };
  return async (signal, use) => {
    signal.throwIfAborted();
    // The server ends a session that is silent for its length.
    if (current?.calls === 0 && clock.monotonic() - current.usedAt > current.sessionMs / 2) retire(current);
    const lane = (current ??= open());
    lane.calls += 1;
    try {
      // Later calls must not wait behind one without a caller: the network may have lost this connection.
      return await unlessGivenUp(
        signal,
        () => useLine(lane, use),
        () => retire(lane),
      );
    } finally {
      lane.calls -= 1;
      lane.usedAt = clock.monotonic();
      if (lane !== current) retire(lane);
      else if (lane.calls === 0) lane.opened?.keepProcess(false);
    }
  };
}

const UNUSED = { opened: undefined, sessionMs: Infinity, usedAt: 0 } as const;

async function useLine<T>(lane: Lane, use: (session: Session) => Promise<T>): Promise<T> {
  const line = await lane.line;
  line.keepProcess(true);
  return use(line.session);
}

/** Asks each server once, and each for its share of the time. */
async function anyLine(driving: Driving, next: () => number, stop: AbortSignal): Promise<Line> {
  const { members } = driving.ensemble;
  const failures: Error[] = [];
  for (let tries = 0; tries < members.length; tries += 1) {
    const address = members[next() % members.length];
    if (address === undefined || stop.aborted) break;
    try {
      return await oneLine(driving, address, stop);
    } catch (error) {
      if (error instanceof ZooKeeperError) throw error;
      failures.push(error instanceof Error ? error : new Error(String(error)));
    }
  }
  const [first] = failures;
  throw failures.length === 1 && first !== undefined ? first : new AggregateError(failures);
}

async function oneLine({ ensemble, clock, connectMs }: Driving, address: Member, stop: AbortSignal): Promise<Line> {
  const line = openLine(ensemble, address);
  const where = `${address.host}:${address.port}`;
  const share = Math.ceil(connectMs / ensemble.members.length);
  const cancel = clock.after(share, () => line.end(new Error(`${where} has granted no session in ${share} ms`)));
  const onStop = (): void => line.end(new Error(`${where} has granted no session in time`));
  stop.addEventListener('abort', onStop, { once: true });
  try {
    await line.ready;
    return line;
  } finally {
    cancel();
    stop.removeEventListener('abort', onStop);
  }
}
