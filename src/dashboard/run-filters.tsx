import type { JSX } from 'preact';
import { changed, go, param } from './address';
import { OUTCOME_LOOKS, TRIGGER_WORDS } from './words';

/** The parameters of the address that choose runs. */
export const FILTERS = ['outcome', 'trigger', 'channel', 'actor'] as const;
type Filter = (typeof FILTERS)[number];

export const NO_FILTER = {
  outcome: undefined,
  trigger: undefined,
  channel: undefined,
  actor: undefined,
  cursor: undefined,
};

const CHANNELS = {
  schedule: 'the schedule',
  browser: 'a browser',
  shell: 'a shell',
  key: 'a key',
  app: 'an app',
} as const;

function choose(filter: Filter, value: string, how: 'push' | 'replace' = 'push'): void {
  go(changed({ [filter]: value, cursor: undefined }), how);
}

/** Chooses runs by their outcome, by what started them, and by who asked for them. */
export function RunFilters(): JSX.Element {
  const outcomes = Object.entries(OUTCOME_LOOKS).map(([outcome, { word }]) => [outcome, word] as const);
  return (
    <div class="line">
      <Choice
        filter="outcome"
        label="Outcome of the runs"
        all="All outcomes"
        options={[['bad', 'Failed, timed out or stalled'], ...outcomes]}
      />
      <Choice
        filter="trigger"
        label="What started the runs"
        all="Started by anything"
        options={Object.entries(TRIGGER_WORDS)}
      />
      <Choice
        filter="channel"
        label="From where they were asked for"
        all="Asked from anywhere"
        options={Object.entries(CHANNELS)}
      />
      <input
        class="actor"
        aria-label="Who asked for the runs"
        placeholder="Asked by"
        value={param('actor') ?? ''}
        onChange={({ currentTarget: { value } }) => choose('actor', value.trim())}
        autocomplete="off"
        maxLength={100}
      />
    </div>
  );
}

interface ChoiceProps {
  readonly filter: Filter;
  readonly label: string;
  readonly all: string;
  readonly options: readonly (readonly [value: string, word: string])[];
}

function Choice({ filter, label, all, options }: ChoiceProps): JSX.Element {
  return (
    <select
      aria-label={label}
      value={param(filter) ?? ''}
      onChange={({ currentTarget: { value } }) => choose(filter, value)}
    >
      <option value="">{all}</option>
      {options.map(([value, word]) => (
        <option key={value} value={value}>
          {word.slice(0, 1).toUpperCase() + word.slice(1)}
        </option>
      ))}
    </select>
  );
}
