import { formatDuration } from '../../core/duration';
import { StoreDeniedError } from '../../lease/store';
import type { Trial, TrialStep } from '../../lease/trial';
import type { Finding } from './finding';
import { ok, problem, warning } from './finding';

/** Instances correct a clock that differs from the service's by more than this. */
export const SKEW_MS = 2_000;

const ACTIONS: Readonly<Record<TrialStep, string>> = {
  list: 'list blobs',
  read: 'read blobs',
  create: 'create blobs',
  lease: 'lease blobs',
  write: 'write metadata under a lease',
  release: 'release leases',
  delete: 'delete blobs',
};

/** Checks storage itself: whether it answers, this caller's permissions, and settings that cost money. */
export function checkStorage(location: string, trial: Trial): readonly Finding[] {
  const unreachable = trial.failures.get('list');
  if (unreachable?.code === 'StoreUnavailable') {
    return [
      problem('storage', null, unreachable.message, 'check the network, the firewall of the account, and --storage'),
    ];
  }
  const locked = lockedOut(location, trial);
  if (locked !== undefined) return [locked];
  if (trial.container === 'missing') {
    const message = `${location} answers, but there is no such container`;
    return [
      problem('storage', null, message, 'start a deployment, which creates it, or check --container'),
      clock(trial),
    ];
  }
  const took = trial.answeredInMs === undefined ? '' : ` in ${Math.round(trial.answeredInMs)} ms`;
  return [ok('storage', `${location} answers${took}`), clock(trial), permissions(trial), versioning(trial)];
}

/** A reason that keeps this caller out regardless of its roles. */
function lockedOut(location: string, { failures, caller, remedies }: Trial): Finding | undefined {
  const refused = failures.get('list');
  if (!(refused instanceof StoreDeniedError)) return undefined;
  if (refused.why === 'noToken') {
    return problem(
      'storage',
      null,
      `${location} accepts only identities, and nobody is signed in here`,
      remedies.noToken,
    );
  }
  if (caller === undefined) return undefined;
  if (refused.why === 'network') {
    return problem(
      'storage',
      null,
      `${location} refuses ${caller.name} because of the network that the call comes from`,
      remedies.network,
    );
  }
  if (refused.why === 'credentials') {
    return problem(
      'storage',
      null,
      `${location} does not accept ${caller.name} of ${caller.realm}`,
      remedies.credentials,
    );
  }
  return undefined;
}

function clock({ skewMs }: Trial): Finding {
  if (skewMs === undefined) {
    return warning(
      'clock',
      null,
      'the time of storage is unknown',
      'correct the permissions first, then run this command again',
    );
  }
  if (Math.abs(skewMs) <= SKEW_MS) return ok('clock', "this machine's clock and the service's agree, within 2 s");
  const direction = skewMs > 0 ? 'ahead of' : 'behind';
  return warning(
    'clock',
    null,
    `this machine's clock is ${formatDuration(Math.round(Math.abs(skewMs) / 1000) * 1000)} ${direction} the service's`,
    'correct it if an instance runs here: until an instance has measured the difference, it may start runs early or ' +
      'late',
  );
}

function permissions({ failures, untried, left, caller, remedies }: Trial): Finding {
  const missing = [...failures.keys()];
  if (missing.length === 0) return ok('permissions', 'may list, read, create, lease, write and delete blobs');
  const [first] = failures.values();
  const names = missing.map((step) => ACTIONS[step]).join(', ');
  const rest =
    untried.length === 0 ? '' : ` (not tried because of that: ${untried.map((step) => ACTIONS[step]).join(', ')})`;
  const trace = left === undefined ? '' : `; the blob ${left} remains`;
  const denied = `may not ${names}${rest}${trace}`;
  if (caller === undefined) {
    return problem('permissions', null, `${denied}: ${first?.message ?? ''}`, remedies.role);
  }
  const message = `${caller.name} ${denied}`;
  // A caller who can read has come this far. The presences show that the deployments themselves can write.
  if (!missing.includes('list') && !missing.includes('read')) {
    return warning('permissions', null, `${message}: it can read, but not change anything`, remedies.role);
  }
  return problem('permissions', null, message, remedies.role);
}

function versioning({ versioned, failures, remedies }: Trial): Finding {
  if (versioned) {
    return warning(
      'versioning',
      null,
      'the account keeps a version of a blob at each write of a row or record',
      remedies.versions,
    );
  }
  if (failures.has('create')) {
    return warning('versioning', null, 'is unknown, because no blob could be created', 'correct the permissions first');
  }
  return ok('versioning', 'the account keeps no versions');
}
