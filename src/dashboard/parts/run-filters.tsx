import { RUN_TRIGGERS } from '../../core/outcome';
import { changed, go, param } from '../data/address';
import { wordOf } from '../../core/guide';
import { OUTCOME_LABELS, capital } from '../data/words';
import { Select } from './parts';

/** The parameters of the address that choose runs. */
export const FILTERS = ['outcome', 'trigger', 'channel', 'actor', 'note', 'of', 'tag', 'hours'] as const;
type Filter = (typeof FILTERS)[number];

export const NO_FILTER = Object.fromEntries([...FILTERS, 'cursor'].map((name) => [name, undefined]));

export const CHANNELS = {
  schedule: 'the schedule',
  browser: 'a browser',
  shell: 'a shell',
  key: 'a key',
  app: 'an app',
} as const;

function choose(filter: string, value: string, how: 'push' | 'replace' = 'push'): void {
  go(changed({ [filter]: value, cursor: undefined }), how);
}

export const HOURS = [
  ['1', 'The last hour'],
  ['12', 'The last 12 hours'],
  ['24', 'The last 24 hours'],
  ['48', 'The last two days'],
  ['168', 'The last week'],
] as const;

/**
 * Chooses runs by their outcome, by what started them, and by who asked for them.
 *
 * @param ofAll whether the runs are those of all jobs, to choose from by job, tag and time too
 */
export function RunFilters({ ofAll = false }: { readonly ofAll?: boolean }) {
  const outcomes = Object.entries(OUTCOME_LABELS).map(([outcome, { word }]) => [outcome, word] as const);
  return (
    <div class="line filters">
      {ofAll && <Choice filter="hours" label="When the runs were due" all="Any time" options={HOURS} />}
      {ofAll && <Words filter="of" label="The job of the runs" hint="Job" most={63} />}
      {ofAll && <Words filter="tag" label="The tag of the jobs" hint="Tag" most={100} />}
      <Choice
        filter="outcome"
        label="Outcome of the runs"
        all="All outcomes"
        options={[['bad', 'Failed in any way'], ...outcomes]}
      />
      <Choice
        filter="trigger"
        label="What started the runs"
        all="Started by anything"
        options={RUN_TRIGGERS.map((trigger) => [trigger, wordOf(trigger)])}
      />
      <Choice
        filter="channel"
        label="From where they were requested"
        all="From anywhere"
        options={Object.entries(CHANNELS)}
      />
      <Words filter="actor" label="Who requested the runs" hint="Asked by" most={100} />
      <Words filter="note" label="Why the runs were requested" hint="Note" most={200} />
    </div>
  );
}

interface WordsProps {
  readonly filter: Filter;
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
      onChange={({ currentTarget: { value } }) => choose(filter, value.trim())}
      autocomplete="off"
      maxLength={most}
    />
  );
}

interface ChoiceProps {
  /** The parameter of the address. */
  readonly filter: string;
  readonly label: string;
  readonly all: string;
  readonly options: readonly (readonly [value: string, word: string])[];
}

export function Choice({ filter, label, all, options }: ChoiceProps) {
  return (
    <Select
      label={label}
      value={param(filter) ?? ''}
      options={[['', all], ...options.map(([value, word]) => [value, capital(word)] as const)]}
      choose={(value) => choose(filter, value)}
    />
  );
}
