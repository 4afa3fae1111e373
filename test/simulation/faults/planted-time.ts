import { become, before, branch, call, drop, returned } from './edit';
import type { Planted } from './planted';

/** Rules that keep wrong clocks, old listings and doubts about a hub from stalling what they need not. */
export const TIME_FAULTS: readonly Planted[] = [
  {
    name: 'hub-doubt-silences',
    what: 'a doubt about the task hub stops looks and alerts, too',
    mix: 'hubs',
    edits: [
      before(
        'coordinator/tick/tick.ts:serve',
        call('step'),
        `if (!state.hubWatch.mayRace) {
          await sleep(clock, Math.max(0, Math.min(500, left())), stopped);
          continue;
        }`,
      ),
    ],
  },
  {
    name: 'hub-refusal-not-doubted',
    what: 'a task hub that refuses every start is not doubted',
    mix: 'hubs',
    edits: [drop('coordinator/tick/hub-watch.ts:failed', call('doubt'))],
  },
  {
    name: 'due-wait-by-wall-clock',
    what: 'a handler is held back only by the wall clock, and renewals do not correct it',
    mix: 'clocks',
    edits: [
      become('coordinator/attempt/waits.ts:waitUntil', returned(), 'at - serviceTime.now() + 0 * bound'),
      drop('lease/keep-alive.ts:readControl', call('onDate')),
    ],
  },
  {
    name: 'slow-answers-ignored',
    what: 'an answer that took over 2 s corrects no clock, however wrong it is',
    mix: 'clocks',
    edits: [drop('lease/service-time.ts:observe', branch('abs', 'skew'))],
  },
  {
    name: 'not-before-unbounded',
    what: 'a not-before time that a fast clock wrote is waited for, however far ahead it lies',
    mix: 'clocks',
    edits: [
      become('core/decide/situation.ts:boundedWait', call('min'), 'Math.max(until, $)'),
      become('lease/service-time.ts:timeWithin', call('min'), 'Math.max(now, Math.min(earliest, latest))'),
    ],
  },
];
