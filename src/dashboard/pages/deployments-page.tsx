import type { ComponentChildren } from 'preact';
import { pathOf } from '../../client/operations';
import { cordon as askCordon, poke, uncordon } from '../data/actions';
import { SHORT_OF, deploymentLabel, hasOldFile, skewText } from '../parts/deployments';
import { Ago, Ask, Badge, Fact, Notice, Time } from '../parts/parts';
import { NotYet, ProblemsNotice } from '../parts/failure-notice';
import { HelpLink } from '../parts/help-link';
import type { Deployment, Deployments } from '../data/model';
import { mayAct, session } from '../data/session';
import { useLive } from '../data/use-live';
import { plural } from '../data/words';

export function DeploymentsPage() {
  const { body, failure } = useLive(pathOf('listDeployments'));
  return (
    <>
      <div class="title">
        <h1>Deployments</h1>
        {body !== undefined && <p class="muted">{countsOf((body as Deployments).deployments)}</p>}
      </div>
      {body !== undefined ? (
        <Loaded body={body as Deployments} />
      ) : (
        <NotYet failure={failure} what="deployments" rows={3} />
      )}
    </>
  );
}

function countsOf(deployments: readonly Deployment[]): string {
  const claiming = deployments.filter(({ state, cordon }) => state !== 'silent' && cordon === null).length;
  if (deployments.length === 0) return '';
  return claiming === 0
    ? 'None of them claims anything new'
    : `${plural(claiming, 'deployment claims', 'deployments claim')} due times`;
}

function Loaded({ body: { deployments, problems } }: { readonly body: Deployments }) {
  const here = session.value?.version.deployment;
  const isSilentElsewhere = deployments.some(({ name, state }) => state === 'silent' && name !== here);
  return (
    <>
      <ProblemsNotice problems={problems} />
      {mayAct.value && isSilentElsewhere && (
        <p class="muted">To start a tick of a silent deployment, open the dashboard that it serves itself.</p>
      )}
      {deployments.length === 0 ? <Nobody /> : <List deployments={deployments} />}
    </>
  );
}

/** A page comes from a deployment: it runs, and does not tick. */
function Nobody() {
  const name = session.value?.version.deployment;
  return (
    <Notice title="No deployment has reported a tick in the last week" tone="warn">
      <p>
        Nothing runs. {name === undefined ? 'This app' : name} answers, so it is deployed: look for errors of its host
        at the start, and whether its timer is disabled. A deployment that has just started appears within a minute.
      </p>
      <p>
        <HelpLink topic="silent" />
      </p>
      {mayAct.value && name !== undefined && (
        <p>
          <Ask action={poke(name)}>Poke {name}</Ask>
        </p>
      )}
    </Notice>
  );
}

function List({ deployments }: { readonly deployments: readonly Deployment[] }) {
  return (
    <ul class="deployment-list" aria-label="Deployments">
      {deployments.map((deployment) => (
        <Card key={deployment.name} deployment={deployment} isOld={hasOldFile(deployment, deployments)} />
      ))}
    </ul>
  );
}

function Card({ deployment, isOld }: { readonly deployment: Deployment; readonly isOld: boolean }) {
  const { name, state, tickedAt, version, revision, skewMs, hubProven, shortOf, cordon } = deployment;
  const isHere = session.value?.version.deployment === name;
  return (
    <li class="panel">
      <div class="title">
        <h2>{name}</h2>
        <HelpLink topic={state === 'live' ? undefined : 'silent'}>
          <Badge label={deploymentLabel(deployment)} />
        </HelpLink>
        {isHere && <span class="muted">serves this page</span>}
        {mayAct.value && <Buttons deployment={deployment} isHere={isHere} />}
      </div>
      {cordon !== null && (
        <p class="warn foreign">
          Cordoned by {cordon.by}, <Ago at={cordon.since} zone={null} />: {cordon.note}. It claims nothing new.
        </p>
      )}
      <dl class="facts">
        <Fact name="Last tick reported">
          <Ago at={tickedAt} zone={null} />
          <span class="second">
            <Time at={tickedAt} zone={null} />
          </span>
        </Fact>
        <Fact name="Version">{version}</Fact>
        <Fact name="Jobs file">
          <Judged bad={isOld} topic="trouble" text={`revision ${String(revision)}`} trouble="older than another one" />
        </Fact>
        <Fact name="Clock">
          <Judged
            bad={skewMs !== 0}
            topic="clock-skew"
            text={skewMs === 0 ? 'right' : skewText(skewMs)}
            trouble="corrected"
          />
        </Fact>
        <Fact name="Load">
          <Judged
            bad={shortOf !== null}
            topic="overloaded"
            text={shortOf === null ? 'runs start on time' : SHORT_OF[shortOf]}
            trouble="most runs start late"
          />
        </Fact>
        <Fact name="Task hub">
          <Judged
            bad={!hubProven}
            topic="claimDue"
            text={hubProven ? 'proven' : 'has run nothing yet'}
            trouble="it claims nothing"
          />
        </Fact>
      </dl>
    </li>
  );
}

interface JudgedProps {
  readonly bad: boolean;
  readonly topic: string;
  readonly text: ComponentChildren;
  readonly trouble: string;
}

function Judged({ bad, topic, text, trouble }: JudgedProps) {
  if (!bad) return <>{text}</>;
  return (
    <span class="warn">
      {text}
      <span class="second">
        {trouble} · <HelpLink topic={topic} />
      </span>
    </span>
  );
}

function Buttons({ deployment, isHere }: { readonly deployment: Deployment; readonly isHere: boolean }) {
  const { name, state, cordon } = deployment;
  return (
    <div class="buttons aside">
      {state !== 'live' && isHere && <Ask action={poke(name)}>Poke</Ask>}
      {cordon === null ? <Ask action={askCordon(name)}>Cordon</Ask> : <Ask action={uncordon(name)}>Lift cordon</Ask>}
    </div>
  );
}
