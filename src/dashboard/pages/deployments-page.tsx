import type { ComponentChildren } from 'preact';
import { pathOf } from '../../client/operations';
import { pageOf } from '../data/address';
import { cordon as askCordon, poke, uncordon } from '../data/actions';
import { Ask } from '../parts/action-dialog';
import { Ago, Badge, Fact, Link, Notice, Time } from '../parts/parts';
import type { Deployments } from '../../client/types';
import { mayAct, session } from '../data/session';
import { duration } from '../data/time';
import { useLive } from '../data/use-live';
import { type Label, plural } from '../data/words';
import { HelpLink, NotYet, ProblemsNotice } from '../parts/help';

type Deployment = Deployments['deployments'][number];

interface DeploymentProps {
  readonly deployment: Deployment;
  /** Whether another deployment has a newer jobs file. */
  readonly isOld: boolean;
}

export function DeploymentsPage() {
  const { body, failure } = useLive<Deployments>(pathOf('listDeployments'));
  return (
    <>
      <div class="title">
        <h1>Deployments</h1>
        {body !== undefined && <p class="muted">{countsOf(body.deployments)}</p>}
      </div>
      {body === undefined ? <NotYet failure={failure} what="deployments" rows={3} /> : <Loaded body={body} />}
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
      {deployments.length === 0 ? (
        <Nobody name={here} />
      ) : (
        <ul class="deployment-list" aria-label="Deployments">
          {withAge(deployments).map((props) => (
            <Card key={props.deployment.name} {...props} isHere={props.deployment.name === here} />
          ))}
        </ul>
      )}
    </>
  );
}

function withAge(deployments: readonly Deployment[]): readonly DeploymentProps[] {
  const newest = Math.max(...deployments.map(({ revision }) => revision));
  return deployments.map((deployment) => ({ deployment, isOld: deployment.revision < newest }));
}

/** A page comes from a deployment: it runs, and does not tick. */
function Nobody({ name }: { readonly name: string | undefined }) {
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

function Card({ deployment, isOld, isHere }: DeploymentProps & { readonly isHere: boolean }) {
  const { name, state, tickedAt, version, revision, skewMs, hubProven, shortOf, cordon } = deployment;
  return (
    <li class="panel">
      <div class="title">
        <h2>{name}</h2>
        <HelpLink topic={state === 'live' ? undefined : 'silent'}>
          <Badge label={labelOf(deployment)} />
        </HelpLink>
        {isHere && <span class="muted">serves this page</span>}
        {mayAct.value && (
          <div class="buttons aside">
            {state !== 'live' && isHere && <Ask action={poke(name)} />}
            <Ask action={cordon === null ? askCordon(name) : uncordon(name)} />
          </div>
        )}
      </div>
      {cordon !== null && (
        <p class="warn foreign">
          Cordoned by {cordon.by}, <Ago at={cordon.since} zone={null} />: {cordon.note}. It claims nothing new.
        </p>
      )}
      <dl class="facts">
        <Fact name="Last tick reported" more={<Time at={tickedAt} zone={null} />}>
          <Ago at={tickedAt} zone={null} />
        </Fact>
        <Fact name="Version">{version}</Fact>
        <Judged name="Jobs file" topic="trouble" trouble={isOld && 'older than another one'}>
          {`revision ${String(revision)}`}
        </Judged>
        <Judged name="Clock" topic="clock-skew" trouble={skewMs !== 0 && 'corrected'}>
          {skewMs === 0 ? 'right' : skewText(skewMs)}
        </Judged>
        <Judged name="Load" topic="overloaded" trouble={shortOf !== null && 'most runs start late'}>
          {shortOf === null ? 'runs start on time' : SHORT_OF[shortOf]}
        </Judged>
        <Judged name="Task hub" topic="claimDue" trouble={!hubProven && 'it claims nothing'}>
          {hubProven ? 'proven' : 'has run nothing yet'}
        </Judged>
      </dl>
    </li>
  );
}

interface JudgedProps {
  readonly name: string;
  readonly topic: string;
  /** What is wrong with it; false: nothing. */
  readonly trouble: string | false;
  readonly children: ComponentChildren;
}

function Judged({ name, topic, trouble, children }: JudgedProps) {
  if (trouble === false) return <Fact name={name}>{children}</Fact>;
  return (
    <Fact name={name}>
      <span class="warn">
        {children}
        <span class="second">
          {trouble} · <HelpLink topic={topic} />
        </span>
      </span>
    </Fact>
  );
}

const LABELS = {
  live: { word: 'Live', icon: 'check', tone: 'good' },
  late: { word: 'Late', icon: 'clock', tone: 'warn' },
  silent: { word: 'Silent', icon: 'alert', tone: 'bad' },
  cordoned: { word: 'Cordoned', icon: 'pause', tone: 'warn' },
} as const satisfies Readonly<Record<string, Label>>;

function labelOf({ state, cordon }: Deployment): Label {
  return LABELS[state === 'live' && cordon !== null ? 'cordoned' : state];
}

function skewText(skewMs: number): string {
  return `${duration(Math.abs(skewMs))} ${skewMs > 0 ? 'ahead' : 'behind'}`;
}

const SHORT_OF = { cpu: 'it has no CPU time left', storage: 'storage answers slowly' } as const;

/** With more deployments, those in trouble come first, and the others are counted. */
const SHOWN = 5;

export function DeploymentLine({ deployments }: Pick<Deployments, 'deployments'>) {
  if (deployments.length === 0) {
    return <p class="deployments muted">No deployment has reported a tick in the last week, so nothing runs.</p>;
  }
  const all = withAge(deployments);
  const byTrouble = all.toSorted((a, b) => Number(isWell(a)) - Number(isWell(b)));
  const shown = all.length <= SHOWN ? all : byTrouble.slice(0, SHOWN - 1);
  const bad = byTrouble.slice(shown.length).filter((one) => !isWell(one)).length;
  return (
    <ul class="deployments" aria-label="Deployments">
      {shown.map((props) => (
        <InLine key={props.deployment.name} {...props} />
      ))}
      {shown.length < all.length && (
        <li>
          <Link href={pageOf({ view: 'deployments' })}>All {all.length} deployments</Link>
          <span class="second">{bad === 0 ? 'the others are healthy' : `${String(bad)} more in trouble`}</span>
        </li>
      )}
    </ul>
  );
}

function isWell(one: DeploymentProps): boolean {
  return one.deployment.state === 'live' && warningsOf(one).length === 0;
}

function warningsOf({ deployment: { skewMs, hubProven, shortOf, cordon }, isOld }: DeploymentProps) {
  return [
    ...(skewMs === 0 ? [] : [`clock ${skewText(skewMs)}`]),
    ...(isOld ? ['older jobs file'] : []),
    ...(hubProven ? [] : ['its task hub has run nothing yet']),
    ...(shortOf === null ? [] : [`overloaded: ${SHORT_OF[shortOf]}`]),
    ...(cordon === null ? [] : [`cordoned by ${cordon.by}: ${cordon.note}`]),
  ];
}

function InLine(props: DeploymentProps) {
  const { name, tickedAt, version } = props.deployment;
  const warnings = warningsOf(props);
  return (
    <li>
      <span class="deployment">
        <Link href={pageOf({ view: 'deployments' })}>
          <b>{name}</b>
        </Link>{' '}
        <Badge label={labelOf(props.deployment)} />
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
