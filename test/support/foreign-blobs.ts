/** The size of a record that another program wrote. */
export const HUGE_MB = 6;
/** How many blobs that are not rows lie below `jobs/`. */
export const JUNK = 1_200;
/** The longest reason of an event. */
export const REASON_LENGTH = 300;
/** More due times than these lie between 1970 and now, for a job of every second. */
export const DUE_SINCE_1970 = 1_000_000_000;
/** As many records at most tell that these due times have passed. */
export const RECORDS_AT_MOST = 4;

/** What other programs put into a container, and what happens: the test plays each, and the page shows it. */
export const FOREIGN = {
  metadata: {
    blob: 'blobs under `jobs/` with metadata keys such as `constructor`',
    becomes: 'no job stops; an `unhealthy` event and `doctor` name them',
  },
  junk: {
    blob: `${JUNK.toLocaleString('en-US')} junk blobs under \`jobs/\``,
    becomes: 'no job stops; `doctor` reports them',
  },
  name: { blob: '`deployments/%zz`', becomes: '`doctor` reports it' },
  row: {
    blob: 'a row with a foreign key, or with a cursor in the year 12026',
    becomes: `that job is unreadable, with an event of at most ${String(REASON_LENGTH)} characters`,
  },
  cursor: {
    blob: 'a cursor of 1970 on a job due every second',
    becomes: `at most ${String(RECORDS_AT_MOST)} records cover more than ${DUE_SINCE_1970.toLocaleString('en-US')} due times, and the job runs`,
  },
  record: {
    blob: `a record of ${String(HUGE_MB)} MB of nested arrays in place of a run's own, and its holder is killed`,
    becomes: 'the run is settled as `failed`, reason `outcomeUnknown`, and never taken over; `why` shows it',
  },
  escapes: { blob: "terminal escapes in a record's texts", becomes: '`runs` and `runs --json` show them as text' },
} as const;
