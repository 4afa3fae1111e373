import type { Planted } from './planted';

/** Rules for notices about the end of a run. */
export const NOTICE_FAULTS: readonly Planted[] = [
  {
    name: 'released-untold',
    what: 'a run is settled without its notices',
    mix: 'notices',
    edits: [
      {
        file: 'coordinator/settle.ts',
        in: 'settle',
        from: 'await tellOwed(writer, ownNotices(writer.row), own);',
        to: '',
      },
    ],
  },
  {
    name: 'left-notice-dropped',
    what: 'the next claim drops the notices that a dead holder has left',
    mix: 'notices',
    edits: [
      {
        file: 'core/decide/next-row.ts',
        in: 'carry',
        from: "telling: s.lease === 'expired' ? row.telling : [],",
        to: 'telling: [],',
      },
    ],
  },
  {
    name: 'carried-untold',
    what: "a run's end replaces the notices of the run before it, which a dead holder has left",
    mix: 'notices',
    edits: [
      {
        file: 'coordinator/settle.ts',
        in: 'settle',
        from: 'await tellCarried(writer);',
        to: '',
      },
    ],
  },
  {
    name: 'told-before-record',
    what: 'a notice is created before the record of its run',
    mix: 'notices',
    edits: [
      {
        file: 'coordinator/settle.ts',
        in: 'settle',
        from: 'const own = await writeFinal(writer, record);',
        to: 'await tellOwed(writer, ownNotices(writer.row), undefined);\n  const own = await writeFinal(writer, record);',
      },
    ],
  },
  {
    name: 'owed-notice-deleted',
    what: 'a sweep deletes a delivered notice that a row still names, and the next tick creates it again',
    mix: 'notices+kills+retention',
    edits: [
      {
        file: 'coordinator/tick/notice-watch.ts',
        in: 'sweep',
        from: '.filter((one) => !isOwed(listing, one))',
        to: '',
      },
    ],
  },
  {
    name: 'counted-success-told',
    what: 'a run of long ago is recorded as failed, and its row still tells the success that it had counted',
    mix: 'notices+kills+retention',
    edits: [
      {
        file: 'core/decide/unfinished.ts',
        in: 'withUnknownEnd',
        from: "const counted = withRecordedEnd(carry(s), { at: undefined, outcome: 'failed' }, s.job);",
        to: 'const counted = carry(s);',
      },
    ],
  },
];
