import type { Planted } from './planted';

/** Rules that keep wrong clocks, old listings and doubts about a hub from stalling what they need not. */
export const TIME_FAULTS: readonly Planted[] = [
  {
    name: 'hub-doubt-silences',
    what: 'a doubt about the task hub stops looks and alerts, too',
    mix: 'hubs',
    edits: [
      {
        file: 'coordinator/tick/tick.ts',
        in: 'serve',
        from: 'const wait = await survey.step(fire, { isFirst, mustSweep: isPoke && isFirst, leftMs: left() });',
        to: 'if (!state.hubWatch.mayRace) {\n          await sleep(clock, Math.max(0, Math.min(500, left())), stopped);\n          continue;\n        }\n        const wait = await survey.step(fire, { isFirst, mustSweep: isPoke && isFirst, leftMs: left() });',
      },
    ],
  },
  {
    name: 'hub-refusal-not-doubted',
    what: 'a task hub that refuses every start is not doubted',
    mix: 'hubs',
    edits: [
      {
        file: 'coordinator/tick/hub-watch.ts',
        in: 'hubWatch',
        from: 'doubt(`the task hub does not take orchestrations: ${String(error)}`, report);\n    },\n  };',
        to: '},\n  };',
      },
    ],
  },
  {
    name: 'due-wait-by-wall-clock',
    what: 'a handler is held back by the wall clock alone, and renewals correct no clock',
    mix: 'clocks',
    edits: [
      {
        file: 'coordinator/attempt/wait-for-due.ts',
        in: 'waitUntil',
        from: 'Math.min(at - serviceTime.now(), bound - clock.monotonic())',
        to: 'at - serviceTime.now() + 0 * bound',
      },
      { file: 'lease/keep-alive.ts', in: 'readControl', from: 'options.onDate?.(date, sent);', to: '' },
    ],
  },
  {
    name: 'slow-answers-ignored',
    what: 'an answer that took over 2 s corrects no clock, however wrong it is',
    mix: 'clocks',
    edits: [
      {
        file: 'lease/service-time.ts',
        in: 'observe',
        from: 'if (Math.abs(difference - skew) > roundTrip / 2 + CORRECT_BEYOND_MS) skew = difference;',
        to: '',
      },
    ],
  },
  {
    name: 'not-before-unbounded',
    what: 'a not-before time that a fast clock wrote is waited for, however far ahead it lies',
    mix: 'clocks',
    edits: [
      {
        file: 'core/decide/situation.ts',
        in: 'boundedWait',
        from: 'return Math.min(until, firstSeenAt + 1000 + longest);',
        to: 'return Math.max(until, Math.min(until, firstSeenAt + 1000 + longest));',
      },
      // Otherwise no row of this build has such a time; older builds have written them.
      {
        file: 'lease/service-time.ts',
        in: 'timeWithin',
        from: 'Math.min(Math.max(now, earliest), latest)',
        to: 'Math.max(now, Math.min(earliest, latest))',
      },
    ],
  },
];
