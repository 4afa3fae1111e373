import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Failure } from './api';
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
  /** Whether it needs a reason, which everybody sees. */
  readonly needsReason?: boolean;
  /** Resolves to the news of it. */
  readonly carryOut: (reason: string) => Promise<string>;
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

export function pauseJob({ name, controlVersion }: Pick<OneJob, 'name' | 'controlVersion'>): Action {
  return {
    title: `Pause ${name}?`,
    effect: 'No due time starts a run until somebody resumes the job. A run in progress continues.',
    ...{ verb: 'Pause job', decline: 'Leave it running', needsReason: true },
    async carryOut(reason) {
      await change(`${jobPath(name)}/pause`, { note: reason }, controlVersion);
      return `${name} is paused`;
    },
  };
}

export function resumeJob({ name, controlVersion }: Pick<OneJob, 'name' | 'controlVersion'>): Action {
  return {
    title: `Resume ${name}?`,
    effect: 'Due times start runs again. Those of the pause are not run later.',
    ...{ verb: 'Resume job', decline: 'Leave it paused' },
    async carryOut() {
      await change(`${jobPath(name)}/resume`, {}, controlVersion);
      return `${name} is resumed`;
    },
  };
}

export function runJob({ name }: Pick<Job, 'name'>): Action {
  return {
    title: `Run ${name} now?`,
    effect: 'One run is requested. Its schedule stays as it is, and a pause does not hold it back.',
    ...{ verb: 'Run now', decline: 'Do not run' },
    async carryOut() {
      const { runId } = (await change(`${jobPath(name)}/runs`, {})) as { readonly runId: string };
      go(pageOf({ run: runId }));
      return `A run of ${name} is requested`;
    },
  };
}

export function cancelRun(runId: string): Action {
  return {
    title: 'Cancel this run?',
    effect: `${runId} is told to stop, and is not retried. What it has done until then stays done.`,
    ...{ verb: 'Cancel run', decline: 'Let it run', danger: true },
    async carryOut() {
      await change(`runs/${encodeURIComponent(runId)}/cancel`, {});
      return `Cancel of ${runId} is requested`;
    },
  };
}

/** The dialog of the action that was asked for. */
export function ActionDialog(): JSX.Element | null {
  const action = asked.value;
  return action === undefined ? null : <OpenDialog key={action.title} action={action} />;
}

function OpenDialog({ action }: { readonly action: Action }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const [reason, setReason] = useState('');
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Failure>();
  useEffect(() => {
    const opener = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (opener instanceof HTMLElement) opener.focus();
    };
  }, []);
  const close = (): void => {
    asked.value = undefined;
  };
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    try {
      const text = await action.carryOut(reason.trim());
      close();
      announce(text);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      setFailure(error.failure);
      setBusy(false);
    }
    // What was refused may have changed, too.
    refresh();
  };
  return (
    <dialog ref={dialog} aria-labelledby="action-title" aria-describedby="action-effect" onClose={close}>
      <form onSubmit={(event) => void submit(event)}>
        <EnvironmentChip />
        <h2 id="action-title">{action.title}</h2>
        <p id="action-effect">{action.effect}</p>
        {action.needsReason === true && (
          <label>
            Reason, shown to everybody
            <input
              value={reason}
              onInput={(event) => setReason(event.currentTarget.value)}
              required
              pattern=".*\S.*"
              maxLength={200}
              autocomplete="off"
            />
          </label>
        )}
        {failure !== undefined && (
          <p class="problem foreign" role="alert">
            {sentence(failure.detail)} {sentence(failure.remedy)}
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

/** What an action has done, at the foot of the window. */
export function News(): JSX.Element {
  return (
    <div class="news" role="status">
      {news.value !== undefined && <p>{sentence(news.value)}</p>}
    </div>
  );
}
