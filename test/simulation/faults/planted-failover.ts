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
        from: 'return { cursor: limit, stretches };',
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
        from: 'return { cursor: limit, stretches };',
        to: 'return { cursor: limit, stretches: stretches.slice(1) };',
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
  {
    name: 'lost-record-unrecorded',
    what: '`recover` looks for lost records only after the cursor',
    mix: 'failover',
    edits: [
      {
        file: 'core/failover.ts',
        in: 'decidedSince',
        from: 'return Math.min(cursor, Math.max(',
        to: 'return Math.max(cursor, Math.min(',
      },
    ],
  },
  {
    name: 'open-record-left-behind',
    what: '`recover` ends open records only after the cursor',
    mix: 'failover',
    edits: [
      {
        file: 'core/failover.ts',
        in: 'afterFailover',
        from: "record.state === 'open' && record.key !== row.run?.key",
        to: "record.state === 'open' && record.key !== row.run?.key && record.scheduledFor > row.cursor",
      },
    ],
  },
  {
    name: 'lost-request-unrecorded',
    what: '`recover` gives no outcome to a request that was taken and whose record is lost',
    mix: 'failover',
    edits: [
      {
        file: 'core/failover.ts',
        in: 'lostRequests',
        from: 'time > keptSince(wreck)',
        to: 'time > keptSince(wreck) + Infinity',
      },
    ],
  },
  {
    name: 'returned-pause-believed',
    what: '`recover` records due times as paused, by a control that has returned to an earlier state',
    mix: 'failover',
    edits: [
      { file: 'core/failover.ts', in: 'fateOf', from: '{ row }: Wreck', to: '{ row, control }: Wreck' },
      {
        file: 'core/failover.ts',
        in: 'fateOf',
        from: "return ['expired', 'failedOver'];",
        to: "return control.pauses.length > 0 ? ['paused', 'paused'] : ['expired', 'failedOver'];",
      },
    ],
  },
  {
    name: 'items-outlive-their-plan',
    what: '`recover` keeps the ends of items whose plan is lost',
    mix: 'failover',
    edits: [
      {
        file: 'operator/recover-jobs.ts',
        in: 'dropPieces',
        from: 'names.filter((name) => name === STOP_PIECE) : names;',
        to: 'names.filter((name) => name === STOP_PIECE) : [];',
      },
    ],
  },
];
