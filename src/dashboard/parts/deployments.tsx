import { pageOf } from '../data/address';
import type { Deployment } from '../data/model';
import { Ago, Badge, Link } from './parts';
import { duration } from '../data/time';
import type { Label } from '../data/words';

const LIVE: Label = { word: 'Live', icon: 'check', tone: 'good' };
const LATE: Label = { word: 'Late', icon: 'clock', tone: 'warn' };
const SILENT: Label = { word: 'Silent', icon: 'alert', tone: 'bad' };
const CORDONED: Label = { word: 'Cordoned', icon: 'pause', tone: 'warn' };

export function deploymentLabel({ state, cordon }: Deployment): Label {
  if (state !== 'live') return state === 'late' ? LATE : SILENT;
  return cordon === null ? LIVE : CORDONED;
}

/** Whether another deployment has a newer jobs file. */
export function hasOldFile({ revision }: Deployment, all: readonly Deployment[]): boolean {
  return all.some((other) => other.revision > revision);
}

export function skewText(skewMs: number): string {
  return `${duration(Math.abs(skewMs))} ${skewMs > 0 ? 'ahead' : 'behind'}`;
}

export const SHORT_OF = { cpu: 'it has no CPU time left', storage: 'storage answers slowly' } as const;

/** With more deployments, those in trouble come first, and the others are counted. */
const SHOWN = 5;

function isWell(deployment: Deployment, all: readonly Deployment[]): boolean {
  const { state, cordon, skewMs, hubProven, shortOf } = deployment;
  const works = state === 'live' && cordon === null && skewMs === 0 && hubProven && shortOf === null;
  return works && !hasOldFile(deployment, all);
}

function restOf(all: readonly Deployment[], shown: readonly Deployment[]): string {
  const bad = all.filter((one) => !shown.includes(one) && !isWell(one, all)).length;
  return bad === 0 ? 'the others are healthy' : `${String(bad)} more in trouble`;
}

/** The deployments on one line, each with its problems. */
export function Deployments({ deployments }: { readonly deployments: readonly Deployment[] }) {
  if (deployments.length === 0) {
    return <p class="deployments muted">No deployment has reported a tick in the last week, so nothing runs.</p>;
  }
  const byTrouble = deployments.toSorted((a, b) => Number(isWell(a, deployments)) - Number(isWell(b, deployments)));
  const shown = deployments.length <= SHOWN ? deployments : byTrouble.slice(0, SHOWN - 1);
  return (
    <ul class="deployments" aria-label="Deployments">
      {shown.map((deployment) => (
        <Card key={deployment.name} deployment={deployment} isOld={hasOldFile(deployment, deployments)} />
      ))}
      {shown.length < deployments.length && (
        <li>
          <Link href={pageOf({ view: 'deployments' })}>All {deployments.length} deployments</Link>
          <span class="second">{restOf(deployments, shown)}</span>
        </li>
      )}
    </ul>
  );
}

function Card({ deployment, isOld }: { readonly deployment: Deployment; readonly isOld: boolean }) {
  const { name, tickedAt, version, skewMs, hubProven, shortOf, cordon } = deployment;
  const warnings = [
    ...(skewMs === 0 ? [] : [`clock ${skewText(skewMs)}`]),
    ...(isOld ? ['older jobs file'] : []),
    ...(!hubProven ? ['its task hub has run nothing yet'] : []),
    ...(shortOf === null ? [] : [`overloaded: ${SHORT_OF[shortOf]}`]),
    ...(cordon === null ? [] : [`cordoned by ${cordon.by}: ${cordon.note}`]),
  ];
  return (
    <li>
      <span class="deployment">
        <Link href={pageOf({ view: 'deployments' })}>
          <b>{name}</b>
        </Link>{' '}
        <Badge label={deploymentLabel(deployment)} />
      </span>
      <span class="second foreign">
        <span class="plain">
          reported <Ago at={tickedAt} zone={null} />, {version}
        </span>
        {warnings.length > 0 && <span class="warn"> {warnings.join(', ')}</span>}
      </span>
    </li>
  );
}
