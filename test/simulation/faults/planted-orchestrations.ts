import { become, branch, call, drop, operation, operator, returned, value } from './edit';
import type { Planted } from './planted';

/** Rules of runs that are orchestrations: take-over, termination, fence. */
export const ORCHESTRATION_FAULTS: readonly Planted[] = [
  {
    name: 'orchestration-taken-soon',
    mix: 'orchestrations',
    what: 'an orchestration is taken over after 20 s without a heartbeat',
    edits: [become('handler/handlers.ts:silentAfterMs', returned('takeOverAfterMs'), '20_000')],
  },
  {
    name: 'orchestration-left',
    mix: 'orchestrations',
    what: 'an orchestration for which no run waits is not terminated',
    edits: [become('coordinator/tick/orchestrations.ts:end', call('withinHub', 'terminate'), 'undefined')],
  },
  {
    name: 'orchestration-ended-early',
    mix: 'orchestrations',
    what: 'an orchestration is terminated although its run waits for it',
    edits: [operator('coordinator/tick/orchestrations.ts:isSuperseded', operation('>'), '>=')],
  },
  {
    name: 'activity-not-refused',
    mix: 'orchestrations',
    what: 'the fence of an activity does not look whether the run still waits for its orchestration',
    edits: [drop('coordinator/activity-fence.ts:read', branch('waits'))],
  },
  {
    name: 'activity-trusts-long',
    mix: 'orchestrations',
    what: 'one look lets an activity trust for a minute',
    edits: [become('core/orchestration.ts:FENCE_TRUSTS_MS', value('FENCE_TRUSTS_MS'), '60_000')],
  },
  {
    name: 'orchestration-follows-at-once',
    mix: 'orchestrations',
    what: 'an orchestration is started in place of another one while activities of that one may trust',
    edits: [become('coordinator/attempt/orchestration.ts:orchestrationStage', call('untilOthersStopped'), 'undefined')],
  },
  {
    name: 'orchestration-follows-run',
    mix: 'orchestrations',
    what: 'a run is ended while activities of its orchestration may trust',
    edits: [become('coordinator/attempt/attempt.ts:endRun', call('untilOthersStopped'), 'undefined')],
  },
  {
    name: 'orchestration-end-unread',
    mix: 'orchestrations',
    what: 'an attempt does not read how the orchestration before it has ended',
    edits: [
      become('coordinator/attempt/orchestration.ts:orchestrationStage', call('parseOrchestrationEnd'), 'undefined'),
    ],
  },
];
