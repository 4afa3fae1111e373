import type { OpenStanding, Outcome, Reason, StandingReason } from './outcome';

/**
 * What one name means and what to do about it, in sentences. Backticks mark names, and ``See `name` `` refers to another
 * entry. docs/reference/outcomes.md, the help page of the dashboard and the explanations of `why` are made from these.
 */
export interface Guidance {
  /** One sentence. */
  readonly meaning: string;
  /** What follows from it without any action. */
  readonly next?: string;
  readonly remedy?: string;
}

/** The outcomes of a due time, and its states before it has one. */
export const STANDING_GUIDE: Readonly<Record<Outcome | OpenStanding, Guidance>> = {
  succeeded: {
    meaning: 'The handler returned, or a fan-out ended as `onItemFailure` allows.',
  },
  failed: {
    meaning: 'The last attempt failed.',
    remedy:
      'Read the error of the last attempt and the log, and compare version and input with the last run that succeeded. Fix the cause, then `cronlease rerun JOB TIME`. If every further run does harm, pause the job first.',
  },
  timedOut: { meaning: 'The last attempt took longer than the job allows.' },
  stalled: { meaning: 'The last attempt reported no progress for too long.' },
  cancelled: { meaning: 'The run was ended on purpose.', remedy: 'Nothing, or run it again.' },
  overlapped: {
    meaning: 'A run of the job was in progress.',
    remedy: 'Nothing, if it is rare. Otherwise shorten the runs, or make the schedule less frequent.',
  },
  collapsed: {
    meaning: 'A newer due time runs in its place.',
    remedy: 'Nothing, if one run makes up for all. Otherwise back-fill, or set `catchUp` to `all`.',
  },
  expired: {
    meaning: 'It was not run in time, and does not run later.',
    remedy:
      'Run it again if its work is still wanted. Look for an outage of all deployments or of storage at that time.',
  },
  paused: { meaning: 'The job was paused at that time.' },
  disabled: {
    meaning: 'The job was disabled, or the schedule was not in force at that time.',
    remedy: 'Compare the history of the jobs file. Run it again if its work is still wanted.',
  },
  running: {
    meaning: 'An attempt is running.',
    remedy: 'Nothing, or cancel it if it does harm.',
  },
  retrying: {
    meaning: 'It waits for its next attempt.',
    next: 'A cancelled run is not retried.',
    remedy: 'Nothing, if the cause goes away by itself. Read the error of the last attempt.',
  },
  pending: { meaning: 'It is due, but not decided yet.' },
  future: { meaning: 'It is due later.' },
  notDue: { meaning: 'It is not a due time, or nothing is known about it.' },
};

interface ReasonGuidance extends Guidance {
  /** The outcomes that it explains, and `attempt` if it ends an attempt while the run continues. */
  readonly of: readonly (Outcome | 'attempt')[];
}

export const REASON_GUIDE: Readonly<Record<Reason, ReasonGuidance>> = {
  completed: { of: ['succeeded'], meaning: 'The handler returned.' },
  termEnded: { of: ['succeeded'], meaning: 'The term of a leader job ended, and the next one follows.' },
  handlerError: {
    of: ['failed'],
    meaning: 'The handler threw in its last attempt.',
    remedy: 'The error shows your own code first. If an outside cause can take hours, raise `retry.attempts`.',
  },
  nonRetryable: {
    of: ['failed'],
    meaning: 'The handler threw a `NonRetryableError`, so it was not retried.',
    remedy: 'Read its message. Often the input or the configuration is wrong.',
  },
  invalidInput: {
    of: ['failed'],
    meaning: "The handler's schema refuses the input of a manual run, or retention has deleted that input.",
    next: 'The run is not retried.',
    remedy: 'Run it again with a correct input. The error names the member.',
  },
  invalidResult: {
    of: ['failed'],
    meaning: 'The handler returned something that is not JSON, or exceeds 32 KB.',
    next: 'The run is not retried. Its work may be done.',
    remedy: 'Return less, such as the name of a blob. Run it again only if its work was not done.',
  },
  itemFailed: {
    of: ['failed'],
    meaning: 'An item of a fan-out failed in its last attempt, and `onItemFailure` is `failFast`.',
    remedy:
      'The error names the item, and `cronlease logs JOB TIME --item N` prints its log. To let the other items finish, set `onItemFailure` to `collect`.',
  },
  holderLost: {
    of: ['failed'],
    meaning: 'Instances that died or lost their lease used up its attempts.',
    next: 'The handler may have done part of its work.',
    remedy: 'Check what the handler has written, and look for restarts and lack of memory. See `take-overs`.',
  },
  failedOver: {
    of: ['failed', 'expired'],
    meaning: 'The storage failed over to an earlier state, and `cronlease recover` was run.',
    next: 'A run in progress is `failed`, because its end is lost. A due time that may have run is `expired`.',
    remedy: 'Check what the handler has written for that time. Run it again if its work is missing.',
  },
  outcomeUnknown: {
    of: ['failed'],
    meaning: 'The outcome is unknown, because the record was deleted by retention or cannot be read.',
    next: 'The due time is not run again.',
    remedy: 'Check what the handler has written. A record that cannot be read stays in the store under `runs/JOB/`.',
  },
  timeout: {
    of: ['timedOut'],
    meaning: 'The last attempt took longer than `timeout`, or the items of a fan-out took longer than `deadline`.',
    remedy:
      'Compare the end of the log and the durations of earlier runs. Fix what is slow, pass `context.signal` to each call, or raise `timeout` above the longest good run.',
  },
  stallAfter: {
    of: ['stalled'],
    meaning: 'The last attempt reported no progress for longer than `stallAfter`.',
    remedy: 'If the handler was working, call `context.progress()` more often. Otherwise see `timeout`.',
  },
  instanceStopped: {
    of: ['attempt'],
    meaning: 'The instance of the attempt was shut down, usually by a deployment or by scaling.',
    next: 'Another instance resumes the run.',
    remedy: 'Nothing. If it happens in every run, fan out, or save the progress of the work.',
  },
  leaseLost: {
    of: ['attempt'],
    meaning: 'The attempt could not keep its lease, because its process was suspended or storage did not answer.',
    next: 'Another instance takes over, and late writes through the fence are rejected.',
    remedy: 'Look for blocked event loops, lack of memory and storage outages at that time. See `take-overs`.',
  },
  storageRefused: {
    of: ['attempt'],
    meaning: "Storage refused the app, for example with 401 or 403, until the attempt's lease had ended.",
    next: 'Once the app has access, its runs continue.',
    remedy:
      "Restore the app's access. A role, a key or a firewall may have changed. The `unhealthy` line in the log names the account and the remedy.",
  },
  eventLoopBlocked: {
    of: ['attempt'],
    meaning: "A handler blocked the event loop for so long that the attempt's lease could not be renewed.",
    next: 'Its work may be done. Another attempt follows.',
    remedy:
      'Find code without an `await`: large JSON, compression, `execSync`, loops. Move it to a worker thread or another program, or await in between. A longer `lease` (up to 60 s) helps a little.',
  },
  cancelRequested: {
    of: ['cancelled'],
    meaning: 'An operator cancelled the run.',
    remedy: 'The changes in the dashboard show the person and the note.',
  },
  overlapCancel: {
    of: ['cancelled'],
    meaning: 'A newer due time or manual run ended it, because `overlap` is `cancel`.',
    remedy: 'If runs no longer end by themselves, shorten them or make the schedule less frequent.',
  },
  overlapSkip: {
    of: ['overlapped'],
    meaning: 'The last run was still in progress, and `overlap` is `skip`.',
    remedy: '`cronlease why` names that run. To run after it instead, set `overlap` to `queue`.',
  },
  overlapNewer: {
    of: ['overlapped'],
    meaning: 'A newer due time passed during the same run, and only the newest one runs after it.',
    remedy:
      'If every due time has separate work, let the handler cover all time since the last success, with `context.previous()`.',
  },
  catchUpLatest: {
    of: ['collapsed'],
    meaning: 'It was missed, or waited for a required job or a back-filled run, and a newer due time can run instead.',
    next: 'Missed due times collapse only with `catchUp` `latest`; waiting ones also with `none`.',
  },
  catchUpWindow: {
    of: ['expired'],
    meaning: 'It was not run within `catchUpWindow`.',
    remedy: 'To run it later next time, set a longer `catchUpWindow`.',
  },
  catchUpNone: { of: ['expired'], meaning: 'It was missed, and `catchUp` is `none`.' },
  requirementNotMet: {
    of: ['expired'],
    meaning: 'A job that it requires had not succeeded within `requireWithin`.',
    remedy:
      'Run the required job, then this due time again. If the required job is often this late, raise `requireWithin` and `catchUpWindow`.',
  },
  concurrencyLimit: {
    of: ['expired', 'attempt'],
    meaning:
      'Its instance ran as many handlers as `CRONLEASE_MAX_CONCURRENT_RUNS` allows, until the due time was too old to run.',
    next: 'Too old means older than `catchUpWindow`, or with `catchUp` `none` older than its lease plus 20 s. An attempt ends when `functionTimeout` leaves no time for the handler, and the run continues with another one.',
    remedy:
      'Raise the limit, add instances, shorten long handlers, or raise `priority`. `waitedForConcurrencyMs` of other runs shows how long they waited.',
  },
  groupFull: {
    of: ['expired', 'attempt'],
    meaning: 'Its group had as many runs as `maxParallel` allows, until the due time was too old to run.',
    next: 'Too old means the same as for `concurrencyLimit`.',
    remedy:
      'Raise `maxParallel`, shorten long handlers, or raise `priority`. `waitedForGroupMs` of other runs shows how long they waited.',
  },
  paused: {
    of: ['paused'],
    meaning: 'The job was paused.',
    next: 'A pause by `cronlease` follows `pauseAfterFailures` failed runs.',
    remedy:
      'Resume the job once the reason in the note is gone. `cronlease resume` lists the due times that did not run. Run the needed ones again.',
  },
  disabled: {
    of: ['disabled'],
    meaning: 'The job is disabled in the jobs file.',
    remedy: 'Nothing, or set `enabled` to `true` and deploy the file.',
  },
  scheduleChanged: {
    of: ['disabled'],
    meaning: 'The schedule was changed before the due time was decided, or was not yet this one.',
  },
  notInFile: {
    of: ['disabled'],
    meaning: "No deployment's jobs file contained the job before the due time was decided.",
  },
};

interface OpenGuidance extends Guidance {
  readonly of: OpenStanding;
}

/** The reasons of due times without an outcome, and of instants that are not due. */
export const OPEN_GUIDE: Readonly<Record<Exclude<StandingReason, Reason> | 'notInFile', OpenGuidance>> = {
  attemptRunning: { of: 'running', meaning: 'The handler has been called.' },
  waitsForGroup: {
    of: 'running',
    meaning: 'It waits for a place in its `group`, in which `maxParallel` other runs are in progress.',
    next: 'The handler is called once it has a place.',
    remedy: '`cronlease why` names the other runs. Cancel one that takes too long.',
  },
  claimed: {
    of: 'running',
    meaning: 'It was claimed ahead of its due time.',
    next: 'The handler is called at that time.',
  },
  fanningOut: { of: 'running', meaning: 'Its items or orchestration are running.' },
  takeOverDue: {
    of: 'retrying',
    meaning: 'The instance that ran it died or lost its lease.',
    next: 'The next tick takes the run over, within about 15 s.',
    remedy: 'Look again in a minute. If nothing has changed, see `claimDue`.',
  },
  backOff: { of: 'retrying', meaning: 'The last attempt has ended, and the next one waits for its back-off.' },
  resumeDue: {
    of: 'retrying',
    meaning: 'The instance that ran it was shut down.',
    next: 'The next tick resumes the run.',
    remedy: 'See `takeOverDue`.',
  },
  claimDue: {
    of: 'pending',
    meaning: 'The next tick claims it, usually within 20 s.',
    next: 'After 30 s it counts as missed, and `catchUp` decides. Manual runs and missed due times can wait up to 2 minutes.',
    remedy:
      'If it takes longer, follow `cronlease doctor`. One deployment must be live, not cordoned, with a proven task hub and this job in its file.',
  },
  catchUp: { of: 'pending', meaning: 'It was missed, and the next tick runs it because of `catchUp`.' },
  queued: { of: 'pending', meaning: 'It passed during a run and runs right after it, because of `overlap`.' },
  waitsForRun: {
    of: 'pending',
    meaning: 'It is decided when the current run is over.',
    next: 'It passed before that run, while no instance was at work on it, or during a back-filled run.',
  },
  waitsForOlder: { of: 'pending', meaning: 'An older due time runs first.' },
  waitsForRequired: {
    of: 'pending',
    meaning: 'It waits for a success of a job that it requires.',
    next: 'It starts within seconds of that success, or expires after `requireWithin`.',
    remedy: '`cronlease why` names the required job. Fix it and run it.',
  },
  requested: {
    of: 'pending',
    meaning: 'A person requested it.',
    next: 'It runs as soon as a tick finds the job free.',
  },
  notYetDue: { of: 'future', meaning: 'Its time has not come.' },
  notInSchedule: {
    of: 'notDue',
    meaning: 'The schedule does not contain it.',
    remedy: '`cronlease next JOB` lists the due times. Without `timeZone`, schedules are in UTC.',
  },
  excluded: { of: 'notDue', meaning: 'The schedule contains it, but `between`, `except` or a calendar excludes it.' },
  manualOnly: {
    of: 'notDue',
    meaning: 'The job runs only on request (@manual), and no run was requested at this time.',
  },
  notInFile: { of: 'notDue', meaning: 'The jobs file does not contain this job, so its due times are not known.' },
  leaderJob: {
    of: 'notDue',
    meaning: 'A leader job (@always) has terms and no due times.',
    next: 'No term began at this time.',
  },
  beforeFirstSeen: {
    of: 'notDue',
    meaning: 'The schedule contains it, but no deployment had seen the job by then.',
    next: 'Due times before that never run.',
  },
  recordGone: {
    of: 'notDue',
    meaning: 'The schedule contains it, but its record is older than `keep`, so its outcome is no longer known.',
  },
  otherSchedule: {
    of: 'notDue',
    meaning: 'The schedule contains it, but another schedule was in force at that time.',
    next: 'The ledger has no record of it.',
  },
};

/** States of jobs and deployments, and alerts, by the name that lists, logs and alert rules give them. */
export const TROUBLE_GUIDE = {
  overdue: {
    meaning: 'The job has had no success for longer than its `alertAfter`.',
    next: 'The alert clears at the next success, and is off while the job is paused.',
    remedy: 'Follow the reason of its last outcome. Without any outcome, see `claimDue`.',
  },
  unreadable: {
    meaning: "Something other than cronlease, or a newer version, wrote the job's data.",
    next: 'No deployment runs the job.',
    remedy:
      "Follow `cronlease doctor` for the blob that the message names. Do not delete a job's blob without need, because its fencing tokens could start again.",
  },
  'take-overs': {
    meaning: 'Instances die during runs more often than deployments and scaling explain.',
    next: 'Each take-over repeats a handler.',
    remedy:
      "Look for restarts, lack of memory and blocked event loops. The event `takenOver` names jobs and deployments. Give the app more memory, raise the job's `lease`, or see `eventLoopBlocked`.",
  },
  trouble: {
    meaning:
      'A deployment logs `unhealthy`, because storage or its task hub does not answer, something else has written a blob, or its jobs file is too old.',
    next: 'The other deployments run the jobs. Without any, due times wait, and `catchUp` decides afterwards.',
    remedy: 'Follow `cronlease doctor`, and `reason` in the line.',
  },
  overloaded: {
    meaning: 'Most runs start more than 5 s late, because the process lacks CPU time or storage is slow.',
    remedy: 'Give the instances more CPU, distribute the jobs over several storage accounts, or set `spread`.',
  },
  'clock-skew': {
    meaning: "The clock of a deployment is more than 2 s off the storage service's.",
    next: 'The deployment compensates, so nothing runs twice.',
    remedy:
      "Correct the machine's clock. On Azure, restart the app; if that does not help, ask the platform's support.",
  },
  silent: {
    meaning: 'A deployment has not reported a tick for 2 minutes.',
    next: 'The alert comes after 10 minutes without a tick in the logs.',
    remedy:
      'Start the app, or deploy the last version that ran. If `cronlease status` shows a newer tick, only the logs are missing.',
  },
  unhealthy: {
    meaning: 'The health check does not answer 200 to callers from several places.',
    next: 'The instance has trouble, or no instance of the app has ticked for 2 minutes.',
    remedy: 'Read the newest `unhealthy` line of that app, and check whether the app can be reached. See `trouble`.',
  },
} as const satisfies Readonly<Record<string, Guidance>>;

interface ErrorGuidance extends Guidance {
  /** The codes in answers of the HTTP API and of the dashboard; of `refused`, those that no other entry has. */
  readonly codes: readonly string[];
}

export const ERROR_GUIDE: Readonly<Record<string, ErrorGuidance>> = {
  unreachable: {
    codes: ['Unreachable'],
    meaning: 'The app that serves the page does not answer.',
    next: 'The page tries again by itself.',
    remedy: 'Open the page of another deployment, and see `silent`. `cronlease status` needs only storage.',
  },
  notAuthenticated: {
    codes: ['NotAuthenticated', 'WrongKey'],
    meaning: 'Your login has ended, or the key is wrong or no longer in `CRONLEASE_API_KEYS`.',
    remedy: 'Log in again, or use a key that is in the setting.',
  },
  notAllowed: {
    codes: ['NoRole', 'RoleTooLow', 'ReadOnly', 'NotFromHere'],
    meaning: 'You have no role, your role is too low, the app is read-only, or the request came from another site.',
    remedy:
      "Ask for the role that the message names. The dashboard's header shows yours. The command line uses your rights to storage instead.",
  },
  changed: {
    codes: ['Changed'],
    meaning: 'Another person changed this job after you read it.',
    next: 'Your change was not made.',
    remedy: 'Read the job and the changes in the dashboard, and decide again.',
  },
  storageAway: {
    codes: ['NotRecorded', 'StoreUnavailable', 'StoreDenied', 'StoreLimit'],
    meaning: 'Storage did not answer, refused the app, or a change could not be recorded.',
    next: 'The change may or may not have been made.',
    remedy:
      'Read the changes in the dashboard and the job before you repeat it. `cronlease doctor` names a missing role. See `trouble`.',
  },
  foreignBlob: {
    codes: ['ForeignMetadata', 'ForeignRecord'],
    meaning: 'Something other than cronlease, or a newer version, wrote a blob that this answer needs.',
    remedy: 'The message names the blob. See `unreadable`.',
  },
  unhealthy: { codes: ['Unhealthy'], ...TROUBLE_GUIDE.unhealthy },
  bug: {
    codes: ['Bug', 'NoProblem'],
    meaning: 'The app failed to answer because of an error in its own code.',
    remedy: 'The log of the app contains the request and the error. Use the command line, and report the error.',
  },
  refused: {
    codes: [],
    meaning: 'The request does not fit the state of the job, run or deployment, or is not valid.',
    next: 'Nothing was changed.',
    remedy: 'Follow the remedy in the message. Often another person was faster.',
  },
};

/** Guidance in one text, with names in double quotes instead of backticks. */
export function guidanceText({ meaning, next }: Guidance): string {
  return (next === undefined ? meaning : `${meaning} ${next}`).replaceAll('`', '"');
}

/** The names of outcomes, states, triggers and events that are not words already. */
const WORDS: Readonly<Record<string, string>> = {
  timedOut: 'timed out',
  takenOver: 'taken over',
  fannedOut: 'fanned out',
  clockSkew: 'clock skew',
  onTime: 'on time',
  catchUp: 'catch-up',
  takeOver: 'take-over',
  manual: 'manual run',
  backfill: 'back-fill',
};

export function wordOf(name: string): string {
  return WORDS[name] ?? name;
}

/** What a reason means, as the end of a sentence without its stop. */
export function reasonText(reason: string): string {
  const guides: Readonly<Record<string, Guidance>> = REASON_GUIDE;
  const [first = '', ...rest] = (guides[reason]?.meaning ?? reason).replaceAll('`', '"').replace(/\.$/, '');
  return first.toLowerCase() + rest.join('');
}
