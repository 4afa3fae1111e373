import type { Planted } from './planted';

/** Rules of acquisition, claim, records and release. */
export const CLAIM_FAULTS: readonly Planted[] = [
  {
    name: 'acquire-without-if-match',
    what: 'no If-Match on the acquisition',
    edits: [
      {
        file: 'stores/memory/rows.ts',
        in: 'acquire',
        from: "if (row === undefined || row.etag !== ifMatch) return { kind: 'lost' };\n      const lease = acquire(",
        to: "if (row === undefined) return { kind: 'lost' };\n      const lease = acquire(",
      },
    ],
  },
  {
    name: 'claim-without-if-match',
    what: 'no If-Match on the claim',
    mix: 'hubs',
    edits: [
      {
        file: 'stores/memory/rows.ts',
        in: 'writeRow',
        from: 'row === undefined || row.etag !== ifMatch || !mayWrite(',
        to: 'row === undefined || !mayWrite(',
      },
    ],
  },
  {
    name: 'stale-etag-accepted',
    what: 'the store accepts a stale ETag, in every call',
    edits: [
      {
        file: 'stores/memory/rows.ts',
        in: 'acquire',
        from: "if (row === undefined || row.etag !== ifMatch) return { kind: 'lost' };\n      const lease = acquire(",
        to: "if (row === undefined) return { kind: 'lost' };\n      const lease = acquire(",
      },
      {
        file: 'stores/memory/rows.ts',
        in: 'writeRow',
        from: 'row === undefined || row.etag !== ifMatch || !mayWrite(',
        to: 'row === undefined || !mayWrite(',
      },
      {
        file: 'stores/memory/ledger.ts',
        in: 'put',
        from: 'if (ledger.get(key)?.etag !== ifMatch) return undefined;',
        to: '',
      },
    ],
  },
  {
    name: 'record-over-record',
    what: 'records are written over those that exist',
    edits: [
      {
        file: 'stores/memory/ledger.ts',
        in: 'put',
        from: 'if (ledger.get(key)?.etag !== ifMatch) return undefined;',
        to: '',
      },
    ],
  },
  {
    name: 'hold-back-is-the-guard',
    what: 'hold-back as the only guard: neither lease nor ETag keeps a second claim out',
    edits: [
      {
        file: 'stores/memory/rows.ts',
        in: 'writeRow',
        from: 'row === undefined || row.etag !== ifMatch || !mayWrite(row.lease, leaseId, clock.monotonic())',
        to: 'row === undefined',
      },
      {
        file: 'stores/memory/rows.ts',
        in: 'acquire',
        from: "if (row === undefined || row.etag !== ifMatch) return { kind: 'lost' };\n      const lease = acquire(row.lease, leaseId",
        to: "if (row === undefined) return { kind: 'lost' };\n      const lease = acquire(NO_LEASE, leaseId",
      },
    ],
  },
  {
    name: 'no-mark',
    what: 'a claim that may not be the first writes no mark',
    edits: [
      {
        file: 'coordinator/attempt/attempt.ts',
        in: 'underLease',
        from: 'const mark = mayNotBeFirst ? await',
        to: 'const mark = mayNotBeFirst && false ? await',
      },
    ],
  },
  {
    name: 'mark-ignores-final',
    what: 'the mark is written over a final record',
    edits: [
      {
        file: 'coordinator/settle.ts',
        in: 'writeMark',
        from: "if (record.state === 'final') return { kind: 'final', record };",
        to: '',
      },
    ],
  },
  {
    name: 'final-record-ignored',
    what: 'a final record is ignored before a take-over',
    edits: [
      {
        file: 'coordinator/decide-row.ts',
        in: 'decideRow',
        from: "if (record !== 'unreadable' && record?.state === 'final') learn({ ended: recordedEnd(record) });",
        to: "if (known === 'final') known = 'none';",
      },
      {
        file: 'core/decide/unfinished.ts',
        in: 'decideUnfinished',
        from: "|| s.record === 'final') return undefined;",
        to: ') return undefined;',
      },
    ],
  },
  {
    name: 'records-before-row',
    what: 'records of due times that did not run are written before the row',
    edits: [
      {
        file: 'coordinator/tick/write-decided.ts',
        in: 'writeDecided',
        from: 'const written = await holdRow(',
        to:
          'for (const stretch of row.owed) {\n' +
          '    const { key, record } = stretchRecord(job.spec.name, stretch);\n' +
          '    const body = storeRecord(record);\n' +
          '    const make = (signal) => coordinator.store.createRecord(job.spec.name, key, body, { signal });\n' +
          '    await untilAnswered(coordinator, remaining, make);\n' +
          '  }\n' +
          '  const written = await holdRow(',
      },
      {
        file: 'coordinator/tick/write-decided.ts',
        from: "import type { Row } from '../../core/row';",
        to:
          "import { untilAnswered } from '../../lease/deadline';\n" +
          "import { storeRecord, stretchRecord } from '../../core/record';\n" +
          "import type { Row } from '../../core/row';",
      },
    ],
  },
  {
    name: 'record-before-news',
    what: 'a run is recorded before the row holds its end, and its record is not read',
    edits: [
      {
        file: 'coordinator/settle.ts',
        in: 'settle',
        from: 'const rowIsOurs = await writeNews(writer, { ...end, ...times });',
        to:
          'const early = await writeFinal(writer, finalRecord(writer.job.spec, writer.row, attempts, end));\n' +
          '  if (early === undefined) return undefined;\n' +
          '  const rowIsOurs = await writeNews(writer, { ...end, ...times });',
      },
      {
        file: 'coordinator/settle.ts',
        in: 'settle',
        from: 'const own = await writeFinal(writer, record);',
        to: 'const own = early;',
      },
      {
        file: 'coordinator/decide-row.ts',
        in: 'situationOf',
        from: 'row: ended === undefined ? row : withRecordedEnd(row, ended, spec),',
        to: 'row,',
      },
    ],
  },
  {
    name: 'release-before-record',
    what: 'the lease is released before the record is written',
    edits: [
      {
        file: 'coordinator/settle.ts',
        in: 'settle',
        from: 'const own = await writeFinal(writer, record);',
        to: 'await writer.release().catch(() => undefined);\n  const own = await writeFinal(writer, record);',
      },
    ],
  },
  {
    name: 'release-on-loss',
    what: 'a lost lease is released',
    edits: [
      {
        file: 'coordinator/held.ts',
        in: 'keepAlive',
        from: 'stopRenewing = renewing(writer, lease, listener);',
        to:
          'const onLost = (why) => {\n' +
          '        listener.onLost(why);\n' +
          '        void coordinator.store.release(job.spec.name, leaseId, { ifMatch: writer.etag }).catch(() => undefined);\n' +
          '      };\n' +
          '      stopRenewing = renewing(writer, lease, { ...listener, onLost });',
      },
    ],
  },
  {
    name: 'release-without-if-match',
    what: 'a release carries no ETag, so a late one may end a later claim',
    edits: [
      {
        file: 'coordinator/held.ts',
        in: 'release',
        from: '{ ifMatch: writer.etag, signal }',
        to: '{ signal }',
      },
    ],
  },
  {
    name: 'release-over-owed',
    what: 'the lease is released before the owed records are written',
    edits: [
      {
        file: 'coordinator/settle.ts',
        in: 'settle',
        from: 'await writeOwed(writer);',
        to: '',
      },
    ],
  },
  {
    name: 'drain-without-row',
    what: 'a drained attempt releases without a row write',
    edits: [
      {
        file: 'coordinator/settle.ts',
        in: 'suspend',
        from: 'const { row } = writer;\n  const past =',
        to:
          "const { row } = writer;\n  if (next.outcome === 'draining') {\n" +
          '    await letGo(writer);\n    return true;\n  }\n  const past =',
      },
    ],
  },
  {
    name: 'late-execution-uses-lease',
    what: 'a late execution releases the lease whose id it has',
    edits: [
      {
        file: 'coordinator/attempt/claim.ts',
        in: 'claimAttempt',
        from: "if (claimed === undefined) return 'another execution",
        to:
          'if (claimed === undefined) await coordinator.store.release(job.spec.name, taken.lease.id).catch(() => undefined);\n' +
          "  if (claimed === undefined) return 'another execution",
      },
    ],
  },
  {
    name: 'token-not-raised',
    what: 'the token is not raised at a take-over',
    edits: [
      {
        file: 'coordinator/attempt/claim.ts',
        in: 'claimedRow',
        from: 'token: (decided.token + 1) as Token,',
        to: "token: (input.kind === 'handedOver' && input.what === 'takeOver' ? decided.token : decided.token + 1) as Token,",
      },
    ],
  },
  {
    name: 'one-orchestration-id',
    what: 'a new acquisition uses the orchestration id of the last one',
    edits: [{ file: 'core/key.ts', in: 'orchestrationId', from: "'')}-${leaseId.slice(0, 8)}`", to: "'')}`" }],
  },
  {
    name: 'retry-reads-etag',
    what: 'a retry reads its ETag afresh',
    edits: [
      {
        file: 'coordinator/attempt/claim.ts',
        in: 'claimAttempt',
        from: 'const etag = input.etag as ETag;',
        to:
          "const fresh = input.kind === 'again' ? await coordinator.store.readRow(job.spec.name).catch(() => undefined) : undefined;\n" +
          '  const etag = fresh?.etag ?? (input.etag as ETag);',
      },
    ],
  },
  {
    name: 'unproven-hub-races',
    what: 'a deployment races with an unproven task hub',
    edits: [{ file: 'coordinator/tick/hub-watch.ts', in: 'mayRace', from: 'return isProven;', to: 'return true;' }],
  },
];
