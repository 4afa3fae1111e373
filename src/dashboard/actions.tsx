import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, change } from './api';
import { go, pageOf } from './address';
import { refresh } from './live';
import type { Job, OneJob } from './model';
import { sentence } from './parts';
import { EnvironmentChip } from './environment';

/** A change that a person confirms. */
export interface Action {
  /** A question that names the job: "Pause nightly?" */
  readonly title: string;
  /** What will happen. */
  readonly effect: string;
  /** The word on the button that does it. */
  readonly verb: string;
  /** The word on the button that does not. */
  readonly decline: string;
  readonly danger?: boolean;
  /** Everybody sees the reason. */
  readonly reason: 'needed' | 'possible';
  /** Whether it may have an input in JSON, and what it has without one. */
  readonly input?: string;
  /** Resolves to the news of it. */
  readonly carryOut: (given: Given) => Promise<string>;
}

/** What a person adds to an action. */
interface Given {
  /** Empty: none. */
  readonly reason: string;
  /** Undefined: none. */
  readonly input: unknown;
  /** The same for each try of one dialog. */
  readonly key: string;
}

const asked = signal<Action | undefined>(undefined);
/** The news of the last action, for a moment. */
const news = signal<string | undefined>(undefined);

const NEWS_MS = 8_000;
let newsTimer: number | undefined;

export function confirm(action: Action): void {
  asked.value = action;
}

function announce(text: string): void {
  clearTimeout(newsTimer);
  news.value = text;
  newsTimer = setTimeout(() => (news.value = undefined), NEWS_MS);
}

function jobPath(job: string): string {
  return `jobs/${encodeURIComponent(job)}`;
}

type Controlled = Pick<OneJob, 'name' | 'controlVersion'>;

export function pauseJob({ name, controlVersion: version }: Controlled): Action {
  return {
    title: `Pause ${name}?`,
    effect: 'No due time starts a run until somebody resumes the job. A run in progress continues.',
    ...{ verb: 'Pause job', decline: 'Leave it running', reason: 'needed' },
    async carryOut({ reason }) {
      await change(`${jobPath(name)}/pause`, { note: reason }, { version });
      return `${name} is paused`;
    },
  };
}

export function resumeJob({ name, controlVersion: version }: Controlled): Action {
  return {
    title: `Resume ${name}?`,
    effect: 'Due times start runs again. Those of the pause are not run later.',
    ...{ verb: 'Resume job', decline: 'Leave it paused', reason: 'possible' },
    async carryOut({ reason }) {
      await change(`${jobPath(name)}/resume`, bodyOf({ reason }), { version });
      return `${name} is resumed`;
    },
  };
}

export function runJob({ name }: Pick<Job, 'name'>): Action {
  return {
    title: `Run ${name} now?`,
    effect: 'One run is requested. The schedule stays as it is, and a pause does not hold the run back.',
    ...{ verb: 'Run now', decline: 'Do not run', reason: 'possible', input: 'the input of the job' },
    async carryOut(given) {
      const { runId } = (await change(`${jobPath(name)}/runs`, bodyOf(given), given)) as { readonly runId: string };
      go(pageOf({ run: runId }));
      return `A run of ${name} is requested`;
    },
  };
}

export function rerun(runId: string): Action {
  return {
    title: 'Run this due time again?',
    effect: 'A run of its own is requested. Its handler sees the same due time.',
    ...{ verb: 'Run again', decline: 'Do not run', reason: 'possible', input: 'the input of the earlier run' },
    async carryOut(given) {
      const path = `${runPath(runId)}/rerun`;
      const answer = (await change(path, bodyOf(given), given)) as { readonly runId: string };
      go(pageOf({ run: answer.runId }));
      return 'The run is requested';
    },
  };
}

export function cancelRun(runId: string): Action {
  return {
    title: 'Cancel this run?',
    effect: `${runId} is asked to stop, and is not retried. Nothing that it has done is undone.`,
    ...{ verb: 'Cancel run', decline: 'Let it run', danger: true, reason: 'possible' },
    async carryOut({ reason }) {
      await change(`${runPath(runId)}/cancel`, bodyOf({ reason }));
      return 'The cancel is requested';
    },
  };
}

export function cordon(deployment: string): Action {
  return {
    title: `Cordon ${deployment}?`,
    effect: 'This deployment finishes what it runs and claims nothing new. The others carry on.',
    ...{ verb: 'Cordon', decline: 'Leave it', reason: 'needed' },
    async carryOut({ reason }) {
      await change(`deployments/${encodeURIComponent(deployment)}/cordon`, { note: reason });
      return `${deployment} is cordoned`;
    },
  };
}

export function uncordon(deployment: string): Action {
  return {
    title: `Lift the cordon of ${deployment}?`,
    effect: 'This deployment claims due times again.',
    ...{ verb: 'Lift cordon', decline: 'Leave it', reason: 'possible' },
    async carryOut({ reason }) {
      await change(`deployments/${encodeURIComponent(deployment)}/uncordon`, bodyOf({ reason }));
      return `${deployment} claims again`;
    },
  };
}

function runPath(runId: string): string {
  return `runs/${encodeURIComponent(runId)}`;
}

function bodyOf({ reason, input }: Partial<Given>): object {
  return {
    ...(reason === undefined || reason === '' ? {} : { reason }),
    ...(input === undefined ? {} : { input }),
  };
}

/** `randomUUID` is missing where a page came without TLS from another machine. */
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** The dialog of the action that was asked for. */
export function ActionDialog(): JSX.Element | null {
  const action = asked.value;
  return action === undefined ? null : <OpenDialog key={action.title} action={action} />;
}

function OpenDialog({ action }: { readonly action: Action }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const [reason, setReason] = useState('');
  const [input, setInput] = useState('');
  const [key] = useState(newKey);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
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
    const result = await attempt(action, { reason, input, key });
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
        {action.input !== undefined && (
          <label>
            Input in JSON. Without one: {action.input}
            <textarea value={input} onInput={({ currentTarget: { value } }) => setInput(value)} spellcheck={false} />
          </label>
        )}
        <ReasonField isNeeded={action.reason === 'needed'} value={reason} onChange={setReason} />
        {problem !== undefined && (
          <p class="problem foreign" role="alert">
            {problem}
          </p>
        )}
        <div class="buttons">
          <button type="button" onClick={close}>
            {action.decline}
          </button>
          <button type="submit" class={action.danger === true ? 'danger' : 'primary'} disabled={busy}>
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

/** Carries an action out. Resolves to the problem that stands against it. */
async function attempt(
  action: Action,
  { reason, input, key }: Readonly<Record<'reason' | 'input' | 'key', string>>,
): Promise<string | undefined> {
  let value: unknown;
  try {
    if (input.trim() !== '') value = JSON.parse(input);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return `The input is not JSON: ${sentence(error.message)}`;
  }
  try {
    announce(await action.carryOut({ reason: reason.trim(), input: value, key }));
    return undefined;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { detail, remedy } = error.failure;
    return `${sentence(detail)} ${sentence(`What to do: ${remedy}`)}`;
  } finally {
    // What was refused may have changed, too.
    refresh();
  }
}

interface ReasonProps {
  readonly isNeeded: boolean;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

function ReasonField({ isNeeded, value, onChange }: ReasonProps): JSX.Element {
  return (
    <label>
      {isNeeded ? 'Reason, shown to everybody' : 'Reason, if there is one'}
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
export function News(): JSX.Element {
  return (
    <div class="news" role="status">
      {news.value !== undefined && <p>{sentence(news.value)}</p>}
    </div>
  );
}
