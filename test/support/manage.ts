import { createHash } from 'node:crypto';
import type { Poked } from '../../src/core/poked';
import type { JobSpec } from '../../src/core/job';
import type { AccessSettings } from '../../src/manage/access';
import type { Desk } from '../../src/manage/desk';
import { readKeys } from '../../src/manage/keys';
import { type Role, ROLES } from '../../src/manage/rights';
import { type ManageAnswer, type ManageRequest, createManage } from '../../src/manage/serve';
import type { LeaseStore } from '../../src/lease/store';
import { rivalTicks, type RivalTicks, type SimulationOptions } from './rival-ticks';

export interface Sent {
  readonly method?: string;
  /** Below `manage/`, with its query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Text, or a value to send as JSON. */
  readonly body?: unknown;
  /** The role of the key that is sent; undefined: none is. */
  readonly as?: Role | 'payloads' | undefined;
}

export interface Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly json: unknown;
}

export interface ManageBench {
  readonly sim: RivalTicks;
  readonly desk: Desk;
  readonly bugs: unknown[];
  /** Calls to storage by name. */
  readonly calls: Map<string, number>;
  send(request: Sent): Promise<Answered>;
}

/** The answer to a poke if the test gives none. */
const POKED: Poked = { at: Date.UTC(2026, 0, 1), due: 2, handedOver: 1, hubProven: true, cordoned: false };

export const keyOfRole = (role: Role | 'payloads'): string => `key of ${role}`;

/** A key for each role. */
export function accessWithKeys(changes: Partial<AccessSettings> = {}): AccessSettings {
  const sha = (text: string): string => createHash('sha256').update(text).digest('hex');
  const keys = readKeys(
    [...ROLES, 'payloads' as const].map((role) => `of-${role}:${role}:${sha(keyOfRole(role))}`).join(','),
  );
  if ('problem' in keys) throw new Error(keys.problem);
  return { platformAuth: false, keys, devSecret: undefined, readOnly: false, ...changes };
}

/** The API over a simulation with the memory store. */
export function manageBench(
  options: SimulationOptions,
  changes: {
    readonly access?: AccessSettings;
    readonly redact?: Desk['redact'];
    readonly jobs?: readonly JobSpec[];
    readonly store?: Partial<LeaseStore>;
    readonly poke?: ManageRequest['poke'];
  } = {},
): ManageBench {
  const sim = rivalTicks(options);
  const bugs: unknown[] = [];
  const calls = new Map<string, number>();
  const desk: Desk = {
    store: counted({ ...sim.service.open(), ...changes.store }, calls),
    clock: sim.clock,
    newId: () => '00000000-0000-4000-8000-000000000000',
    access: changes.access ?? accessWithKeys(),
    jobs: changes.jobs ?? options.jobs,
    revision: options.revision ?? 0,
    deployment: 'bench',
    version: '1.2.3',
    environment: undefined,
    redact: changes.redact,
    sweepIntervalMs: options.sweepIntervalMs ?? 60_000,
    metricsJobs: 100,
    isReady: () => Promise.resolve(true),
  };
  const manage = createManage(desk);
  return {
    sim,
    desk,
    bugs,
    calls,
    send: async (request) => {
      const sent = requestOf(request, (error) => void bugs.push(error));
      const answer = manage({ ...sent, poke: changes.poke ?? sent.poke });
      return answered(await (mayWait(request) ? settledBy(sim, answer) : answer));
    },
  };
}

/** Whether the key may be a wrong one, whose answer waits. */
function mayWait({ headers = {} }: Sent): boolean {
  return 'x-cronlease-key' in headers || 'authorization' in headers;
}

/** The answer, for which the clock runs as far as it must. */
export async function settledBy<Answer>({ clock }: RivalTicks, answer: Promise<Answer>): Promise<Answer> {
  let settled = false;
  const mark = (): void => void (settled = true);
  answer.then(mark, mark);
  for (let ms = 0; !settled && ms <= 30_000; ms += 250) await clock.advance(ms === 0 ? 0 : 250);
  return answer;
}

function counted(store: LeaseStore, calls: Map<string, number>): LeaseStore {
  return new Proxy(store, {
    get(target, name, receiver) {
      const member: unknown = Reflect.get(target, name, receiver);
      if (typeof member !== 'function') return member;
      return (...args: unknown[]): unknown => {
        calls.set(String(name), (calls.get(String(name)) ?? 0) + 1);
        return Reflect.apply(member, target, args);
      };
    },
  });
}

function requestOf(
  { method = 'GET', path, headers = {}, body, as }: Sent,
  onBug: (error: unknown) => void,
): ManageRequest {
  const [below = '', query = ''] = path.split(/\?(.*)/s);
  const text = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
  const all: Record<string, string> = {
    host: 'app.example.net',
    ...(as === undefined ? {} : { 'x-cronlease-key': keyOfRole(as) }),
    ...(method === 'GET' || method === 'HEAD' ? {} : { 'x-cronlease-request': '1' }),
    ...(text === undefined ? {} : { 'content-type': 'application/json' }),
    ...headers,
  };
  return {
    method,
    path: below,
    query: new URLSearchParams(query),
    header: (name) => all[name],
    body: () => Promise.resolve(new TextEncoder().encode(text ?? '')),
    poke: () => Promise.resolve(POKED),
    reportBug: (_what, error) => onBug(error),
    reportRefusal: () => undefined,
  };
}

function answered({ status, headers, body = '' }: ManageAnswer): Answered {
  const isJson = body !== '' && headers['content-type']?.includes('json') === true;
  return { status, headers, text: body, json: isJson ? (JSON.parse(body) as unknown) : undefined };
}
