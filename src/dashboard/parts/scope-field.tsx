import { useState } from 'preact/hooks';
import { selects } from '../../core/job-pattern';
import type { Choice, Scope } from '../data/action';
import type { Job } from '../data/model';
import { plural } from '../data/words';

interface ScopeProps {
  readonly scope: Scope;
  readonly onChange: (choice: Choice) => void;
}

const ALL = '';
const PATTERN = 'pattern';
const TAG = 'tag ';
const LISTED = 'listed';
/** The most names that the API takes. */
const NAMES = 1_000;

/** The initial choice. */
export function firstChoice(scope: Scope | undefined): Choice {
  return choiceOf(firstKind(scope?.listed), '', scope?.listed);
}

function firstKind(listed: Scope['listed']): string {
  return listed !== undefined && listed.length > 0 && listed.length <= NAMES ? LISTED : ALL;
}

/** The choice of several jobs, with their number. It begins with those that the page lists. */
export function ScopeField({ scope: { all: jobs, listed }, onChange }: ScopeProps) {
  const [kind, setKind] = useState(firstKind(listed));
  const [pattern, setPattern] = useState('');
  const tags = [...new Set(jobs.flatMap((job) => job.tags))].sort();
  const choose = (next: string, text: string): void => {
    setKind(next);
    setPattern(text);
    onChange(choiceOf(next, text, listed));
  };
  const count = jobs.filter((job) => isChosen(job, choiceOf(kind, pattern, listed))).length;
  return (
    <>
      <label>
        Which jobs
        <select value={kind} onChange={({ currentTarget: { value } }) => choose(value, pattern)}>
          <option value={ALL}>All jobs</option>
          {listed !== undefined && firstKind(listed) === LISTED && (
            <option value={LISTED}>The {plural(listed.length, 'job')} of the list</option>
          )}
          {tags.map((tag) => (
            <option key={tag} value={`${TAG}${tag}`}>
              Tag {tag}
            </option>
          ))}
          <option value={PATTERN}>Names that match</option>
        </select>
      </label>
      {kind === PATTERN && (
        <label>
          Pattern, where * stands for any characters
          <input
            value={pattern}
            onInput={({ currentTarget: { value } }) => choose(kind, value)}
            required
            pattern="[a-z0-9*\-]{1,63}"
            placeholder="report-*"
            autocomplete="off"
          />
        </label>
      )}
      <p class="muted" role="status">
        {plural(count, 'job')} chosen.
      </p>
    </>
  );
}

function choiceOf(kind: string, pattern: string, listed: Scope['listed']): Choice {
  if (kind === LISTED) return { jobs: listed?.map(({ name }) => name) ?? [] };
  if (kind === PATTERN) return { pattern };
  return kind.startsWith(TAG) ? { tag: kind.slice(TAG.length) } : { pattern: '*' };
}

function isChosen({ name, tags }: Job, choice: Choice): boolean {
  if ('tag' in choice) return tags.includes(choice.tag);
  if ('jobs' in choice) return choice.jobs.includes(name);
  return selects(choice.pattern, name);
}
