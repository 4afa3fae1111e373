import { formatDuration } from '../../core/duration';
import { StoreDeniedError, type StoreError } from '../../lease/store';
import type { Trial, TrialStep } from '../../lease/trial';
import { type Finding, ok, orOk, problem, warning } from './finding';

/** Instances correct a clock that differs from the service's by more than this. */
export const SKEW_MS = 2_000;

function actionOf(step: TrialStep, { nouns: { object } }: Trial): string {
  switch (step) {
    case 'write':
      return 'write metadata under a lease';
    case 'release':
      return 'release leases';
    case 'list':
    case 'read':
    case 'create':
    case 'lease':
    case 'delete':
      return `${step} ${object}s`;
  }
}

export function checkStorage(location: string, trial: Trial): readonly Finding[] {
  const unreachable = trial.failures.get('list');
  if (unreachable?.code === 'StoreUnavailable') {
    const remedy = 'check the network, the firewall of the store, and --storage';
    return [problem('storage', null, unreachable.message, remedy)];
  }
  const locked = lockedOut(location, trial);
  if (locked !== undefined) return [problem('storage', null, ...locked)];
  if (trial.container === 'missing') {
    const message = `${location} answers, but there is no such ${trial.nouns.place}`;
    const remedy = 'check --container; an app creates it when it starts, and 75 s after it was deleted';
    return [problem('storage', null, message, remedy), clock(trial)];
  }
  const took = trial.answeredInMs === undefined ? '' : ` in ${Math.round(trial.answeredInMs)} ms`;
  return [
    ok('storage', `${location} answers${took}`),
    clock(trial),
    ...disabled(trial),
    ...permissions(trial),
    ...versioning(trial),
    ...durability(trial),
    ...encryption(trial),
  ];
}

/** A reason that keeps this caller out regardless of its roles. */
function lockedOut(
  location: string,
  { failures, caller, remedies }: Trial,
): readonly [message: string, remedy: string] | undefined {
  const refused = failures.get('list');
  if (!(refused instanceof StoreDeniedError)) return undefined;
  if (refused.why === 'noToken') {
    return [`${location} accepts only identities, and no one is signed in here`, remedies.noToken];
  }
  if (caller === undefined) return undefined;
  if (refused.why === 'network') {
    return [`${location} refuses ${caller.name} because of the network that the call comes from`, remedies.network];
  }
  if (refused.why !== 'credentials') return undefined;
  return [`${location} does not accept ${caller.name} of ${caller.realm}`, remedies.credentials];
}

function clock({ skewMs }: Trial): Finding {
  if (skewMs === undefined) {
    const remedy = 'correct the permissions first, then run this command again';
    return warning('clock', null, 'the time of storage is unknown', remedy);
  }
  if (Math.abs(skewMs) <= SKEW_MS) return ok('clock', "this machine's clock and the service's agree, within 2 s");
  const difference = `${formatDuration(Math.round(Math.abs(skewMs) / 1000) * 1000)} ${skewMs > 0 ? 'ahead of' : 'behind'}`;
  const remedy =
    'correct it if an instance runs here: until an instance has measured the difference, it may start runs early or late';
  return warning('clock', null, `this machine's clock is ${difference} the service's`, remedy);
}

type Failure = readonly [TrialStep, StoreError];

/** The steps that failed, those that were not tried because of that, and what remains. */
function actionsOf(failed: readonly Failure[], trial: Trial): string {
  const { untried, left, nouns } = trial;
  const names = (steps: readonly TrialStep[]): string => steps.map((step) => actionOf(step, trial)).join(', ');
  const rest = untried.length === 0 ? '' : ` (not tried because of that: ${names(untried)})`;
  const trace = left === undefined ? '' : `; the ${nouns.object} ${left} remains`;
  return `${names(failed.map(([step]) => step))}${rest}${trace}`;
}

/** Steps for which no right is missing: the service cannot do them, and its error names the reason and the remedy. */
function disabled(trial: Trial): readonly Finding[] {
  const failed = [...trial.failures].filter(([, error]) => !(error instanceof StoreDeniedError));
  const [first] = failed;
  if (first === undefined) return [];
  const message = `storage answers, but cannot ${actionsOf(failed, trial)}: ${first[1].message}`;
  return [problem('storage', null, message, 'this does not concern rights: do what the message says')];
}

function permissions(trial: Trial): readonly Finding[] {
  const { failures, caller, remedies, nouns } = trial;
  if (failures.size === 0) {
    return [ok('permissions', `may list, read, create, lease, write and delete ${nouns.object}s`)];
  }
  const refused = [...failures].filter(([, error]) => error instanceof StoreDeniedError);
  const [first] = refused;
  if (first === undefined) return [];
  const missing = refused.map(([step]) => step);
  const denied = `may not ${actionsOf(refused, trial)}`;
  if (caller === undefined) {
    return [problem('permissions', null, `${denied}: ${first[1].message}`, remedies.role)];
  }
  const message = `${caller.name} ${denied}`;
  // A caller who can read has come this far. The presences show that the deployments themselves can write.
  if (!missing.includes('list') && !missing.includes('read')) {
    return [warning('permissions', null, `${message}: it can read, but not change anything`, remedies.role)];
  }
  return [problem('permissions', null, message, remedies.role)];
}

function durability({ durability: settings }: Trial): readonly Finding[] {
  if (settings === undefined) return [];
  const found = settings.risks.map(({ isProblem, message, remedy }) =>
    (isProblem ? problem : warning)('durability', null, message, remedy),
  );
  return orOk(found, 'durability', 'the server keeps what it has accepted, and writes it to its files');
}

function encryption({ exposed }: Trial): readonly Finding[] {
  if (exposed === undefined) return [];
  const { message, remedy } = exposed;
  if (message === undefined) return [ok('encryption', 'the connection is encrypted, or stays on this machine')];
  return [warning('encryption', null, `${message} (insecure=allow)`, remedy)];
}

function versioning({ versioned, failures, remedies, nouns: { object } }: Trial): readonly Finding[] {
  if (versioned === undefined) return [];
  if (versioned) {
    const message = `the account keeps a version of a ${object} at each write of a row or record`;
    return [warning('versioning', null, message, remedies.versions)];
  }
  if (failures.has('create')) {
    const message = `is unknown, because no ${object} could be created`;
    return [warning('versioning', null, message, 'correct the permissions first')];
  }
  return [ok('versioning', 'the account keeps no versions')];
}
