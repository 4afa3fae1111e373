import type { JSX } from 'preact';
import { confirm } from './action';
import { cordon as askCordon, uncordon } from './actions';
import { mayAct } from './session';
import type { Deployment } from './model';
import { Ago, Badge } from './parts';
import { duration } from './time';
import type { Look } from './words';

const LIVE: Look = { word: 'Live', icon: 'check', tone: 'good' };
const SILENT: Look = { word: 'Silent', icon: 'alert', tone: 'bad' };
const CORDONED: Look = { word: 'Cordoned', icon: 'pause', tone: 'warn' };

/** The deployments, one card each. */
export function Deployments({ deployments }: { readonly deployments: readonly Deployment[] }): JSX.Element {
  if (deployments.length === 0) {
    return <p class="deployments muted">No deployment has reported a tick in the last week, so that nothing runs.</p>;
  }
  const newest = Math.max(...deployments.map(({ revision }) => revision));
  return (
    <ul class="deployments" aria-label="Deployments">
      {deployments.map((deployment) => (
        <Card key={deployment.name} deployment={deployment} isOld={deployment.revision < newest} />
      ))}
    </ul>
  );
}

function Card({ deployment, isOld }: { readonly deployment: Deployment; readonly isOld: boolean }): JSX.Element {
  const { name, live, tickedAt, version, skewMs, hubProven, cordon } = deployment;
  const warnings = [
    ...(skewMs === 0 ? [] : [`clock ${duration(Math.abs(skewMs))} ${skewMs > 0 ? 'ahead' : 'behind'}`]),
    ...(isOld ? ['older jobs file'] : []),
    ...(hubProven === false ? ['its task hub has run nothing yet'] : []),
    ...(cordon === null ? [] : [`cordoned by ${cordon.by}: ${cordon.note}`]),
  ];
  return (
    <li>
      <span class="deployment">
        <b>{name}</b> <Badge look={!live ? SILENT : cordon === null ? LIVE : CORDONED} />
        {mayAct.value && (
          <button
            type="button"
            class="quiet small-button muted"
            onClick={() => confirm(cordon === null ? askCordon(name) : uncordon(name))}
          >
            {cordon === null ? 'Cordon' : 'Lift cordon'}
          </button>
        )}
      </span>
      <span class="second foreign">
        reported <Ago at={tickedAt} zone={null} />, {version}
        {warnings.length > 0 && <span class="warn"> {warnings.join(', ')}</span>}
      </span>
    </li>
  );
}
