import { pathOf } from '../../client/operations';
import type { OneJob, OneRun, Runs } from '../../client/types';
import { reasonText, wordOf } from '../../core/guide';
import { cancelRun, rerun } from '../data/actions';
import { pageOf } from '../data/address';
import { topicOf } from '../data/help-topics';
import { live, now } from '../data/live';
import { inProgressFrom } from '../data/marks';
import { mayAct } from '../data/session';
import { duration, exactTime, span, zoneOf } from '../data/time';
import { useLive, useRead } from '../data/use-live';
import { isOpen, type Label, noted, OUTCOME_LABELS, plural } from '../data/words';
import { Ask } from '../parts/action-dialog';
import { HelpLink, NotYet } from '../parts/help';
import { Log } from '../parts/log';
import { Badge, Crumbs, Exact, Fact, Link, Notice, Time, sentence } from '../parts/parts';
import { ItemsOf } from '../parts/run-items';
import { runHref } from '../parts/runs-over-time';

/** Due times that a run overlapped have their records when the next run ends, at the latest. */
const RECORDS_LATEST_MS = 3_600_000;
const READ_AGAIN_MS = 10_000;

export function RunPage({ id }: { readonly id: string }) {
  const { body, failure } = useLive<OneRun>(pathOf('getRun', [id]));
  if (body !== undefined) return <Loaded run={body} />;
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

const REQUESTED: Label = { word: 'Requested', icon: 'clock', tone: 'busy' };

/** A run without a record: it is about to come, or retention has deleted its record. */
function RunWithoutRecord({ id, code }: { readonly id: string; readonly code: string }) {
  const [, job] = /^(.+)-\d{8}T[\d.]+Z-m-/.exec(id) ?? [];
  if (job !== undefined && code === 'RunRequested') return <Requested job={job} id={id} />;
  return (
    <Notice title="This run has no record">
      <p>If it is old, its record may have been deleted by "keep".</p>
    </Notice>
  );
}

function Requested({ job, id }: { readonly job: string; readonly id: string }) {
  // Each further question after the run asks for its job, too.
  const { body } = useRead<OneJob>(pathOf('getJob', [job]), live.value);
  const current = body?.currentRun?.runId;
  return (
    <Notice>
      <p role="status">
        <Badge label={REQUESTED} /> {current === id ? 'A deployment has claimed it.' : 'Waiting for a deployment.'}
      </p>
      {current !== undefined && current !== id ? (
        <p>
          <Link href={runHref(current)}>Another run of the job</Link> is in progress, and goes first.
        </p>
      ) : (
        <p class="muted">The run appears here as soon as it starts, usually within seconds.</p>
      )}
      <p>
        <Link href={pageOf({ job })}>{job}</Link> · <Link href={pageOf({ view: 'deployments' })}>Deployments</Link>
      </p>
    </Notice>
  );
}

interface OfRun {
  readonly run: OneRun;
}

function Loaded({ run }: OfRun) {
  const { timeZone, runId, attempts, items } = run;
  const ran = run.trigger !== null;
  return (
    <>
      <Head run={run} />
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
      {items !== undefined && <ItemsOf items={items} isOpen={isOpen(run.outcome)} />}
      {ran && (
        <Log
          runId={runId}
          zone={timeZone}
          isOpen={isOpen(run.outcome)}
          progress={run.progress}
          items={items?.lines.map(({ index }) => index)}
        />
      )}
      <Input run={run} />
      <Result run={run} />
    </>
  );
}

function Head({ run }: OfRun) {
  const { job, timeZone, scheduledFor, outcome, reason, runId, count } = run;
  const due = exactTime(Date.parse(scheduledFor), zoneOf(timeZone), now.value);
  const counted = count !== null && count > 1 ? `; ${plural(count, 'due time')}` : '';
  return (
    <div>
      <Crumbs job={job} />
      <div class="title">
        <h1>
          {run.trigger === null ? 'Due time' : 'Run of'} {due}
        </h1>
        <Badge label={OUTCOME_LABELS[outcome]} />
        {mayAct.value && (
          <div class="buttons aside">
            {isOpen(outcome) ? (
              <Ask action={cancelRun(runId)} class="danger-quiet" />
            ) : (
              <Ask action={rerun(runId, run.input)} />
            )}
          </div>
        )}
      </div>
      <p class="muted foreign">
        {reason !== null && `${sentence(`${reasonText(reason)}${counted}`)} `}
        <HelpLink topic={topicOf(outcome, reason)} />
      </p>
    </div>
  );
}

function Facts({ run }: OfRun) {
  const { timeZone: zone, scheduledFor, through, endedAt, trigger, origin, rerunOf, overlappedRunId } = run;
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
      <StartedFact run={run} />
      <Fact name="Ended">{endedAt !== null && trigger !== null && <Exact at={endedAt} zone={zone} />}</Fact>
      <SpentFact run={run} />
      <Fact name="Waited between attempts">{run.waitedMs > 0 && duration(run.waitedMs)}</Fact>
      <Fact name="Started by">{trigger !== null && wordOf(trigger)}</Fact>
      {origin !== null && (
        <Fact name="Requested by">
          <span class="foreign">{origin.actor}</span>
          <span class="second foreign">{noted(`by ${origin.channel}`, origin.note)}</span>
        </Fact>
      )}
      <Fact name="Repeats">{rerunOf !== null && <Exact at={rerunOf} zone={zone} />}</Fact>
      <Fact name="Fencing token">{run.token}</Fact>
      {/* Its id has the token of the claim that started it. */}
      <Fact name="Orchestration">
        {run.orchestration !== undefined && <span class="foreign">{run.orchestration}</span>}
      </Fact>
      <Fact name="In progress then">
        {overlappedRunId !== null && <Link href={runHref(overlappedRunId)}>the run before it</Link>}
      </Fact>
      {trigger !== null && endedAt !== null && <OverlappedFact run={run} until={endedAt} />}
    </dl>
  );
}

function StartedFact({ run: { startedAt, timeZone, latenessMs, attempts } }: OfRun) {
  if (startedAt === null) return null;
  const { waitedForConcurrencyMs = 0, waitedForGroupMs = 0 } = attempts.find((one) => one.startedAt !== null) ?? {};
  return (
    <Fact name="Started">
      <Exact at={startedAt} zone={timeZone} />
      {latenessMs !== null && latenessMs >= 1_000 && (
        <span class="second warn">
          {duration(latenessMs)} late
          {waitedForGroupMs >= 1_000 && `, ${duration(waitedForGroupMs)} of it for a place in its group`}
          {waitedForConcurrencyMs >= 1_000 && `, ${duration(waitedForConcurrencyMs)} of it for the concurrency limit`}
        </span>
      )}
    </Fact>
  );
}

function SpentFact({ run }: OfRun) {
  const { outcome, startedAt } = run;
  const untilNow = outcome === 'running' && startedAt !== null ? now.value - Date.parse(startedAt) : null;
  const spent = run.durationMs ?? untilNow;
  if (spent === null) return null;
  return (
    <Fact name={isOpen(run.outcome) ? 'Running for' : 'Took'}>
      {isOpen(run.outcome) ? span(Math.max(0, spent)) : duration(spent)}
    </Fact>
  );
}

/** The due times that did not run because this run was in progress. Their records come soon after its end. */
function OverlappedFact({ run, until }: OfRun & { readonly until: string }) {
  const { job } = run;
  const path = pathOf('listRuns', [], { job, outcome: 'overlapped', since: inProgressFrom(run), until });
  const version = now.value - Date.parse(until) < RECORDS_LATEST_MS ? Math.floor(now.value / READ_AGAIN_MS) : undefined;
  const { body, failure } = useRead<Runs>(path, version);
  return (
    <Fact name="Overlapped">
      {failure !== undefined ? 'not known now' : body === undefined ? '…' : <Overlapped job={job} found={body} />}
    </Fact>
  );
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

type AttemptOf = OneRun['attempts'][number];

const ATTEMPT_LABELS: Readonly<Record<AttemptOf['outcome'], Label>> = {
  ...OUTCOME_LABELS,
  holderLost: { word: 'Died or lost its lease', icon: 'alert', tone: 'bad' },
  draining: { word: 'Handed over at a shutdown', icon: 'skip', tone: 'calm' },
  planned: { word: 'Planned its items', icon: 'check', tone: 'good' },
};
const ORCHESTRATED: Label = { ...ATTEMPT_LABELS.planned, word: 'Started its orchestration' };

const ATTEMPT_TOPICS: Readonly<Partial<Record<AttemptOf['outcome'], string>>> = {
  holderLost: 'take-overs',
  draining: 'instanceStopped',
};

function Attempt({ attempt, run }: OfRun & { readonly attempt: AttemptOf }) {
  const { startedAt, endedAt, outcome, error, waitedForConcurrencyMs, waitedForGroupMs } = attempt;
  const start = startedAt ?? attempt.claimedAt;
  const took = startedAt !== null && endedAt !== null ? Date.parse(endedAt) - Date.parse(startedAt) : undefined;
  const isOrchestration = run.orchestration !== undefined && outcome === 'planned';
  return (
    <li class="panel">
      <p class="attempt">
        <b>Attempt {attempt.attempt}</b>{' '}
        <HelpLink topic={ATTEMPT_TOPICS[outcome] ?? outcome}>
          <Badge label={isOrchestration ? ORCHESTRATED : ATTEMPT_LABELS[outcome]} />
        </HelpLink>
        <span class="muted">
          on {attempt.deployment}
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

interface ErrorProps {
  readonly error: NonNullable<AttemptOf['error']>;
  readonly after?: string;
}

/** The message, the frames of the job's own code, and on request all others; then the errors behind it. */
function ErrorOf({ error: { name, message, code, stack, cause, errors = [] }, after = '' }: ErrorProps) {
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

function Json({ value }: { readonly value: unknown }) {
  return <pre class="panel foreign">{JSON.stringify(value, undefined, 2)}</pre>;
}

const HIDDEN = <p>It needs the role payloads.</p>;

/** What the handler got, for those who may see it, and how its own run input differs. */
function Input({ run: { input, inputHidden = false } }: OfRun) {
  if (!inputHidden && input === undefined) return null;
  return (
    <section>
      <h2>Input</h2>
      {input === undefined ? (
        HIDDEN
      ) : (
        <>
          <p class="muted">
            {input.from === 'manualRun' ? 'Given with the manual run.' : 'Of the jobs file, as it is now.'}
          </p>
          <Json value={input.value} />
          {input.inFile !== undefined && (
            <details>
              <summary>The jobs file has another input</summary>
              <Json value={input.inFile} />
            </details>
          )}
        </>
      )}
    </section>
  );
}

/** What the handler returned, for those who may see it. */
function Result({ run: { result = null, resultChanges = [], resultHidden = false } }: OfRun) {
  if (!resultHidden && result === null) return null;
  return (
    <section>
      <h2>Result</h2>
      {resultHidden ? HIDDEN : <Json value={result} />}
      {resultChanges.length > 0 && (
        <p class="foreign">JSON cannot hold all that the handler returned. {resultChanges.join('; ')}.</p>
      )}
    </section>
  );
}
