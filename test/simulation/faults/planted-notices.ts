import { become, before, call, drop, value } from './edit';
import type { Planted } from './planted';

/** Rules for notices about the end of a run. */
export const NOTICE_FAULTS: readonly Planted[] = [
  {
    name: 'released-untold',
    what: 'a run is settled without its notices',
    mix: 'notices',
    edits: [drop('coordinator/settle.ts:settle', call('tellOwed'))],
  },
  {
    name: 'left-notice-dropped',
    what: 'the next claim drops the notices that a dead holder has left',
    mix: 'notices',
    edits: [become('core/decide/next-row.ts:carry', value('telling'), '[]')],
  },
  {
    name: 'carried-untold',
    what: "a run's end replaces the notices of the run before it, which a dead holder has left",
    mix: 'notices',
    edits: [drop('coordinator/settle.ts:settle', call('tellCarried'))],
  },
  {
    name: 'told-before-record',
    what: 'a notice is created before the record of its run',
    mix: 'notices',
    edits: [
      before(
        'coordinator/settle.ts:settle',
        call('writeFinal'),
        'await tellOwed(writer, ownNotices(writer.row), undefined);',
      ),
    ],
  },
  {
    name: 'owed-notice-deleted',
    what: 'a sweep deletes a delivered notice that a row still names, and the next tick creates it again',
    mix: 'notices+kills+retention',
    edits: [become('coordinator/tick/notice-watch.ts:sweep', call('filter'), 'outdated(listed, serviceTime.now())')],
  },
  {
    name: 'counted-success-told',
    what: 'a run of long ago is recorded as failed, and its row still tells the success that it had counted',
    mix: 'notices+kills+retention',
    edits: [become('core/decide/unfinished.ts:withUnknownEnd', call('withRecordedEnd'), 'carry(s)')],
  },
];
