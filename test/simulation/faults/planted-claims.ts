import type { Planted } from './planted';

/** Rules of acquisition, claim, records and release. */
export const CLAIM_FAULTS: readonly Planted[] = [
  {
    name: 'acquire-without-if-match',
    what: 'no If-Match on the acquisition',
    edits: [
      {
        file: 'stores/memory/store.ts',
        from: "if (row === undefined || row.etag !== ifMatch) return { kind: 'lost' };\n      const lease = acquire(",
        to: "if (row === undefined) return { kind: 'lost' };\n      const lease = acquire(",
      },
    ],
  },
  {
    name: 'claim-without-if-match',
    what: 'no If-Match on the claim',
    edits: [
      {
        file: 'stores/memory/store.ts',
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
        file: 'stores/memory/store.ts',
        from: "if (row === undefined || row.etag !== ifMatch) return { kind: 'lost' };\n      const lease = acquire(",
        to: "if (row === undefined) return { kind: 'lost' };\n      const lease = acquire(",
      },
      {
        file: 'stores/memory/store.ts',
        from: 'row === undefined || row.etag !== ifMatch || !mayWrite(',
        to: 'row === undefined || !mayWrite(',
      },
      {
        file: 'stores/memory/store.ts',
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
        file: 'stores/memory/store.ts',
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
        file: 'stores/memory/store.ts',
        from: 'row === undefined || row.etag !== ifMatch || !mayWrite(row.lease, leaseId, clock.monotonic())',
        to: 'row === undefined',
      },
      {
        file: 'stores/memory/store.ts',
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
        file: 'coordinator/tick/look.ts',
        from: "if (record?.state !== 'final')",
        to: "if (record?.state !== 'final' || true)",
      },
      { file: 'core/decide.ts', from: "|| s.record === 'final') return undefined;", to: ') return undefined;' },
    ],
  },
  {
    name: 'records-before-row',
    what: 'records of what did not run are written before the row',
    edits: [
      {
        file: 'coordinator/tick/write-decided.ts',
        from: 'const written = await writeRow(coordinator, { job, leaseId, etag }, row, remaining);',
        to:
          'await writeOwedOf(coordinator, { job, leaseId, trust, row, etag }, report);\n' +
          '  const written = await writeRow(coordinator, { job, leaseId, etag }, row, remaining);',
      },
    ],
  },
  {
    name: 'record-before-news',
    what: 'a run is recorded before the row says until when it went on, and its record is not asked',
    edits: [
      {
        file: 'coordinator/settle.ts',
        from: 'const rowIsOurs = await writeNews(coordinator, held, end, report);',
        to:
          'const early = await writeFinal(coordinator, held, mark, finalRecord(held.job.spec, held.row, attempts, end));\n' +
          "  if (early.kind === 'superseded') return { ...early, mayRelease: false };\n" +
          '  const rowIsOurs = await writeNews(coordinator, held, end, report);',
      },
      {
        file: 'coordinator/settle.ts',
        from: 'const own = await writeFinal(coordinator, held, mark, record);',
        to: 'const own = early;',
      },
      {
        file: 'coordinator/tick/look.ts',
        from: 'row: endedAt === undefined ? row : endedRow(row, endedAt),',
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
        from: 'const own = await writeFinal(coordinator, held, mark, record);',
        to:
          'await coordinator.store.release(held.job.spec.name, held.leaseId).catch(() => undefined);\n' +
          '  const own = await writeFinal(coordinator, held, mark, record);',
      },
    ],
  },
  {
    name: 'release-on-loss',
    what: 'the lease is released when it is lost',
    edits: [
      {
        file: 'coordinator/attempt/attempt.ts',
        from: "if (!held.trust.holds) return lost(coordinator, held, 'the lease was lost', report);",
        to:
          'if (!held.trust.holds) {\n' +
          '      await coordinator.store.release(held.job.spec.name, held.leaseId).catch(() => undefined);\n' +
          "      return lost(coordinator, held, 'the lease was lost', report);\n    }",
      },
    ],
  },
  {
    name: 'release-over-owed',
    what: 'the lease is released before what is owed is written',
    edits: [
      {
        file: 'coordinator/settle.ts',
        from: 'if (rowIsOurs) await writeOwedOf(coordinator, held, report);',
        to: '',
      },
    ],
  },
  {
    name: 'drain-without-row',
    what: 'a drained attempt lets go without a row write',
    edits: [
      {
        file: 'coordinator/settle.ts',
        from: 'const { row } = held;\n  const past =',
        to: "const { row } = held;\n  if (next.outcome === 'draining') return true;\n  const past =",
      },
    ],
  },
  {
    name: 'late-execution-uses-lease',
    what: 'an execution that comes late lets go of the lease whose id it has',
    edits: [
      {
        file: 'coordinator/attempt/claim.ts',
        from: "if (written.kind === 'refused') return 'another execution",
        to:
          "if (written.kind === 'refused') await coordinator.store.release(job.spec.name, lease.id).catch(() => undefined);\n" +
          "  if (written.kind === 'refused') return 'another execution",
      },
    ],
  },
  {
    name: 'token-not-raised',
    what: 'the token is not raised at a take-over',
    edits: [
      {
        file: 'coordinator/attempt/claim.ts',
        from: 'token: (decided.token + 1) as Token,',
        to: "token: (input.kind === 'handedOver' && input.what === 'takeOver' ? decided.token : decided.token + 1) as Token,",
      },
    ],
  },
  {
    name: 'one-orchestration-id',
    what: 'a new acquisition uses the orchestration id of the last one',
    edits: [{ file: 'core/key.ts', from: "'')}-${leaseId.slice(0, 8)}`", to: "'')}`" }],
  },
  {
    name: 'retry-reads-etag',
    what: 'a retry reads its ETag afresh',
    edits: [
      {
        file: 'coordinator/attempt/claim.ts',
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
    edits: [{ file: 'coordinator/tick/hub-watch.ts', from: 'return isProven;', to: 'return true;' }],
  },
];
