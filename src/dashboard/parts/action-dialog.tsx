import { useEffect, useRef, useState } from 'preact/hooks';
import { type Action, type Choice, announce, asked, news } from '../data/action';
import { ApiError } from '../data/api';
import { HelpLink } from './help-link';
import { topicOfError } from '../data/help-topics';
import { refresh } from '../data/live';
import { EnvironmentChip, sentence } from './parts';
import { firstChoice, ScopeField } from './scope-field';
import { instantIn, zoneOf } from '../data/time';

/** `randomUUID` is missing where a page came without TLS from another machine. */
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

export function ActionDialog() {
  const action = asked.value;
  return action === undefined ? null : <OpenDialog key={action.title} action={action} />;
}

function OpenDialog({ action }: { readonly action: Action }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [note, setNote] = useState('');
  const [input, setInput] = useState(action.filled ?? '');
  const [until, setUntil] = useState('');
  const [scope, setScope] = useState(() => firstChoice(action.scope));
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
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    const result = await attempt(action, { note, input, until, key }, scope);
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
            <textarea value={input} onInput={({ currentTarget: { value } }) => setInput(value)} spellcheck={false} />
          </label>
        )}
        {action.note !== 'none' && <NoteField isNeeded={action.note === 'needed'} value={note} onChange={setNote} />}
        {action.until !== undefined && (
          <label>
            End ({zoneOf(undefined)}). Without one: {action.until}
            <input type="datetime-local" value={until} onInput={({ currentTarget: { value } }) => setUntil(value)} />
          </label>
        )}
        {problem !== undefined && (
          <p class="problem foreign" role="alert">
            {problem.text}{' '}
            {problem.code !== undefined && (
              <span onClick={close}>
                <HelpLink topic={topicOfError(problem.code)} />
              </span>
            )}
          </p>
        )}
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

function close(): void {
  asked.value = undefined;
}

/** What stands against an action. */
interface Obstacle {
  readonly text: string;
  /** Of an error of the API. */
  readonly code: string | undefined;
}

/** Carries an action out. Resolves to the problem that stands against it. */
async function attempt(
  action: Action,
  { note, input, until, key }: Readonly<Record<'note' | 'input' | 'until' | 'key', string>>,
  scope: Choice,
): Promise<Obstacle | undefined> {
  let value: unknown;
  try {
    if (input.trim() !== '' && input !== action.filled) value = JSON.parse(input);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return { text: `The input is not JSON: ${sentence(error.message)}`, code: undefined };
  }
  try {
    const end = until === '' ? undefined : new Date(instantIn(until, zoneOf(undefined)) ?? 0).toISOString();
    announce(await action.carryOut({ note: note.trim(), input: value, until: end, scope, key }));
    return undefined;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { detail, remedy, code } = error.failure;
    return { text: `${sentence(detail)} ${sentence(`Remedy: ${remedy}`)}`, code };
  } finally {
    // What was refused may have changed, too.
    refresh();
  }
}

interface NoteProps {
  readonly isNeeded: boolean;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

function NoteField({ isNeeded, value, onChange }: NoteProps) {
  return (
    <label>
      {isNeeded ? 'Note, for others to read' : 'Note, if there is one'}
      <input
        value={value}
        onInput={(event) => onChange(event.currentTarget.value)}
        required={isNeeded}
        pattern=".*\S.*"
        maxLength={200}
        autocomplete="off"
      />
    </label>
  );
}

/** What an action has done, at the foot of the window. */
export function News() {
  return (
    <div class="news" role="status">
      {news.value !== undefined && <p>{sentence(news.value)}</p>}
    </div>
  );
}
