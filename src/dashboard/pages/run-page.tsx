import { pathOf } from '../../client/operations';
import { inProgressFrom } from '../data/marks';
import { cancelRun, rerun } from '../data/actions';
import { Log } from '../parts/log';
import { pageOf } from '../data/address';
import { now } from '../data/live';
import type { OneRun, Runs } from '../../client/types';
import { Ask } from '../parts/action-dialog';
import { Badge, Crumbs, Exact, Fact, Link, Notice, Time, sentence } from '../parts/parts';
import { topicOf } from '../data/help-topics';
import { RunWithoutRecord } from '../parts/requested-run';
import { ItemsOf } from '../parts/run-items';
import { triggerWord } from '../parts/runs-table';
import { mayAct } from '../data/session';
import { duration, exactTime, span, zoneOf } from '../data/time';
import { runHref } from '../parts/runs-over-time';
import { useLive, useRead } from '../data/use-live';
import { type Label, OUTCOME_LABELS, plural } from '../data/words';
import { reasonText } from '../../core/guide';
import { HelpLink, NotYet } from '../parts/help';

/** Due times that a run overlapped have their records when the next run ends, at the latest. */
const RECORDS_LATEST_MS = 3_600_000;
const READ_AGAIN_MS = 10_000;

export function RunPage({ id }: { readonly id: string }) {
  const { body, failure } = useLive(pathOf('getRun', [id]));
  if (body !== undefined) return <Loaded run={body as OneRun} />;
  return (
    <>
      <Crumbs />
      <h1 class="foreign">{id}</h1>
      {failure?.status === 404 ? (
        <RunWithoutRecord id={id} code={failure.code} />
      ) : (
        <NotYet failure={failure} what="run" rows={6} />
      )}
    </>
  );
}

function Loaded({ run }: { readonly run: OneRun }) {
  const { job, timeZone, scheduledFor, outcome, reason, runId, attempts, count } = run;
  const isOpen = outcome === 'running' || outcome === 'retrying';
  const ran = run.trigger !== null;
  return (
    <>
      <div>
        <Crumbs job={job} />
        <div class="title">
          <h1>
            {ran ? 'Run of' : 'Due time'} {exactTime(Date.parse(scheduledFor), zoneOf(timeZone), now.value)}
          </h1>
          <Badge label={OUTCOME_LABELS[outcome]} />
          {mayAct.value && (
            <div class="buttons aside">
              {isOpen ? (
                <Ask action={cancelRun(runId)} class="danger-quiet">
                  Cancel run
                </Ask>
              ) : (
                <Ask action={rerun(runId, run.input)}>Run again</Ask>
              )}
            </div>
          )}
        </div>
        <p class="muted foreign">
          {reason === null
            ? ''
            : `${sentence(`${reasonText(reason)}${count !== null && count > 1 ? `; ${plural(count, 'due time')}` : ''}`)} `}
          <HelpLink topic={topicOf(outcome, reason)} />
        </p>
      </div>
      <Facts run={run} />
      {attempts.length > 0 && (
        <section>
          <h2>Attempts</h2>
          <ol class="attempts">
            {attempts.toReversed().map((attempt) => (
              <Attempt key={attempt.token} attempt={attempt} run={run} />
            ))}
          </ol>
        </section>
      )}
      {ran && attempts.length === 0 && <Notice title="No attempt has ended yet" />}
      {run.items !== undefined && <ItemsOf items={run.items} isOpen={isOpen} />}
      {ran && (
        <Log
          runId={runId}
          zone={timeZone}
          isOpen={isOpen}
          progress={run.progress}
          items={run.items?.lines.map(({ index }) => index)}
        />
      )}
      <Input run={run} />
      <Result run={run} />
    </>
  );
}

function Facts({ run }: { readonly run: OneRun }) {
  const { timeZone: zone, scheduledFor, through, startedAt, endedAt, latenessMs, durationMs, trigger, token } = run;
  const { overlappedRunId } = run;
  const isOpen = run.outcome === 'running' || run.outcome === 'retrying';
  const first = run.attempts.find((attempt) => attempt.startedAt !== null);
  const waitedMs = first?.waitedForConcurrencyMs ?? 0;
  const groupMs = first?.waitedForGroupMs ?? 0;
  const spent =
    durationMs ?? (run.outcome === 'running' && startedAt !== null ? now.value - Date.parse(startedAt) : null);
  return (
    <dl class="facts panel">
      <Fact name={trigger === 'manual' ? 'Requested' : 'Due'}>
        <Exact at={scheduledFor} zone={zone} />
        {through !== null && (
          <span class="second">
            up to <Time at={through} zone={zone} />
          </span>
        )}
      </Fact>
      {startedAt !== null && (
        <Fact name="Started">
          <Exact at={startedAt} zone={zone} />
          {latenessMs !== null && latenessMs >= 1_000 && (
            <span class="second warn">
              {duration(latenessMs)} late
              {groupMs >= 1_000 && `, ${duration(groupMs)} of it for a place in its group`}
              {waitedMs >= 1_000 && `, ${duration(waitedMs)} of it for the concurrency limit`}
            </span>
          )}
        </Fact>
      )}
      {endedAt !== null && trigger !== null && (
        <Fact name="Ended">
          <Exact at={endedAt} zone={zone} />
        </Fact>
      )}
      {spent !== null && (
        <Fact name={isOpen ? 'Running for' : 'Took'}>{isOpen ? span(Math.max(0, spent)) : duration(spent)}</Fact>
      )}
      {run.waitedMs > 0 && <Fact name="Waited between attempts">{duration(run.waitedMs)}</Fact>}
      {trigger !== null && <Fact name="Started by">{triggerWord(trigger)}</Fact>}
      {run.origin !== null && <OriginFact origin={run.origin} />}
      {run.rerunOf !== null && (
        <Fact name="Repeats">
          <Exact at={run.rerunOf} zone={zone} />
        </Fact>
      )}
      {token !== null && <TokenFacts token={token} orchestration={run.orchestration} />}
      {overlappedRunId !== null && (
        <Fact name="In progress then">
          <Link href={runHref(overlappedRunId)}>the run before it</Link>
        </Fact>
      )}
      {trigger !== null && endedAt !== null && <OverlappedFact run={run} until={endedAt} />}
    </dl>
  );
}

/** The orchestration's id has the token of the claim that started it. */
function TokenFacts({
  token,
  orchestration,
}: {
  readonly token: number;
  readonly orchestration: OneRun['orchestration'];
}) {
  return (
    <>
      <Fact name="Fencing token">{token}</Fact>
      {orchestration !== undefined && (
        <Fact name="Orchestration">
          <span class="foreign">{orchestration}</span>
        </Fact>
      )}
    </>
  );
}

/** The due times that did not run because this run was in progress. Their records come soon after its end. */
function OverlappedFact({ run, until }: OverlappedProps) {
  const { job } = run;
  const query = new URLSearchParams({ job, outcome: 'overlapped', since: inProgressFrom(run), until });
  const version = now.value - Date.parse(until) < RECORDS_LATEST_MS ? Math.floor(now.value / READ_AGAIN_MS) : undefined;
  const { body, failure } = useRead<Runs>(`${pathOf('listRuns')}?${query.toString()}`, version);
  return (
    <Fact name="Overlapped">
      {failure !== undefined ? 'not known now' : body === undefined ? '…' : <Overlapped job={job} found={body} />}
    </Fact>
  );
}

interface OverlappedProps {
  readonly run: OneRun;
  readonly until: string;
}

function Overlapped({ job, found: { runs, cursor } }: { readonly job: string; readonly found: Runs }) {
  const [first, ...others] = runs;
  if (first === undefined) return <>no due time</>;
  const count = runs.reduce((sum, one) => sum + (one.count ?? 1), 0);
  const isMore = cursor !== null || runs.some((one) => one.count === null);
  const href = others.length === 0 ? runHref(first.runId) : pageOf({ job, outcome: 'overlapped' });
  return (
    <Link href={href}>
      {isMore ? 'more than ' : ''}
      {plural(count, 'due time')}
    </Link>
  );
}

function OriginFact({ origin: { actor, channel, note } }: { readonly origin: NonNullable<OneRun['origin']> }) {
  return (
    <Fact name="Requested by">
      <span class="foreign">{actor}</span>
      <span class="second foreign">
        by {channel}
        {note === undefined ? '' : `: ${note}`}
      </span>
    </Fact>
  );
}

type AttemptOf = OneRun['attempts'][number];

const ATTEMPT_LABELS: Readonly<Record<'holderLost' | 'draining' | 'planned', Label>> = {
  holderLost: { word: 'Died or lost its lease', icon: 'alert', tone: 'bad' },
  draining: { word: 'Handed over at a shutdown', icon: 'skip', tone: 'calm' },
  planned: { word: 'Planned its items', icon: 'check', tone: 'good' },
};

const ATTEMPT_TOPICS: Readonly<Partial<Record<AttemptOf['outcome'], string>>> = {
  holderLost: 'take-overs',
  draining: 'instanceStopped',
};

const ORCHESTRATED: Label = { word: 'Started its orchestration', icon: 'check', tone: 'good' };

function labelOf(outcome: AttemptOf['outcome'], isOrchestration: boolean): Label {
  if (isOrchestration && outcome === 'planned') return ORCHESTRATED;
  return outcome === 'holderLost' || outcome === 'draining' || outcome === 'planned'
    ? ATTEMPT_LABELS[outcome]
    : OUTCOME_LABELS[outcome];
}

interface AttemptProps {
  readonly attempt: AttemptOf;
  readonly run: OneRun;
}

function Attempt({ attempt, run }: AttemptProps) {
  const { deployment, startedAt, endedAt, outcome, error, claimedAt, waitedForConcurrencyMs, waitedForGroupMs } =
    attempt;
  const start = startedAt ?? claimedAt;
  const took = startedAt !== null && endedAt !== null ? Date.parse(endedAt) - Date.parse(startedAt) : undefined;
  return (
    <li class="panel">
      <p class="attempt">
        <b>Attempt {attempt.attempt}</b>{' '}
        <HelpLink topic={ATTEMPT_TOPICS[outcome] ?? outcome}>
          <Badge label={labelOf(outcome, run.orchestration !== undefined)} />
        </HelpLink>
        <span class="muted">
          on {deployment}
          {start !== undefined && ', '}
          {start !== undefined && <Exact at={start} zone={run.timeZone} />}
          {took !== undefined && `, took ${duration(took)}`}
          {waitedForGroupMs !== undefined && `, after ${duration(waitedForGroupMs)} for a place in its group`}
          {waitedForConcurrencyMs !== undefined &&
            `, after ${duration(waitedForConcurrencyMs)} for the concurrency limit`}
        </span>
      </p>
      {error !== null && <ErrorOf error={error} />}
    </li>
  );
}

/** The message, the frames of the job's own code, and on request all others; then the errors behind it. */
function ErrorOf({
  error: { name, message, code, stack, cause, errors = [] },
  after = '',
}: {
  readonly error: NonNullable<AttemptOf['error']>;
  readonly after?: string;
}) {
  const lines = stack?.split('\n') ?? [];
  const frames = lines.filter((line) => /^\s+at\s/.test(line));
  const own = frames.filter((line) => !/node:|node_modules|<anonymous>|\(native\)/.test(line));
  return (
    <>
      <pre class="error foreign">
        {after}
        <b>{name}</b>: {message === '' ? code : message}
        {own.length > 0 && `\n${own.join('\n')}`}
      </pre>
      {lines.length > 0 && (
        <details>
          <summary>The whole trace, {plural(lines.length, 'line')}</summary>
          <pre class="foreign">{stack}</pre>
        </details>
      )}
      {errors.map((inner) => (
        <ErrorOf error={inner} after="Inner error: " />
      ))}
      {cause !== undefined && <ErrorOf error={cause} after="Caused by " />}
    </>
  );
}

/** What the handler got, for those who may see it, and how its own run input differs. */
function Input({ run: { input, inputHidden = false } }: { readonly run: OneRun }) {
  if (!inputHidden && input === undefined) return <></>;
  return (
    <section>
      <h2>Input</h2>
      {input === undefined ? (
        <p>It needs the role payloads.</p>
      ) : (
        <>
          <p class="muted">
            {input.from === 'manualRun' ? 'Given with the manual run.' : 'Of the jobs file, as it is now.'}
          </p>
          <pre class="panel foreign">{JSON.stringify(input.value, undefined, 2)}</pre>
          {input.inFile !== undefined && (
            <details>
              <summary>The jobs file has another input</summary>
              <pre class="panel foreign">{JSON.stringify(input.inFile, undefined, 2)}</pre>
            </details>
          )}
        </>
      )}
    </section>
  );
}

/** What the handler returned, for those who may see it. */
function Result({ run: { result = null, resultChanges = [], resultHidden = false } }: { readonly run: OneRun }) {
  if (!resultHidden && result === null) return <></>;
  return (
    <section>
      <h2>Result</h2>
      {resultHidden ? (
        <p>It needs the role payloads.</p>
      ) : (
        <pre class="panel foreign">{JSON.stringify(result, undefined, 2)}</pre>
      )}
      {resultChanges.length > 0 && (
        <p class="foreign">JSON cannot hold all that the handler returned. {resultChanges.join('; ')}.</p>
      )}
    </section>
  );
}
