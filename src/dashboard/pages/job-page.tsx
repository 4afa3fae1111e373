import { useMemo } from 'preact/hooks';
import { pathOf } from '../../client/operations';
import { shownState } from '../../core/shown-state';
import { acknowledge, pauseJob, resumeJob, runJob, unacknowledge } from '../data/actions';
import { pageOf } from '../data/address';
import type { Failure } from '../data/api';
import { now } from '../data/live';
import { BackfillPanel } from '../parts/backfill-panel';
import { DueTimes } from '../parts/due-times';
import type { DueTimes as Due, Job, OneJob, Runs } from '../../client/types';
import { HeatMap } from '../parts/heat-map';
import { Ask } from '../parts/action-dialog';
import { Ago, Badge, Crumbs, Fact, InHowLong, Link, Notice, Since, Time } from '../parts/parts';
import { topicOfState } from '../data/help-topics';
import { RunsTable, runsPath } from '../parts/runs-table';
import { mayAct } from '../data/session';
import { SettingsInWords } from '../data/settings-words';
import { duration, span } from '../data/time';
import { runHref, RunsOverTime } from '../parts/runs-over-time';
import { Trend } from '../parts/trend';
import { useBegun, useLive, useRead } from '../data/use-live';
import { outcomeLabel, plural, STATE_LABELS } from '../data/words';
import { WhyPanel } from '../parts/why-panel';
import { HelpLink, NotYet } from '../parts/help';

const RUNS = 50;
const DUE_TIMES = 10;

export function JobPage({ name }: { readonly name: string }) {
  const { body, failure } = useLive(pathOf('getJob', [name]));
  if (body !== undefined) return <Loaded job={body as OneJob} />;
  return (
    <>
      <Crumbs />
      <h1 class="foreign">{name}</h1>
      {failure?.status === 404 ? (
        <Notice title="There is no such job">
          <p>
            Neither the jobs file of this app nor storage contains it. <Link href={pageOf({})}>All jobs</Link>
          </p>
        </Notice>
      ) : (
        <NotYet failure={failure} what="job" rows={8} />
      )}
    </>
  );
}

function Loaded({ job: answered }: { readonly job: OneJob }) {
  const [job = answered] = useBegun(useMemo(() => [answered], [answered]));
  const { name } = job;
  const runs = useRead<Runs>(runsPath(name, RUNS), answered);
  const inFile = job.settings !== null;
  const next = useRead<Due>(inFile ? pathOf('listDueTimes', [], { job: name, count: DUE_TIMES }) : undefined, answered);
  const due = next.body?.jobs[0];
  const hasCome = [runs, ...(inFile ? [next] : [])].every(({ body, failure }) => (body ?? failure) !== undefined);
  return (
    <>
      <Head job={job} />
      <Facts job={job} />
      <RunsTable runs={runs.body} failure={runs.failure} job={name} />
      {/* Nothing stands below what has not its height yet. */}
      {hasCome && <Below job={job} listed={runs.body} due={due} failure={next.failure} />}
    </>
  );
}

interface BelowProps {
  readonly job: OneJob;
  /** Its latest runs, or those that were asked for. */
  readonly listed: Runs | undefined;
  readonly due: Due['jobs'][number] | undefined;
  /** Why the due times are not here. */
  readonly failure: Failure | undefined;
}

function Below({ job, listed, due, failure }: BelowProps) {
  const { name, timeZone } = job;
  const runs = listed?.runs ?? [];
  const inFile = job.settings !== null;
  return (
    <>
      <RunsOverTime runs={runs} isPart={listed?.cursor != null} due={due?.due ?? []} zone={timeZone} />
      {inFile && <WhyPanel job={name} zone={timeZone} version={job} />}
      <div class="two">
        <Trend runs={runs} zone={timeZone} />
        <HeatMap job={name} />
      </div>
      {inFile && job.settings?.kind === 'timed' && <BackfillPanel job={job} />}
      <div class="two">
        {job.settings !== null && <DueTimes kind={job.settings.kind} due={due} failure={failure} />}
        <SettingsInWords settings={job.settings} />
      </div>
    </>
  );
}

function Head({ job }: { readonly job: OneJob }) {
  const { name, description, tags } = job;
  return (
    <div>
      <Crumbs />
      <div class="title">
        <h1>{name}</h1>
        <HelpLink topic={topicOfState(shownState(job))}>
          <Badge label={STATE_LABELS[shownState(job)]} />
        </HelpLink>
        {mayAct.value && <Actions job={job} />}
      </div>
      <p class="muted foreign">
        {tags.map((tag) => (
          <Link key={tag} href={pageOf({ tag })} class="tag">
            {tag}
          </Link>
        ))}
        {description}
      </p>
    </div>
  );
}

function Actions({ job }: { readonly job: OneJob }) {
  return (
    <div class="buttons aside">
      {job.settings !== null && <Ask action={runJob(job)}>Run now</Ask>}
      {job.incident !== null && <Acknowledge job={job} />}
      {job.pause === null ? (
        <Ask action={pauseJob(job)}>Pause</Ask>
      ) : (
        <Ask action={resumeJob(job)} class="primary">
          Resume
        </Ask>
      )}
    </div>
  );
}

function Acknowledge({ job }: { readonly job: OneJob }) {
  const isDone = job.incident?.acknowledgement != null;
  return isDone ? (
    <Ask action={unacknowledge(job)}>Lift acknowledgement</Ask>
  ) : (
    <Ask action={acknowledge(job)}>Acknowledge</Ask>
  );
}

function Facts({ job }: { readonly job: OneJob }) {
  const { schedule, timeZone, nextDueAt, lastRun, incident, overdueSince, pause, waiting, lastHolder } = job;
  return (
    <dl class="facts panel">
      <Fact name="Schedule">
        {schedule === null ? 'not in this jobs file' : <code>{schedule}</code>}
        <span class="second">{timeZone}</span>
      </Fact>
      <Fact name="Next due">
        {nextDueAt === null ? (
          'none'
        ) : (
          <>
            <Time at={nextDueAt} zone={timeZone} />
            <span class="second">
              <InHowLong at={nextDueAt} zone={timeZone} />
            </span>
          </>
        )}
      </Fact>
      <Fact name="Last run">
        {lastRun === null ? (
          'never'
        ) : (
          <>
            <Link href={runHref(lastRun.runId)}>
              <Time at={lastRun.scheduledFor} zone={timeZone} />
            </Link>
            <span class="second">
              {outcomeLabel(lastRun.outcome).word.toLowerCase()}
              {lastRun.durationMs === null ? '' : ` in ${duration(lastRun.durationMs)}`}
            </span>
          </>
        )}
      </Fact>
      <CurrentRun job={job} />
      {incident !== null && <IncidentFact incident={incident} zone={timeZone} />}
      {overdueSince !== null && (
        <Fact name="Overdue">
          <Since at={overdueSince} zone={timeZone} />
        </Fact>
      )}
      {waiting.length > 0 && <Fact name="Requests">{plural(waiting.length, 'request waits', 'requests wait')}</Fact>}
      {pause !== null && <PauseFact pause={pause} zone={timeZone} />}
      {lastHolder !== null && <Fact name="Last deployment">{lastHolder}</Fact>}
    </dl>
  );
}

interface PauseFactProps {
  readonly pause: NonNullable<OneJob['pause']>;
  readonly zone: string | null;
}

function PauseFact({ pause, zone }: PauseFactProps) {
  return (
    <Fact name="Paused">
      <span class="foreign">
        by {pause.by}: {pause.note}
      </span>
      <span class="second">
        since <Time at={pause.since} zone={zone} />
        {pause.until !== null && ', until '}
        {pause.until !== null && <Time at={pause.until} zone={zone} />}
      </span>
    </Fact>
  );
}

/** It stands there without a run too, so that nothing moves when one starts or ends. */
function CurrentRun({ job: { currentRun, detail, pause } }: { readonly job: OneJob }) {
  const { runId, attempt = 0, startedAt, retryAt, holder } = currentRun ?? {};
  const wait = retryAt == null ? 0 : Date.parse(retryAt) - now.value;
  const since = startedAt == null ? 0 : now.value - Date.parse(startedAt);
  const more = [
    holder == null ? '' : `on ${holder}`,
    wait > 0 ? `next attempt in ${span(wait)}` : '',
    (pause === null && detail) || '',
  ];
  return (
    <Fact name="Run in progress">
      {runId === undefined ? 'none' : <Link href={runHref(runId)}>attempt {attempt}</Link>}
      {since > 0 && ` for ${span(since)}`}
      <span class="second foreign">{more.filter((text) => text !== '').join(', ')}</span>
    </Fact>
  );
}

interface IncidentFactProps {
  readonly incident: NonNullable<Job['incident']>;
  readonly zone: string | null;
}

/** The failures of a job until its next success, and who looks after them. */
function IncidentFact({ incident, zone }: IncidentFactProps) {
  const { since, isWhole, failures, firstRunId, acknowledgement } = incident;
  return (
    <>
      <Fact name={failures === 0 ? 'Without success' : 'Failing'}>
        {firstRunId === null ? (
          <Since at={since} zone={zone} />
        ) : (
          <>
            since {isWhole ? '' : 'before '}
            <Link href={runHref(firstRunId)}>
              <Time at={since} zone={zone} />
            </Link>
          </>
        )}
        <span class="second">{failures === 0 ? 'no run has failed' : plural(failures, 'failed run')}</span>
      </Fact>
      {acknowledgement !== null && (
        <Fact name="Acknowledged">
          <span class="foreign">
            by {acknowledgement.by}
            {acknowledgement.note === '' ? '' : `: ${acknowledgement.note}`}
          </span>
          <span class="second">
            <Ago at={acknowledgement.at} zone={zone} />, until{' '}
            {acknowledgement.until === null ? 'its next success' : <Time at={acknowledgement.until} zone={zone} />}
          </span>
        </Fact>
      )}
    </>
  );
}
