import { nearest } from '../../config/suggest';
import type { EpochMs, ETag } from '../../core/brand';
import {
  type Cordon,
  FLEET,
  type Fleet,
  type Maintenance,
  NO_FLEET,
  cordonOf,
  decodeFleet,
  encodeFleet,
  maintenanceAt,
} from '../../core/fleet';
import { isoOf } from '../../core/iso';
import type { CallOptions, LeaseStore } from '../../lease/store';
import type { Cordoned } from '../../manage/schema/about';
import { type Acting, operate } from '../audit';
import { changeRecord } from '../change-record';
import { deploymentsOf } from '../views/deployments';
import { checkNote } from '../change-control';
import { OperatorError } from '../operator-error';

/**
 * Cordons a deployment: within one sweep interval it claims nothing new. What it runs continues, retries included.
 *
 * @throws OperatorError `UnknownDeployment`, `AlreadyCordoned`, `NoteTooLong`, `ControlFull`, `Contended`
 */
export async function cordonDeployment(
  store: LeaseStore,
  deployment: string,
  { by, note }: Pick<Cordon, 'by' | 'note'>,
  options?: CallOptions,
): Promise<Cordon> {
  checkNote({ by, note });
  await assertKnown(store, deployment, options);
  return changeFleet(store, options, (fleet, now) => {
    const known = cordonOf(fleet, deployment);
    if (known !== undefined) {
      const since = new Date(known.since).toISOString();
      const message = `deployment "${deployment}" has been cordoned since ${since} by ${known.by}: ${known.note}`;
      throw new OperatorError('AlreadyCordoned', message);
    }
    const cordon: Cordon = { deployment, by, note, since: now };
    return { fleet: { ...fleet, cordons: [...fleet.cordons, cordon] }, result: cordon };
  });
}

/**
 * Lifts a deployment's cordon, whether or not the deployment still exists.
 *
 * @returns the cordon that was lifted
 * @throws OperatorError `NotCordoned`, `Contended`
 */
export async function uncordonDeployment(
  store: LeaseStore,
  deployment: string,
  options?: CallOptions,
): Promise<Cordon> {
  return changeFleet(store, options, (fleet) => {
    const cordon = cordonOf(fleet, deployment);
    if (cordon === undefined) {
      throw new OperatorError('NotCordoned', `deployment "${deployment}" is not cordoned`);
    }
    return { fleet: { ...fleet, cordons: fleet.cordons.filter((other) => other !== cordon) }, result: cordon };
  });
}

/** The live deployments that may claim, by name. */
export async function claimingDeployments(store: LeaseStore): Promise<readonly string[]> {
  const [{ control }, presences] = await Promise.all([store.readControl(FLEET), store.listPresences()]);
  const fleet = control === undefined ? NO_FLEET : decodeFleet(control.metadata);
  return deploymentsOf(presences)
    .deployments.filter(({ name, state }) => state !== 'silent' && cordonOf(fleet, name) === undefined)
    .map(({ name }) => name)
    .sort();
}

/**
 * Shows a notice of planned work to all. It pauses nothing: that is up to `pauseJob` for each job, with the same
 * `until`.
 *
 * @throws OperatorError `NoteTooLong`, `ControlFull`, `Contended`
 */
export async function startMaintenance(
  store: LeaseStore,
  { by, note, until, jobs }: Omit<Maintenance, 'since'>,
  options?: CallOptions,
): Promise<Maintenance> {
  checkNote({ by, note });
  return changeFleet(store, options, (fleet, now) => {
    const maintenance: Maintenance = { by, note, since: now, until, jobs };
    return {
      fleet: { ...fleet, maintenance: [...maintenanceAt(fleet, now), maintenance] },
      result: maintenance,
    };
  });
}

/** Whether a notice of planned work for these jobs is shown. */
export async function isPlanned(store: LeaseStore, jobs: string, options?: CallOptions): Promise<boolean> {
  const { fleet, now } = await readFleet(store, options);
  return maintenanceAt(fleet, now).some((one) => one.jobs === jobs);
}

/**
 * Ends every notice of planned work for these jobs, as the operator chose them.
 *
 * @returns the notices that were ended, if there were any
 */
export function endMaintenance(
  store: LeaseStore,
  jobs: string,
  options?: CallOptions,
): Promise<readonly Maintenance[]> {
  return changeFleet(store, options, (fleet, now) => {
    const current = maintenanceAt(fleet, now);
    const ended = current.filter((one) => one.jobs === jobs);
    if (ended.length === 0) return { fleet: undefined, result: ended };
    return { fleet: { ...fleet, maintenance: current.filter((one) => one.jobs !== jobs) }, result: ended };
  });
}

/** Changes the fleet's control. `change` gets the fleet and the storage service's time; undefined: write nothing. */
function changeFleet<Result>(
  store: LeaseStore,
  options: CallOptions | undefined,
  change: (fleet: Fleet, now: EpochMs) => { readonly fleet: Fleet | undefined; readonly result: Result },
): Promise<Result> {
  const record = {
    name: FLEET,
    title: 'the record of cordons and planned work',
    full: {
      holds: 'notes',
      remedy:
        'Lift the cordons of deployments that are gone, resume jobs whose planned work is over, or use a shorter note.',
    },
    read: () => readFleet(store, options),
  };
  return changeRecord(store, record, options, ({ fleet: before, now }) => {
    const { fleet, result } = change(before, now);
    return Promise.resolve({ metadata: fleet && encodeFleet(fleet), result });
  });
}

async function readFleet(
  store: LeaseStore,
  options: CallOptions | undefined,
): Promise<{ readonly fleet: Fleet; readonly now: EpochMs; readonly controlEtag: ETag | undefined }> {
  const { control, date } = await store.readControl(FLEET, options);
  const fleet = control === undefined ? NO_FLEET : decodeFleet(control.metadata);
  return { fleet, now: date, controlEtag: control?.etag };
}

async function assertKnown(store: LeaseStore, deployment: string, options: CallOptions | undefined): Promise<void> {
  const { deployments } = deploymentsOf(await store.listPresences(options));
  const known = deployments.map(({ name }) => name);
  if (known.includes(deployment)) return;
  const meant = nearest(deployment, known);
  const hint = meant === undefined ? '' : ` Did you mean "${meant}"?`;
  const list = known.length === 0 ? 'None has reported a tick in the last week.' : `Known: ${known.join(', ')}.`;
  const message = `there is no deployment ${JSON.stringify(deployment)} in ${store.location}.${hint} ${list}`;
  throw new OperatorError('UnknownDeployment', message);
}

/**
 * Cordons a deployment: see `cordonDeployment`.
 *
 * @param by default: the actor
 */
export function cordon(acting: Acting, deployment: string, by = acting.origin.actor): Promise<Cordoned> {
  return operate(acting, 'cordon', deployment, async () => {
    const { note = '' } = acting.origin;
    const made = shown(await cordonDeployment(acting.store, deployment, { by, note }, acting));
    return { answer: { deployment, cordon: made }, after: made };
  });
}

export function uncordon(acting: Acting, deployment: string): Promise<Cordoned> {
  return operate(acting, 'uncordon', deployment, async () => {
    const lifted = shown(await uncordonDeployment(acting.store, deployment, acting));
    return { answer: { deployment, cordon: lifted }, before: lifted, after: null };
  });
}

function shown({ by, note, since }: Cordon): Cordoned['cordon'] {
  return { by, note, since: isoOf(since) };
}
