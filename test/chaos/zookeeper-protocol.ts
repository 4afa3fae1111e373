import { framesTo, multiAnswerIn, type Reader, readerOf } from '../../src/stores/zookeeper/protocol';
import type { Call } from './calls';
import type { Answer, Part, Protocol, Sent } from './protocol';
import { callOfFrame } from './zookeeper-calls';

/** Frames, the first of which in each direction makes the session. A session's requests are answered in order. */
export const zooKeeperProtocol: Protocol = { requests, answers };

function requests(): (chunk: Buffer) => readonly Part[] {
  const cut = frames();
  return (chunk) =>
    cut(chunk).map(({ frame, isFirst, bytes }) => ({ call: isFirst ? { kind: 'other' } : callIn(frame), bytes }));
}

function callIn(frame: Buffer): Call {
  const reader = readerOf(frame);
  reader.int();
  return callOfFrame(reader);
}

function answers(): (chunk: Buffer, next: () => Sent | undefined) => readonly Answer[] {
  const cut = frames();
  return (chunk, next) =>
    cut(chunk).map(({ frame, isFirst, bytes }) => {
      const to = next();
      return { to, status: isFirst ? 200 : statusOf(readerOf(frame), to?.call), bytes };
    });
}

/** The status that blobs would have answered. */
function statusOf(reader: Reader, call: Call | undefined): number {
  reader.int();
  reader.long();
  const error = reader.int();
  if (call === undefined || call.kind === 'list' || call.kind === 'other') return error === 0 ? 200 : 404;
  if (error !== 0 || 'error' in multiAnswerIn(reader)) return 409;
  return call.kind === 'row' || call.kind === 'renew' || call.kind === 'release' ? 200 : 201;
}

interface Cut {
  readonly frame: Buffer;
  /** Of its connection. */
  readonly isFirst: boolean;
  /** With its length. */
  readonly bytes: Buffer;
}

/** Cuts a connection's bytes into whole frames. */
function frames(): (chunk: Buffer) => readonly Cut[] {
  let found: Buffer[] = [];
  let isFirst = true;
  const join = framesTo((frame) => void found.push(frame));
  return (chunk) => {
    join(chunk);
    const cut = found.map((frame) => {
      const length = Buffer.alloc(4);
      length.writeInt32BE(frame.length);
      const one = { frame, isFirst, bytes: Buffer.concat([length, frame]) };
      isFirst = false;
      return one;
    });
    found = [];
    return cut;
  };
}
