import { become, call, first, operation, property, returned, value } from './edit';
import type { Planted } from './planted';

/** Rules of `recover`, after the storage account has failed over. */
export const FAILOVER_FAULTS: readonly Planted[] = [
  {
    name: 'recovered-token-kept',
    what: '`recover` does not raise tokens',
    mix: 'failover',
    edits: [become('core/failover.ts:afterFailover', operation('+'), 'highest + 0 * choices.raiseBy')],
  },
  {
    name: 'recovered-cursor-kept',
    what: '`recover` records the lost due times and leaves the cursor before them',
    mix: 'failover',
    edits: [become('core/failover.ts:dueTimes', value('cursor'), 'row.cursor')],
  },
  {
    name: 'lost-stretch-unrecorded',
    what: '`recover` moves the cursor over the lost due times without a record',
    mix: 'failover',
    edits: [become('core/failover.ts:dueTimes', property('stretches'), 'stretches: stretches.slice(1)')],
  },
  {
    name: 'recovered-run-repeated',
    what: '`recover` lets a run continue that has its final record',
    mix: 'failover',
    edits: [become('core/failover.ts:recoverRun', first(returned('settled')), "{ kind: 'goesOn' }")],
  },
  {
    name: 'lost-manual-runs-run',
    what: '`recover` leaves manual runs to the ticks that may have been taken before the failover',
    mix: 'failover',
    edits: [become('core/failover.ts:lostManualRuns', operation('<='), '$ - until')],
  },
  {
    name: 'lost-record-unrecorded',
    what: '`recover` looks for lost records only after the cursor',
    mix: 'failover',
    edits: [
      become(
        'core/failover.ts:decidedSince',
        call('min'),
        'Math.max(cursor, Math.min(scheduleSince, keptSince(wreck), until - SEARCH_BACK_MS))',
      ),
    ],
  },
  {
    name: 'open-record-left-behind',
    what: '`recover` ends open records only after the cursor',
    mix: 'failover',
    edits: [
      become(
        'core/failover.ts:afterFailover',
        operation('&&', 'aside'),
        '$ && records.some((record) => record.key === key && record.scheduledFor > row.cursor)',
      ),
    ],
  },
  {
    name: 'lost-manual-run-unrecorded',
    what: '`recover` gives no outcome to a manual run that was taken and whose record is lost',
    mix: 'failover',
    edits: [become('core/failover.ts:lostManualRuns', call('keptSince'), '$ + Infinity')],
  },
  {
    name: 'returned-pause-believed',
    what: '`recover` records due times as paused, by a control that has returned to an earlier state',
    mix: 'failover',
    edits: [
      become('core/failover.ts:outcomeOf', property('row'), '$, control'),
      become('core/failover.ts:outcomeOf', returned('expired'), "control.pauses.length > 0 ? ['paused', 'paused'] : $"),
    ],
  },
  {
    name: 'items-outlive-their-plan',
    what: '`recover` keeps the ends of items whose plan is lost',
    mix: 'failover',
    edits: [
      become(
        'operator/operations/recover.ts:dropPieces',
        value('dropped'),
        'names.includes(PLAN_PIECE) ? names.filter((name) => name === STOP_PIECE) : []',
      ),
    ],
  },
];
