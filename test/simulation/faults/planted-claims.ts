import {
  argument,
  become,
  before,
  behind,
  branch,
  call,
  drop,
  imported,
  never,
  operand,
  operation,
  property,
  returned,
  test,
  value,
} from './edit';
import type { Planted } from './planted';

/** Rules of acquisition, claim, records and release. */
export const CLAIM_FAULTS: readonly Planted[] = [
  {
    name: 'acquire-without-if-match',
    what: 'no If-Match on the acquisition',
    edits: [drop('stores/lease-automaton.ts:acquire', operation('!=='))],
  },
  {
    name: 'claim-without-if-match',
    what: 'no If-Match on the claim',
    mix: 'hubs',
    edits: [drop('stores/lease-automaton.ts:write', operation('!=='))],
  },
  {
    name: 'stale-etag-accepted',
    what: 'the store accepts a stale ETag, in every call',
    edits: [
      drop('stores/lease-automaton.ts:acquire', operation('!==')),
      drop('stores/lease-automaton.ts:write', operation('!==')),
      become('stores/memory/ports.ts:holds', returned('version'), 'entry !== undefined'),
    ],
  },
  {
    name: 'record-over-record',
    what: 'records are written over those that exist',
    edits: [
      become('stores/facets/facets.ts:createRecord', value('condition'), "'any'"),
      become('stores/facets/facets.ts:replaceRecord', value('condition'), "'any'"),
    ],
  },
  {
    name: 'hold-back-is-the-guard',
    what: 'hold-back as the only guard: neither lease nor ETag keeps a second claim out',
    edits: [
      never('stores/lease-automaton.ts:write', test('mayWrite')),
      drop('stores/lease-automaton.ts:acquire', operation('!==')),
      become('stores/lease-automaton.ts:acquire', argument('mayAcquire', 0), '{ ...lease, holder: undefined }'),
    ],
  },
  {
    name: 'no-mark',
    what: 'a claim that may not be the first writes no mark',
    edits: [never('coordinator/attempt/attempt.ts:underLease', test('mayNotBeFirst'))],
  },
  {
    name: 'mark-ignores-final',
    what: 'the mark is written over a final record',
    edits: [drop('coordinator/settle.ts:writeMark', branch('state'))],
  },
  {
    name: 'final-record-ignored',
    what: 'a final record is ignored before a take-over',
    edits: [
      become('coordinator/decide-row.ts:decideRow', branch('final'), "if (known === 'final') known = 'none';"),
      drop('core/decide/unfinished.ts:decideUnfinished', operand('final')),
    ],
  },
  {
    name: 'records-before-row',
    what: 'records of due times that did not run are written before the row',
    edits: [
      imported('coordinator/tick/act.ts', `{ untilAnswered } from '../../lease/deadline'`),
      imported('coordinator/tick/act.ts', `{ storeRecord, stretchRecord } from '../../core/record'`),
      before(
        'coordinator/tick/act.ts:writeDecided',
        call('holdRow'),
        `for (const stretch of row.owed) {
    const { key, record } = stretchRecord(job.spec.name, stretch);
    const body = storeRecord(record);
    const make = (signal) => coordinator.store.createRecord(job.spec.name, key, body, { signal });
    await untilAnswered(coordinator, remaining, make);
  }`,
      ),
    ],
  },
  {
    name: 'record-before-news',
    what: 'a run is recorded before the row holds its end, and its record is not read',
    edits: [
      before(
        'coordinator/settle.ts:settle',
        call('writeNews'),
        `const early = await writeFinal(writer, finalRecord(writer.job.spec, writer.row, attempts, end));
if (early === undefined) return undefined;`,
      ),
      become('coordinator/settle.ts:settle', value('own'), 'early'),
      become('coordinator/decide-row.ts:decideRow', property('row', 'withRecordedEnd'), 'row'),
    ],
  },
  {
    name: 'release-before-record',
    what: 'the lease is released before the record is written',
    edits: [
      before('coordinator/settle.ts:settle', call('writeFinal'), 'await writer.release().catch(() => undefined);'),
    ],
  },
  {
    name: 'release-on-loss',
    what: 'a lost lease is released',
    edits: [
      before(
        'coordinator/held.ts:keepAlive',
        call('renewing'),
        `const onLost = (why) => {
  listener.onLost(why);
  const { leaseId, etag } = this.#lease;
  void this.#writer.coordinator.store.release(this.job.spec.name, leaseId, { ifMatch: etag }).catch(() => undefined);
};`,
      ),
      become('coordinator/held.ts:keepAlive', argument('renewing', 4), '{ ...$, onLost }'),
    ],
  },
  {
    name: 'release-without-if-match',
    what: 'a release carries no ETag, so a late one may end a later claim',
    edits: [become('coordinator/held.ts:release', argument('release', 2), '{ ...$, etag: undefined }')],
  },
  {
    name: 'release-over-owed',
    what: 'the lease is released before the owed records are written',
    edits: [drop('coordinator/settle.ts:settle', call('writeOwed'))],
  },
  {
    name: 'drain-without-row',
    what: 'a drained attempt releases without a row write',
    edits: [
      before(
        'coordinator/settle.ts:suspend',
        call('pastAttempt'),
        `if (next.outcome === 'draining') {
    await letGo(writer);
    return true;
  }`,
      ),
    ],
  },
  {
    name: 'late-execution-uses-lease',
    what: 'a late execution releases the lease whose id it has',
    edits: [
      behind(
        'coordinator/attempt/claim.ts:claimAttempt',
        branch('claimed', 'handedOver'),
        'if (claimed === undefined) await coordinator.store.release(job.spec.name, taken.lease.id).catch(() => undefined);',
      ),
    ],
  },
  {
    name: 'token-not-raised',
    what: 'the token is not raised at a take-over',
    edits: [
      become(
        'coordinator/attempt/claim.ts:claimedRow',
        operation('+', 'token'),
        "input.kind === 'handedOver' && input.what === 'takeOver' ? decided.token : $",
      ),
    ],
  },
  {
    name: 'one-orchestration-id',
    what: 'a new acquisition uses the orchestration id of the last one',
    edits: [become('core/key.ts:orchestrationId', call('slice'), "''")],
  },
  {
    name: 'retry-reads-etag',
    what: 'a retry reads its ETag afresh',
    edits: [
      become(
        'coordinator/attempt/claim.ts:claimAttempt',
        value('etag'),
        "(input.kind === 'again' ? await coordinator.store.readRow(job.spec.name).catch(() => undefined) : undefined)?.etag ?? ($)",
      ),
    ],
  },
  {
    name: 'unproven-hub-races',
    what: 'a deployment races with an unproven task hub',
    edits: [become('coordinator/tick/hub-watch.ts:mayRace', returned(), 'true')],
  },
];
