import type { Outcome } from './model';
import type { ShownState } from '../../core/shown-state';

/** A topic is a heading of docs/how-to/on-call.md. */
export function topicOfState(state: ShownState): string {
  switch (state) {
    case 'idle':
      return 'succeeded';
    case 'failing':
    case 'acknowledged':
      return 'failed';
    case 'waiting':
      return 'claimDue';
    case 'quarantined':
    case 'overdue':
    case 'retrying':
    case 'running':
    case 'paused':
    case 'disabled':
      return state;
  }
}

/** Reasons that call nobody have the topic of their outcome. */
const PLAIN: readonly string[] = ['completed', 'termEnded'];

export function topicOf(outcome: Outcome | null, reason: string | null): string | undefined {
  if (reason !== null && !PLAIN.includes(reason)) return reason;
  return outcome ?? undefined;
}

const ERRORS: Readonly<Record<string, string>> = {
  Unreachable: 'unreachable',
  NotAuthenticated: 'notAuthenticated',
  WrongKey: 'notAuthenticated',
  NoRole: 'notAllowed',
  RoleTooLow: 'notAllowed',
  ReadOnly: 'notAllowed',
  NotFromHere: 'notAllowed',
  Changed: 'changed',
  NotRecorded: 'storageAway',
  StoreUnavailable: 'storageAway',
  StoreDenied: 'storageAway',
  StoreLimit: 'storageAway',
  Unhealthy: 'unhealthy',
  ForeignMetadata: 'foreignBlob',
  ForeignRecord: 'foreignBlob',
  Bug: 'bug',
  NoProblem: 'bug',
};

/** The topic of an error of the API, by its code. */
export function topicOfError(code: string): string {
  return ERRORS[code] ?? 'refused';
}
