import fc from 'fast-check';
import type { JobName, LeaseId } from '../../src/core/brand';
import type { Metadata } from '../../src/lease/store';

/** One job's name begins with the other's, so that a listing by prefix can mix them up. */
export const JOBS = ['a', 'a-b'] as JobName[];
const LEASE_IDS = [
  '00000000-0000-4000-8000-00000000000a',
  '00000000-0000-4000-8000-00000000000b',
  'ffffffff-0000-4000-8000-00000000000c',
] as LeaseId[];
const KEYS = ['8232767999999-s', '8232768000000-s', '8232768000000-m-1', '8232768000000-m-10', '8299999999999-s'];

/** An ETag of the thing that is written: 0 is the newest that was seen, 1 the one before, … */
export type Seen = number | 'never seen';

const is = <K extends string>(kind: K): fc.Arbitrary<K> => fc.constant(kind);
const job = fc.constantFrom(...JOBS);
const deployment = fc.constantFrom('blue', 'green');
const group = fc.constantFrom('db', 'd');
const leaseId = fc.constantFrom(...LEASE_IDS);
/** Mostly one, so that it is written again and again. */
const key = fc.oneof(is('8232768000000-s'), fc.constantFrom(...KEYS));
/** Pages need several. */
const anyKey = fc.constantFrom(...KEYS);
const piece = fc.constantFrom('plan', 'item-1', 'item-10');
/** Mostly the newest: a sequence in which nothing succeeds says little. */
const ifMatch: fc.Arbitrary<Seen> = fc.oneof(
  { weight: 8, arbitrary: fc.constant(0) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 3 }) },
  { weight: 1, arbitrary: is('never seen') },
);
const leaseMs = fc.oneof(
  { weight: 9, arbitrary: fc.constantFrom(15_000, 15_001, 30_000, 60_000) },
  { weight: 1, arbitrary: fc.constantFrom(14_000, 60_001) },
);
const metadata: fc.Arbitrary<Metadata> = fc.dictionary(
  // The constant ones are names that objects, or answers, have already.
  fc.oneof(fc.constantFrom('token', 'etag', 'constructor'), fc.stringMatching(/^[a-z]{1,8}$/)),
  fc.oneof(
    { weight: 9, arbitrary: fc.stringMatching(/^[!-~](?:[ -~]{0,30}[!-~])?$/) },
    { weight: 1, arbitrary: fc.constantFrom('007', 'true', '<a>&amp;</a>', '', ' at ends ', 'às 3', 'x'.repeat(9000)) },
  ),
  { maxKeys: 4, noNullPrototype: true },
);
const text = fc.string({ unit: fc.constantFrom('a', 'é', '漢', '😀', '"', '\\', '\n', '\0') });
const record = fc.record({ body: fc.oneof(fc.json(), text), summary: metadata });
const log = fc.constantFrom('7', '7-3-1-ab', '70');
/** Mostly what a log takes. */
const logText = fc.oneof(
  { weight: 5, arbitrary: fc.stringMatching(/^[ -~]{0,20}\n$/) },
  { weight: 1, arbitrary: fc.constantFrom('', 'é\n', '\u001b[0m', 'x'.repeat(5_000)) },
);
const limit = fc.constantFrom(1, 1, 2, 3, 10);
/** `next`: from where the last page of this job ended, whatever has been written since. */
const from = fc.oneof(is('start'), is('next'));
const ms = fc.oneof(
  fc.integer({ min: 1, max: 20_000 }),
  fc.constantFrom(14_999, 15_000, 15_001, 30_000, 60_000, 3_600_000),
);

const call = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: is('createRow'), job, metadata }) },
  { weight: 8, arbitrary: fc.record({ kind: is('acquire'), job, leaseId, leaseMs, ifMatch }) },
  { weight: 6, arbitrary: fc.record({ kind: is('renew'), job, leaseId }) },
  { weight: 3, arbitrary: fc.record({ kind: is('release'), job, leaseId }) },
  { weight: 2, arbitrary: fc.record({ kind: is('giveBack'), job, leaseId, ifMatch }) },
  { weight: 8, arbitrary: fc.record({ kind: is('writeRow'), job, metadata, leaseId, ifMatch }) },
  { weight: 1, arbitrary: fc.record({ kind: is('breakLease'), job, ifMatch }) },
  // As a person may, from outside of the port.
  {
    weight: 2,
    arbitrary: fc.record({ kind: is('breakOutside'), job, periodMs: fc.constantFrom(0, 1000, 10_000, 60_000) }),
  },
  { weight: 3, arbitrary: fc.record({ kind: is('readRow'), job }) },
  { weight: 3, arbitrary: fc.record({ kind: is('list'), job: fc.option(job, { nil: undefined }) }) },
  { weight: 1, arbitrary: fc.record({ kind: is('readControl'), job }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: is('writeControl'), job, metadata, ifMatch: fc.oneof(ifMatch, is('absent')) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: is('removeControl'), job, ifMatch }) },
  { weight: 4, arbitrary: fc.record({ kind: is('createRecord'), job, key: fc.oneof(key, anyKey), record }) },
  { weight: 5, arbitrary: fc.record({ kind: is('replaceRecord'), job, key, record, ifMatch }) },
  { weight: 1, arbitrary: fc.record({ kind: is('readRecord'), job, key }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: is('listRecords'),
      job,
      prefix: fc.constantFrom('', '', '', '82', '8232768000000-m-1', '9'),
      limit,
      from,
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: is('createLog'), job, key, log }) },
  {
    weight: 5,
    // Where it ends by what was seen, or where it ended once, or where it has never been.
    arbitrary: fc.record({ kind: is('appendLog'), job, key, log, text: logText, at: fc.constantFrom(0, 0, 0, -1, 7) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: is('readLog'), job, key, log, at: fc.constantFrom('start', -3, 0, 1), limit }),
  },
  { weight: 2, arbitrary: fc.record({ kind: is('listLogs'), job, key, limit, from }) },
  { weight: 3, arbitrary: fc.record({ kind: is('createPiece'), job, key, piece, record }) },
  { weight: 1, arbitrary: fc.record({ kind: is('readPiece'), job, key, piece }) },
  { weight: 1, arbitrary: fc.record({ kind: is('touchPiece'), job, key, piece }) },
  { weight: 1, arbitrary: fc.record({ kind: is('deletePiece'), job, key, piece }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: is('listPieces'), job, key: fc.option(key, { nil: undefined }), limit, from }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: is('writePresence'), deployment, metadata, ifMatch: fc.oneof(ifMatch, is('any')) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: is('listPresences') }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: is('writeAudit'), key, metadata, ifMatch: fc.oneof(ifMatch, is('absent')) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: is('listAudits'), limit, from }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: is('writeGroup'), group, body: text, ifMatch: fc.oneof(ifMatch, is('absent')) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: is('readGroup'), group }) },
  { weight: 2, arbitrary: fc.record({ kind: is('createNotice'), key, metadata }) },
  { weight: 1, arbitrary: fc.record({ kind: is('readNotice'), key }) },
  { weight: 2, arbitrary: fc.record({ kind: is('writeNotice'), key, metadata, ifMatch }) },
  { weight: 1, arbitrary: fc.record({ kind: is('deleteNotice'), key }) },
  { weight: 1, arbitrary: fc.record({ kind: is('listNotices'), limit, from }) },
  { weight: 4, arbitrary: fc.record({ kind: is('pass'), ms }) },
  // Until the end of the job's lease as it was taken or renewed last, and a little before or after.
  { weight: 4, arbitrary: fc.record({ kind: is('passToEnd'), job, by: fc.constantFrom(-2, -1, 0, 1, 500) }) },
);

/** One call of the port, or a stretch of time. */
export type Call = typeof call extends fc.Arbitrary<infer T> ? T : never;
export type Asked = Exclude<Call, { kind: 'pass' | 'passToEnd' }>;

/** Sequences of up to 60 calls, 30 on average, that begin with a row for each job more often than not. */
export const sequences: fc.Arbitrary<Call[]> = fc
  .tuple(fc.subarray(JOBS, { minLength: 1 }), fc.array(call, { maxLength: 60, size: 'max' }))
  .map(([jobs, calls]) => [
    ...jobs.map((job): Call => ({ kind: 'createRow', job, metadata: { token: '0' } })),
    ...calls,
  ]);
