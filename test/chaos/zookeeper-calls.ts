import { contentIn } from '../../src/stores/zookeeper/bodies';
import type { Reader } from '../../src/stores/zookeeper/protocol';
import type { Call } from './calls';

type Metadata = Readonly<Record<string, string>>;

/** The folder of the handlers' fenced writes. Each is a node of a job's name, whose content is its token. */
export const FENCED = '/chaos-fenced';

const TYPE = { create: 1, set: 5, children: 12, check: 13, multi: 14 } as const;

/** A part of a transaction. Without data: a check, or a deletion. */
interface Part {
  readonly path: string;
  readonly data: Buffer | undefined;
}

/** The call that a request to ZooKeeper makes, in the coordinator's terms, after the request's number. */
export function callOfFrame(reader: Reader): Call {
  const type = reader.int();
  if (type === TYPE.children) return { kind: /^\/[^/]+\/jobs$/.test(reader.text()) ? 'list' : 'other' };
  return type === TYPE.multi ? callOfParts(partsIn(reader)) : { kind: 'other' };
}

function partsIn(reader: Reader): readonly Part[] {
  const parts: Part[] = [];
  for (;;) {
    const type = reader.int();
    const isLast = reader.flag();
    reader.int();
    if (isLast) return parts;
    const path = reader.text();
    const data = type === TYPE.create || type === TYPE.set ? reader.bytes() : undefined;
    if (type === TYPE.create) {
      reader.list(() => [reader.int(), reader.text(), reader.text()]);
    }
    // The flags of a new node, or the version that is expected.
    reader.int();
    parts.push({ path, data });
  }
}

function callOfParts(parts: readonly Part[]): Call {
  for (const { path, data } of parts) {
    if (data === undefined) continue;
    const [, job = '', below] = /^\/[^/]+\/jobs\/([^/]+)(\/lease)?$/.exec(path) ?? [];
    // A row is created with its lease, and without a check.
    const isChecked = parts.some((part) => part.data === undefined);
    if (below !== undefined) return leaseCall(job, data, isChecked);
    if (job !== '') return isChecked ? rowCall(job, data) : { kind: 'other' };
    const [, recordJob, key] = /^\/[^/]+\/records\/([^/]+)\/[^/]+\/([^/]+)$/.exec(path) ?? [];
    if (recordJob !== undefined && key !== undefined) return recordCall(recordJob, key, data);
    const [folder, blob] = [path.slice(0, path.lastIndexOf('/')), path.slice(path.lastIndexOf('/') + 1)];
    if (folder === FENCED) return { kind: 'fenced', blob, token: Number(data.toString()) };
  }
  return { kind: 'other' };
}

/** A renewal does not check the row. A release leaves no id. */
function leaseCall(job: string, data: Buffer, isChecked: boolean): Call {
  const { id, brokenUntil } = JSON.parse(data.toString()) as { readonly id?: string; readonly brokenUntil?: number };
  if (brokenUntil !== undefined) return { kind: 'other' };
  if (id === undefined) return { kind: 'release', job, leaseId: '' };
  return { kind: isChecked ? 'acquire' : 'renew', job, leaseId: id };
}

function rowCall(job: string, data: Buffer): Call {
  const { phase = '', attempt, token, busyuntil = '' } = JSON.parse(data.toString()) as Metadata;
  return { kind: 'row', job, phase, attempt: Number(attempt), token: Number(token), ends: busyuntil !== '' };
}

function recordCall(job: string, key: string, data: Buffer): Call {
  const { state = '', through } = contentIn(data).metadata;
  return { kind: 'record', job, key, state, through: through === undefined ? undefined : Date.parse(through) };
}
