import { signal } from '@preact/signals';
import type { Job } from './model';

/** Several jobs, as the API chooses them. */
export type Choice = { readonly jobs: readonly string[] } | { readonly tag: string } | { readonly pattern: string };

/** The jobs to choose from. */
export interface Scope {
  readonly all: readonly Job[];
  /** Those that the search and the filters of the page leave. Undefined: it has none. */
  readonly listed: readonly Job[] | undefined;
}

/** A change that a person confirms. */
export interface Action {
  /** A question that names the job: "Pause nightly?" */
  readonly title: string;
  /** What will happen. */
  readonly effect: string;
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

/** What a person adds to an action. */
export interface Given {
  /** Empty: none. */
  readonly note: string;
  /** Undefined: none. */
  readonly input: unknown;
  /** In RFC 3339. Undefined: none. */
  readonly until: string | undefined;
  readonly scope: Choice;
  /** The same for each try of one dialog. */
  readonly key: string;
}

/** The action that waits for its confirmation. */
export const asked = signal<Action | undefined>(undefined);
/** The news of the last action, for a moment. */
export const news = signal<string | undefined>(undefined);

const NEWS_MS = 8_000;
let newsTimer: number | undefined;

export function confirm(action: Action): void {
  asked.value = action;
}

export function announce(text: string): void {
  clearTimeout(newsTimer);
  news.value = text;
  newsTimer = setTimeout(() => (news.value = undefined), NEWS_MS);
}
