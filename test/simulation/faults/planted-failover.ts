import type { Planted } from './planted';

/** Rules of `recover`, after the storage account has failed over. */
export const FAILOVER_FAULTS: readonly Planted[] = [
  {
    name: 'recovered-token-kept',
    what: '`recover` does not raise tokens',
    mix: 'failover',
    edits: [
      {
        file: 'core/failover.ts',
        in: 'afterFailover',
        from: 'const token = (highest + choices.raiseBy) as Token;',
        to: 'const token = (highest + 0 * choices.raiseBy) as Token;',
      },
    ],
  },
  {
    name: 'recovered-cursor-kept',
    what: '`recover` records the lost due times and leaves the cursor before them',
    mix: 'failover',
    edits: [
      {
        file: 'core/failover.ts',
        in: 'dueTimes',
        from: 'return { cursor: Math.max(row.cursor, limit), stretches };',
        to: 'return { cursor: row.cursor, stretches };',
      },
    ],
  },
  {
    name: 'lost-stretch-unrecorded',
    what: '`recover` moves the cursor over the lost due times without a record',
    mix: 'failover',
    edits: [
      {
        file: 'core/failover.ts',
        in: 'dueTimes',
        from: 'return { cursor: Math.max(row.cursor, limit), stretches };',
        to: 'return { cursor: Math.max(row.cursor, limit), stretches: stretches.slice(1) };',
      },
    ],
  },
  {
    name: 'recovered-run-repeated',
    what: '`recover` lets a run continue that has its final record',
    mix: 'failover',
    edits: [
      {
        file: 'core/failover.ts',
        in: 'recoverRun',
        from: "if (runRecord === 'final') return { kind: 'settled' };",
        to: "if (runRecord === 'final') return { kind: 'goesOn' };",
      },
    ],
  },
  {
    name: 'lost-requests-run',
    what: '`recover` leaves requests to the ticks that may have been taken before the failover',
    mix: 'failover',
    edits: [
      {
        file: 'core/failover.ts',
        in: 'lostRequests',
        from: 'const old = pendingRequests(control, row.manualTaken).filter(({ time }) => time <= until);',
        to: 'const old = pendingRequests(control, row.manualTaken).filter(({ time }) => time <= until - until);',
      },
    ],
  },
];
