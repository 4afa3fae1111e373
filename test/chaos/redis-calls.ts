import { PUT } from '../../src/stores/redis/entries';
import { LIST } from '../../src/stores/redis/store';
import { ACQUIRE, RELEASE, RENEW, WRITE } from '../../src/stores/redis/rows';
import type { Call } from './calls';

type Metadata = Readonly<Record<string, string>>;

/** The hash of the handlers' fenced writes, and the script that writes it. */
export const FENCED = 'chaos:fenced';

const ROWS = /^\{[^}]+\}:jobs$/;
const RECORDS = /^\{[^}]+\}:records:([^:]+)$/;

/** The call that a command to Redis makes, in the coordinator's terms. */
export function callOfCommand([command = '', script = '', count = '0', ...rest]: readonly string[]): Call {
  if (!/^eval(sha)?$/i.test(command)) return { kind: 'other' };
  const args = rest.slice(Number(count));
  // The first key is the layout's.
  const [layout = '', key = ''] = rest;
  if (layout === FENCED) return { kind: 'fenced', blob: args[0] ?? '', token: Number(args[1]) };
  const is = ({ sha, text }: typeof LIST): boolean => script === sha || script === text;
  if (is(LIST)) return { kind: 'list' };
  const [, recordsOf] = RECORDS.exec(key) ?? [];
  if (recordsOf !== undefined && is(PUT)) return recordCall(recordsOf, args);
  return ROWS.test(key) ? rowCall(is, args) : { kind: 'other' };
}

/** Of an entry: its id, the condition in two parts, its next version, and its metadata. */
function recordCall(job: string, [key = '', , , , metadata = '{}']: readonly string[]): Call {
  const { state = '', through } = JSON.parse(metadata) as Metadata;
  return { kind: 'record', job, key, state, through: through === undefined ? undefined : Date.parse(through) };
}

function rowCall(is: (script: typeof LIST) => boolean, args: readonly string[]): Call {
  const [job = '', second = '', third = ''] = args;
  if (is(ACQUIRE)) return { kind: 'acquire', job, leaseId: third };
  if (is(RENEW)) return { kind: 'renew', job, leaseId: second };
  if (is(RELEASE)) return { kind: 'release', job, leaseId: second };
  if (!is(WRITE)) return { kind: 'other' };
  const { phase = '', attempt, token, busyuntil = '' } = JSON.parse(args[4] ?? '{}') as Metadata;
  return { kind: 'row', job, phase, attempt: Number(attempt), token: Number(token), ends: busyuntil !== '' };
}
