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
import type { CallOptions, LeaseStore } from '../../lease/store';
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
  return changeFleet(
    store,
    (fleet, now) => {
      const known = cordonOf(fleet, deployment);
      if (known !== undefined) {
        const since = new Date(known.since).toISOString();
        const message = `deployment "${deployment}" has been cordoned since ${since} by ${known.by}: ${known.note}`;
        throw new OperatorError('AlreadyCordoned', message);
      }
      const cordon: Cordon = { deployment, by, note, since: now };
      return { fleet: { ...fleet, cordons: [...fleet.cordons, cordon] }, result: cordon };
    },
    options,
  );
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
  return changeFleet(
    store,
    (fleet) => {
      const cordon = cordonOf(fleet, deployment);
      if (cordon === undefined) {
        throw new OperatorError('NotCordoned', `deployment "${deployment}" is not cordoned`);
      }
      return { fleet: { ...fleet, cordons: fleet.cordons.filter((other) => other !== cordon) }, result: cordon };
    },
    options,
  );
}

/** The live deployments that may claim, by name. */
export async function claimingDeployments(store: LeaseStore, options?: CallOptions): Promise<readonly string[]> {
  const [{ control }, presences] = await Promise.all([store.readControl(FLEET, options), store.listPresences(options)]);
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
  return changeFleet(
    store,
    (fleet, now) => {
      const maintenance: Maintenance = { by, note, since: now, until, jobs };
      return {
        fleet: { ...fleet, maintenance: [...maintenanceAt(fleet, now), maintenance] },
        result: maintenance,
      };
    },
    options,
  );
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
  return changeFleet(
    store,
    (fleet, now) => {
      const current = maintenanceAt(fleet, now);
      const ended = current.filter((one) => one.jobs === jobs);
      if (ended.length === 0) return { fleet: undefined, result: ended };
      return { fleet: { ...fleet, maintenance: current.filter((one) => one.jobs !== jobs) }, result: ended };
    },
    options,
  );
}

/** Changes the fleet's control. `change` gets the fleet and the storage service's time; undefined: write nothing. */
function changeFleet<Result>(
  store: LeaseStore,
  change: (fleet: Fleet, now: EpochMs) => { readonly fleet: Fleet | undefined; readonly result: Result },
  options: CallOptions | undefined,
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
  return changeRecord(
    store,
    record,
    ({ fleet: before, now }) => {
      const { fleet, result } = change(before, now);
      return Promise.resolve({ metadata: fleet && encodeFleet(fleet), result });
    },
    options,
  );
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
  throw new OperatorError(
    'UnknownDeployment',
    `there is no deployment ${JSON.stringify(deployment)} in ${store.location}.${hint} ${list}`,
  );
}
