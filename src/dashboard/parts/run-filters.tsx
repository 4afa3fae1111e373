import { pathOf } from '../../client/operations';
import { wordOf } from '../../core/guide';
import { RUN_TRIGGERS } from '../../core/outcome';
import { changed, go, hoursBefore, param } from '../data/address';
import { now } from '../data/live';
import { OUTCOME_LABELS, capital } from '../data/words';
import { Select } from './parts';

/** The parameters of the address that choose runs. */
export const FILTERS = ['outcome', 'trigger', 'channel', 'actor', 'note', 'of', 'tag', 'hours'] as const;

const ASKED_BY = [
  ['browser', 'A browser'],
  ['shell', 'A shell'],
  ['key', 'A key'],
  ['app', 'An app'],
] as const;

/** From where a change was made. */
export const CHANNELS = [['', 'From anywhere'], ...ASKED_BY] as const;
const RUN_CHANNELS = [['', 'From anywhere'], ['schedule', 'The schedule'], ...ASKED_BY] as const;

export const HOURS = [
  ['', 'Any time'],
  ['1', 'The last hour'],
  ['12', 'The last 12 hours'],
  ['24', 'The last 24 hours'],
  ['48', 'The last two days'],
  ['168', 'The last week'],
] as const;

const OUTCOMES = [
  ['', 'All outcomes'],
  ['bad', 'Failed in any way'],
  ...Object.entries(OUTCOME_LABELS).map(([outcome, { word }]) => [outcome, word] as const),
] as const;

const TRIGGERS = [
  ['', 'Started by anything'],
  ...RUN_TRIGGERS.map((trigger) => [trigger, capital(wordOf(trigger))] as const),
] as const;

/**
 * The path of the runs that the address chooses.
 *
 * @param job undefined: the runs of all jobs, or of those in the address
 * @param until the end of the hours in the address. It stands still while a page is open, and so does the list.
 */
export function runsPath(job: string | undefined, limit: number, until = now.peek()): string {
  const outcome = param('outcome');
  const scope = job === undefined ? { job: param('of'), tag: param('tag'), since: hoursBefore(until) } : { job };
  return pathOf('listRuns', [], {
    ...scope,
    limit,
    failed: outcome === 'bad' || undefined,
    outcome: outcome !== undefined && outcome in OUTCOME_LABELS ? outcome : undefined,
    ...Object.fromEntries(['trigger', 'channel', 'actor', 'note', 'cursor'].map((name) => [name, param(name)])),
  });
}

/**
 * Chooses runs by their outcome, by what started them, and by who asked for them.
 *
 * @param ofAll whether the runs are those of all jobs, to choose from by job, tag and time too
 */
export function RunFilters({ ofAll = false }: { readonly ofAll?: boolean }) {
  return (
    <div class="line filters">
      {ofAll && <Select name="hours" label="When the runs were due" options={HOURS} />}
      {ofAll && <Words filter="of" label="The job of the runs" hint="Job" most={63} />}
      {ofAll && <Words filter="tag" label="The tag of the jobs" hint="Tag" most={100} />}
      <Select name="outcome" label="Outcome of the runs" options={OUTCOMES} />
      <Select name="trigger" label="What started the runs" options={TRIGGERS} />
      <Select name="channel" label="From where they were requested" options={RUN_CHANNELS} />
      <Words filter="actor" label="Who requested the runs" hint="Asked by" most={100} />
      <Words filter="note" label="Why the runs were requested" hint="Note" most={200} />
    </div>
  );
}

interface WordsProps {
  readonly filter: (typeof FILTERS)[number];
  readonly label: string;
  readonly hint: string;
  readonly most: number;
}

function Words({ filter, label, hint, most }: WordsProps) {
  return (
    <input
      class="asked"
      aria-label={label}
      placeholder={hint}
      value={param(filter) ?? ''}
      onChange={({ currentTarget: { value } }) => go(changed({ [filter]: value.trim(), cursor: undefined }))}
      autocomplete="off"
      maxLength={most}
    />
  );
}
