import type { EpochMs } from '../../core/brand';
import { formatDuration } from '../../core/duration';
import { type Cordon, FLEET, NO_FLEET, cordonOf, decodeFleet } from '../../core/fleet';
import type { JobsFile } from '../../core/job';
import { ForeignMetadataError, orForeign } from '../../core/metadata';
import { jobsHash } from '../../core/presence';
import type { ListedControl, Presences } from '../../lease/store';
import { type Deployment, deploymentsOf } from '../views/deployments';
import { type JobList, layoutTroubles } from '../views/list-jobs';
import { type Finding, ok, okAbout, orOk, problem, strayBlobs, warning } from './finding';
import { SKEW_MS } from './storage';

export function checkDeployments(listed: Presences, file: JobsFile | undefined): readonly Finding[] {
  const { deployments, foreign } = deploymentsOf(listed);
  const live = deployments.filter(({ state }) => state !== 'silent');
  return [
    ...foreign.map(({ name, error }) =>
      problem('metadata', `deployments/${name}`, error.message, 'delete it: the deployment writes it again'),
    ),
    ...strayBlobs(listed.strays, 'deployments/'),
    ...checkTicks(deployments, listed.date),
    ...orOk(live.flatMap(checkName), 'names', 'each deployment has its own name'),
    ...orOk(checkHubs(live), 'hubs', 'each deployment has its own task hub'),
    ...orOk(live.flatMap(checkSkew), 'skew', "the deployments' clocks agree with the service's, within 2 s"),
    ...orOk(live.flatMap(checkLoad), 'load', 'no deployment is overloaded'),
    ...orOk(checkVersions(live, file), 'versions', 'the deployments run one version and one jobs file'),
  ];
}

function checkTicks(deployments: readonly Deployment[], now: EpochMs): readonly Finding[] {
  if (deployments.length === 0) {
    const remedy = 'deploy one, or start one that is stopped';
    return [warning('deployments', null, 'none has reported a tick in the last week', remedy)];
  }
  return deployments.map((deployment) => {
    const { name, tickedAt, version, revision, hub, state } = deployment;
    const ago = formatDuration(Math.max(0, Math.floor((now - tickedAt) / 1000) * 1000));
    const facts = `cronlease ${version}, revision ${revision}${hub === undefined ? '' : `, task hub ${hub}`}`;
    if (state === 'live') return okAbout('deployments', name, `reported a tick ${ago} ago: ${facts}`);
    const remedy = 'start it; if it is gone permanently, this warning disappears a week after its last tick';
    return warning('deployments', name, `is ${state}, because it has not reported a tick for ${ago}: ${facts}`, remedy);
  });
}

function checkName({ name, hub, instance, rival }: Deployment): readonly Finding[] {
  if (rival === undefined) return [];
  const where = rival.hub === hub ? '' : `, one of them with task hub ${rival.hub ?? 'unknown'}`;
  const message = `two processes tick under this name, ${instance} and ${rival.instance}${where}`;
  const remedy =
    'give each deployment its own CRONLEASE_DEPLOYMENT, and each app that shares a host storage account its own ' +
    'AzureFunctionsWebHost__hostid';
  return [problem('names', name, message, remedy)];
}

function checkHubs(live: readonly Deployment[]): readonly Finding[] {
  return [...groups(live, ({ hub }) => hub)]
    .filter(([, sharers]) => sharers.length > 1)
    .map(([hub, sharers]) => {
      const subject = sharers.map(({ name }) => name).join(', ');
      const remedy =
        'give each deployment its own TASKHUB_NAME, and "extensions.durableTask.hubName": "%TASKHUB_NAME%" in ' +
        'host.json; or give each its own host storage account';
      const message = `share task hub ${hub}: an attempt may run in the other app, with its code`;
      return problem('hubs', subject, message, remedy);
    });
}

function checkSkew({ name, skewMs }: Deployment): readonly Finding[] {
  if (Math.abs(skewMs) <= SKEW_MS) return [];
  const size = formatDuration(Math.round(Math.abs(skewMs) / 1000) * 1000);
  const message = `its clock is ${size} ${skewMs > 0 ? 'ahead of' : 'behind'} the service's, and the deployment corrects it`;
  return [warning('skew', name, message, 'correct the clock of its machine')];
}

const SHORT_OF = {
  cpu: ['its process has no CPU time left', 'give its instances more CPU, or let the platform run more of them'],
  storage: ['storage answers its writes slowly', 'distribute the jobs over several storage accounts'],
} as const;

function checkLoad({ name, shortOf }: Deployment): readonly Finding[] {
  if (shortOf === undefined) return [];
  const [cause, remedy] = SHORT_OF[shortOf];
  return [warning('load', name, `most of its runs start late, because ${cause}`, remedy)];
}

function checkVersions(live: readonly Deployment[], file: JobsFile | undefined): readonly Finding[] {
  const mixed = (what: string, found: ReturnType<typeof groups>): readonly Finding[] => {
    if (found.size < 2) return [];
    const each = [...found].map(([one, who]) => `${one} (${names(who)})`).join(', ');
    return [warning('versions', null, `they run ${what} ${each}`, 'finish the rollout, or wait until it is done')];
  };
  const revisions = groups(live, ({ revision }) => String(revision));
  const versions = groups(live, ({ version }) => version);
  const findings = [...mixed('cronlease', versions), ...mixed('revisions', revisions)];
  for (const [revision, who] of revisions) {
    if (new Set(who.map(({ jobs }) => jobs)).size > 1) {
      const message = `${names(who)} run different jobs files, which have the same revision ${revision}`;
      findings.push(warning('versions', null, message, 'raise "revision" in the jobs file with each change'));
    }
  }
  if (file !== undefined) findings.push(...checkFile(live, file));
  return findings;
}

function checkFile(live: readonly Deployment[], file: JobsFile): readonly Finding[] {
  const hash = jobsHash(file.jobs);
  const others = live.filter(({ jobs }) => jobs !== hash);
  if (others.length === 0) return [];
  const newer = others.some(({ revision }) => revision > file.revision);
  const remedy = newer ? 'run this command with the newer file' : 'deploy this file, if it should be in use';
  return [warning('versions', null, `${names(others)} run another jobs file than this one`, remedy)];
}

function names(deployments: readonly Deployment[]): string {
  return deployments.map(({ name }) => name).join(' and ');
}

function groups(
  deployments: readonly Deployment[],
  by: (deployment: Deployment) => string | undefined,
): ReadonlyMap<string, readonly Deployment[]> {
  const found = Map.groupBy(deployments, by);
  found.delete(undefined);
  return found as ReadonlyMap<string, readonly Deployment[]>;
}

export function checkCordons(listed: ListedControl | undefined, presences: Presences): readonly Finding[] {
  const fleet = listed === undefined ? NO_FLEET : orForeign(() => decodeFleet(listed.metadata));
  if (fleet instanceof ForeignMetadataError) {
    const remedy = 'delete it, which lifts every cordon; "cronlease cordon" sets them again';
    return [problem('metadata', `jobs/${FLEET}/control`, fleet.message, remedy)];
  }
  const { deployments } = deploymentsOf(presences);
  if (fleet.cordons.length === 0) return [ok('cordons', 'no deployment is cordoned')];
  const live = deployments.filter(({ state }) => state !== 'silent');
  const isStill = live.length > 0 && live.every(({ name }) => cordonOf(fleet, name) !== undefined);
  const all = isStill
    ? [warning('cordons', null, 'every live deployment is cordoned: nothing runs', 'uncordon one, or start another')]
    : [];
  return [...all, ...fleet.cordons.map((cordon) => oneCordon(cordon, deployments))];
}

function oneCordon({ deployment, by, note, since }: Cordon, deployments: readonly Deployment[]): Finding {
  const about = `since ${new Date(since).toISOString()} by ${by}: ${note}`;
  const isKnown = deployments.some(({ name }) => name === deployment);
  const what = isKnown ? 'claims nothing new' : 'is cordoned and has not ticked in the last week';
  const remedy = `lift the cordon when it is no longer needed: cronlease uncordon ${deployment}`;
  return warning('cordons', deployment, `${what}, ${about}`, remedy);
}

export function checkLayouts(
  location: string,
  { layouts, missing }: Pick<JobList, 'layouts' | 'missing'>,
  presences: Presences,
): readonly Finding[] {
  const here = layouts.accounts?.length ?? 1;
  const other = deploymentsOf(presences).deployments.filter(({ lately, accounts = 1 }) => lately && accounts !== here);
  const found = [
    ...missing.map((account) => problem('accounts', account.location, account.reason, 'its jobs do not run: check it')),
    ...layoutTroubles(location, layouts).map(({ reason, isForeign }) => {
      const remedy = isForeign
        ? 'find out what wrote it, and run "cronlease shards --repair", or POST api/manage/layout/repair'
        : 'see "cronlease shards", and set CRONLEASE_SHARDS';
      return problem('accounts', null, `${reason}: nothing is claimed there`, remedy);
    }),
    ...other.map(({ name, accounts = 1 }) => {
      const message = `distributes its jobs over ${accounts} account(s), but this list has ${here}`;
      return problem('accounts', name, message, 'give all deployments, and this command, the same CRONLEASE_SHARDS');
    }),
  ];
  if (found.length > 0 || here === 1) return found;
  return [ok('accounts', `the jobs are distributed over ${here} accounts, whose layouts fit`)];
}
