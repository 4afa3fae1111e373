import type { EpochMs, Millis } from '../core/brand';
import type { Yearly } from '../core/schedule/exclusion';
import type { Moment } from '../core/schedule/moment';
import type { Window } from '../core/schedule/window';
import type { IssueReport } from './report';

/** Time enough to get the days of the next year. */
const SOON_MS: Millis = 60 * 86_400_000;

interface Entries {
  readonly windows: readonly Window[];
  readonly yearly: readonly Yearly[];
}

/** Warns of a calendar that will exclude nothing more: lists of holidays end unnoticed. */
export function warnOfEnd(name: string, calendar: Entries, report: IssueReport, now: EpochMs): void {
  const end = endOf(calendar);
  if (end === undefined || end - now > SOON_MS) return;
  const day = new Date(end - 1).toISOString().slice(0, 10);
  report.warning(
    ['calendars', name],
    end <= now
      ? `ended with ${day}: it excludes no later day`
      : `ends with ${day}, in less than 60 days: it excludes no later day`,
    'add the days that follow, or replace its iCalendar file; remove it if it is not needed any more',
  );
}

/** The end of the last entry, on clocks of UTC; undefined: there is none. */
function endOf({ windows, yearly }: Entries): EpochMs | undefined {
  const ends = [
    ...windows.map(({ to }) => (to === undefined ? Infinity : instantOf(to))),
    ...yearly.map(({ month, day, days, until = Infinity }) => Date.UTC(until, month - 1, day + days) || Infinity),
  ];
  const last = ends.reduce((latest, end) => Math.max(latest, end), -Infinity);
  return Number.isFinite(last) ? last : undefined;
}

function instantOf(moment: Moment): EpochMs {
  return moment.kind === 'instant' ? moment.at : moment.wall * 1000;
}
