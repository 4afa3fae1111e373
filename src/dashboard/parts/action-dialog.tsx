import { signal } from '@preact/signals';
import type { ComponentChildren, TargetedSubmitEvent } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Job } from '../../client/types';
import { selects } from '../../core/job-pattern';
import { type Failure, failureIn } from '../data/api';
import { refresh } from '../data/live';
import { instantIn, zoneOf } from '../data/time';
import { plural } from '../data/words';
import { EnvironmentChip, sentence, tagsOf } from './parts';
import { FailureHelp } from './help';

/** Several jobs, as the API chooses them. */
export type Choice = { readonly jobs: readonly string[] } | { readonly tag: string } | { readonly pattern: string };

export interface Scope {
  readonly all: readonly Job[];
  /** Those that the search and the filters of the page leave. Undefined: it has none. */
  readonly listed: readonly Job[] | undefined;
}

export interface Action {
  /** A question that names the job: "Pause nightly?" */
  readonly title: string;
  readonly effect: string;
  /** The word on the button that asks for it. Default: the verb. */
  readonly label?: string;
  /** The word on the button that does it. */
  readonly verb: string;
  /** The word on the button that does not. Default: Leave it. */
  readonly decline?: string;
  readonly danger?: boolean;
  /** All can see the note. Default: possible. */
  readonly note?: 'needed' | 'none';
  /** Whether it may have an input in JSON, and what it has without one. */
  readonly input?: string;
  /** The input that it has already. Left as it is, none is sent. */
  readonly filled?: string;
  /** Whether it may have an end, and what it means to have none. */
  readonly until?: string;
  /** The jobs to choose from, if it concerns several. */
  readonly scope?: Scope;
  /** Resolves to the news of it. */
  readonly carryOut: (given: Given) => Promise<string>;
}

/** What a person adds to an action. Undefined: nothing. */
interface Given {
  readonly note: string | undefined;
  readonly input: unknown;
  /** In RFC 3339. */
  readonly until: string | undefined;
  readonly scope: Choice;
  /** The same for each try of one dialog. */
  readonly key: string;
}

/** The action that waits for its confirmation. */
const asked = signal<Action | undefined>(undefined);
/** The news of the last action, for a moment. */
const news = signal<string | undefined>(undefined);
const NEWS_MS = 8_000;
let newsTimer: number | undefined;

interface AskProps {
  readonly action: Action;
  readonly class?: string;
  readonly disabled?: boolean;
  readonly children?: ComponentChildren;
}

export function Ask({ action, children, ...rest }: AskProps) {
  return (
    <button type="button" onClick={() => (asked.value = action)} {...rest}>
      {children ?? action.label ?? action.verb}
    </button>
  );
}

export function ActionDialog() {
  const action = asked.value;
  return action === undefined ? null : <OpenDialog key={action.title} action={action} />;
}

/** What stands against an action: text, or what the API answered. */
type Obstacle = string | Failure;

function OpenDialog({ action }: { readonly action: Action }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [scope, setScope] = useState(() => choiceOf(firstKind(action.scope), '', action.scope));
  const [key] = useState(newKey);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Obstacle>();
  useEffect(() => {
    const opener = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (opener instanceof HTMLElement) opener.focus();
    };
  }, []);
  const submit = async (event: TargetedSubmitEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    const result = await attempt(action, new FormData(event.currentTarget), scope, key);
    setBusy(false);
    setProblem(result);
    if (result === undefined) close();
  };
  return (
    <dialog ref={dialog} aria-labelledby="action-title" aria-describedby="action-effect" onClose={close}>
      <form onSubmit={(event) => void submit(event)}>
        <EnvironmentChip />
        <h2 id="action-title">{action.title}</h2>
        <p id="action-effect" class="foreign">
          {action.effect}
        </p>
        {action.scope !== undefined && <ScopeField scope={action.scope} onChange={setScope} />}
        {action.input !== undefined && (
          <label>
            Input in JSON. Without one: {action.input}
            <textarea name="input" defaultValue={action.filled ?? ''} spellcheck={false} />
          </label>
        )}
        {action.note !== 'none' && <NoteField isNeeded={action.note === 'needed'} />}
        {action.until !== undefined && (
          <label>
            End ({zoneOf(undefined)}). Without one: {action.until}
            <input name="until" type="datetime-local" />
          </label>
        )}
        {problem !== undefined && <Problem problem={problem} />}
        <div class="buttons">
          <button type="button" onClick={close}>
            {action.decline ?? 'Leave it'}
          </button>
          <button type="submit" class={action.danger === true ? 'danger' : 'primary'} disabled={busy} aria-busy={busy}>
            {action.verb}
          </button>
        </div>
      </form>
    </dialog>
  );
}

/** `randomUUID` is missing where a page came without TLS from another machine. */
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function close(): void {
  asked.value = undefined;
}

function NoteField({ isNeeded }: { readonly isNeeded: boolean }) {
  return (
    <label>
      {isNeeded ? 'Note, for others to read' : 'Note, if there is one'}
      <input name="note" required={isNeeded} pattern=".*\S.*" maxLength={200} autocomplete="off" />
    </label>
  );
}

function Problem({ problem }: { readonly problem: Obstacle }) {
  const isText = typeof problem === 'string';
  return (
    <p class="problem foreign" role="alert">
      {isText ? problem : `${sentence(problem.detail)} ${sentence(`Remedy: ${problem.remedy}`)}`}{' '}
      {!isText && (
        <span onClick={close}>
          <FailureHelp failure={problem} />
        </span>
      )}
    </p>
  );
}

/** Carries an action out. Resolves to the problem that stands against it. */
async function attempt(action: Action, form: FormData, scope: Choice, key: string): Promise<Obstacle | undefined> {
  const textOf = (name: string): string => {
    const text = form.get(name);
    return typeof text === 'string' ? text : '';
  };
  const [note, text, until] = [textOf('note').trim(), textOf('input'), textOf('until')];
  let input: unknown;
  try {
    if (text.trim() !== '' && text !== action.filled) input = JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return `The input is not JSON: ${sentence(error.message)}`;
  }
  try {
    const end = until === '' ? undefined : new Date(instantIn(until, zoneOf(undefined)) ?? 0).toISOString();
    announce(await action.carryOut({ note: note || undefined, input, until: end, scope, key }));
    return undefined;
  } catch (error) {
    return failureIn(error);
  } finally {
    // What was refused may have changed, too.
    refresh();
  }
}

function announce(text: string): void {
  clearTimeout(newsTimer);
  news.value = text;
  newsTimer = setTimeout(() => (news.value = undefined), NEWS_MS);
}

export function News() {
  return (
    <div class="news" role="status">
      {news.value !== undefined && <p>{sentence(news.value)}</p>}
    </div>
  );
}

const ALL = '';
const PATTERN = 'pattern';
const TAG = 'tag ';
const LISTED = 'listed';
/** The most names that the API takes. */
const NAMES = 1_000;

function firstKind(scope: Scope | undefined): string {
  const count = scope?.listed?.length ?? 0;
  return count > 0 && count <= NAMES ? LISTED : ALL;
}

/** The choice of several jobs, with their number. It begins with those that the page lists. */
function ScopeField({ scope, onChange }: { readonly scope: Scope; readonly onChange: (choice: Choice) => void }) {
  const { all: jobs, listed = [] } = scope;
  const [kind, setKind] = useState(firstKind(scope));
  const [pattern, setPattern] = useState('');
  const choose = (next: string, text: string): void => {
    setKind(next);
    setPattern(text);
    onChange(choiceOf(next, text, scope));
  };
  const count = jobs.filter((job) => isChosen(job, choiceOf(kind, pattern, scope))).length;
  return (
    <>
      <label>
        Which jobs
        <select value={kind} onChange={({ currentTarget: { value } }) => choose(value, pattern)}>
          <option value={ALL}>All jobs</option>
          {firstKind(scope) === LISTED && (
            <option value={LISTED}>The {plural(listed.length, 'job')} of the list</option>
          )}
          {tagsOf(jobs).map((tag) => (
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

function choiceOf(kind: string, pattern: string, scope: Scope | undefined): Choice {
  if (kind === LISTED) return { jobs: scope?.listed?.map(({ name }) => name) ?? [] };
  if (kind === PATTERN) return { pattern };
  return kind.startsWith(TAG) ? { tag: kind.slice(TAG.length) } : { pattern: '*' };
}

function isChosen({ name, tags }: Job, choice: Choice): boolean {
  if ('tag' in choice) return tags.includes(choice.tag);
  if ('jobs' in choice) return choice.jobs.includes(name);
  return selects(choice.pattern, name);
}
