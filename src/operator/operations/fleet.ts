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
import type { LeaseStore } from '../../lease/store';
import type { Cordoned } from '../../manage/schema/about';
import { type Acting, operate } from '../audit';
import { changeRecord, checkNote } from '../change-control';
import { deploymentsOf } from '../views/deployments';
import { OperatorError } from '../operator-error';

/**
 * Cordons a deployment: within one sweep interval it claims nothing new. What it runs continues, retries included.
 * Throws `OperatorError` `UnknownDeployment`, `AlreadyCordoned`, `NoteTooLong`, `ControlFull`, `Contended`.
 *
 * @param by default: the actor
 */
export function cordon(acting: Acting, deployment: string, by = acting.origin.actor): Promise<Cordoned> {
  const { store, origin } = acting;
  const { note = '' } = origin;
  return operate(acting, 'cordon', deployment, async () => {
    checkNote({ by, note });
    await assertKnown(store, deployment);
    return changeFleet(store, (fleet, now) => {
      const known = cordonOf(fleet, deployment);
      if (known !== undefined) {
        const since = new Date(known.since).toISOString();
        const message = `deployment "${deployment}" has been cordoned since ${since} by ${known.by}: ${known.note}`;
        throw new OperatorError('AlreadyCordoned', message);
      }
      const made: Cordon = { deployment, by, note, since: now };
      const result = { answer: { deployment, cordon: shown(made) }, after: shown(made) };
      return { fleet: { ...fleet, cordons: [...fleet.cordons, made] }, result };
    });
  });
}

/** Lifts a cordon, even if its deployment no longer exists. Throws `OperatorError` `NotCordoned`, `Contended`. */
export function uncordon(acting: Acting, deployment: string): Promise<Cordoned> {
  return operate(acting, 'uncordon', deployment, () =>
    changeFleet(acting.store, (fleet) => {
      const lifted = cordonOf(fleet, deployment);
      if (lifted === undefined) throw new OperatorError('NotCordoned', `deployment "${deployment}" is not cordoned`);
      const cordons = fleet.cordons.filter((other) => other !== lifted);
      const result = { answer: { deployment, cordon: shown(lifted) }, before: shown(lifted), after: null };
      return { fleet: { ...fleet, cordons }, result };
    }),
  );
}

function shown({ by, note, since }: Cordon): Cordoned['cordon'] {
  return { by, note, since: isoOf(since) };
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
 * `until`. Throws `OperatorError` `NoteTooLong`, `ControlFull`, `Contended`.
 */
export async function startMaintenance(
  store: LeaseStore,
  { by, note, until, jobs }: Omit<Maintenance, 'since'>,
): Promise<Maintenance> {
  checkNote({ by, note });
  return changeFleet(store, (fleet, now) => {
    const maintenance: Maintenance = { by, note, since: now, until, jobs };
    return {
      fleet: { ...fleet, maintenance: [...maintenanceAt(fleet, now), maintenance] },
      result: maintenance,
    };
  });
}

/** Whether a notice of planned work for these jobs is shown. */
export async function isPlanned(store: LeaseStore, jobs: string): Promise<boolean> {
  const { fleet, now } = await readFleet(store);
  return maintenanceAt(fleet, now).some((one) => one.jobs === jobs);
}

/** Ends the notices of planned work for these jobs, as the operator chose them, and returns those that it ended. */
export function endMaintenance(store: LeaseStore, jobs: string): Promise<readonly Maintenance[]> {
  return changeFleet(store, (fleet, now) => {
    const current = maintenanceAt(fleet, now);
    const ended = current.filter((one) => one.jobs === jobs);
    if (ended.length === 0) return { fleet: undefined, result: ended };
    return { fleet: { ...fleet, maintenance: current.filter((one) => one.jobs !== jobs) }, result: ended };
  });
}

/** Changes the fleet's control. `change` gets the fleet and the storage service's time; undefined: write nothing. */
function changeFleet<Result>(
  store: LeaseStore,
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
    read: () => readFleet(store),
  };
  return changeRecord(store, record, ({ fleet: before, now }) => {
    const { fleet, result } = change(before, now);
    return Promise.resolve({ metadata: fleet && encodeFleet(fleet), result });
  });
}

async function readFleet(
  store: LeaseStore,
): Promise<{ readonly fleet: Fleet; readonly now: EpochMs; readonly controlEtag: ETag | undefined }> {
  const { control, date } = await store.readControl(FLEET);
  const fleet = control === undefined ? NO_FLEET : decodeFleet(control.metadata);
  return { fleet, now: date, controlEtag: control?.etag };
}

async function assertKnown(store: LeaseStore, deployment: string): Promise<void> {
  const { deployments } = deploymentsOf(await store.listPresences());
  const known = deployments.map(({ name }) => name);
  if (known.includes(deployment)) return;
  const meant = nearest(deployment, known);
  const hint = meant === undefined ? '' : ` Did you mean "${meant}"?`;
  const list = known.length === 0 ? 'None has reported a tick in the last week.' : `Known: ${known.join(', ')}.`;
  const message = `there is no deployment ${JSON.stringify(deployment)} in ${store.location}.${hint} ${list}`;
  throw new OperatorError('UnknownDeployment', message);
}
