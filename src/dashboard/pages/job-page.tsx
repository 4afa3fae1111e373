import { useMemo } from 'preact/hooks';
import { pathOf } from '../../client/operations';
import type { DueTimes as Due, OneJob, Runs } from '../../client/types';
import { shownState } from '../../core/shown-state';
import { acknowledge, pauseJob, resumeJob, runJob, unacknowledge } from '../data/actions';
import { pageOf } from '../data/address';
import { topicOfState } from '../data/help-topics';
import { now } from '../data/live';
import { mayAct } from '../data/session';
import { span } from '../data/time';
import { useBegun, useLive, useRead } from '../data/use-live';
import { noted, plural, STATE_LABELS } from '../data/words';
import { Ask } from '../parts/action-dialog';
import { BackfillPanel } from '../parts/backfill-panel';
import { HeatMap } from '../parts/heat-map';
import { HelpLink, NotYet } from '../parts/help';
import { DueTimes, SettingsInWords } from '../parts/job-settings';
import { lastRunText } from '../parts/jobs-table';
import { Ago, Badge, Crumbs, Fact, Link, NextDue, Notice, Tags, Time } from '../parts/parts';
import { runsPath } from '../parts/run-filters';
import { runHref, RunsOverTime } from '../parts/runs-over-time';
import { RunsTable } from '../parts/runs-table';
import { Trend } from '../parts/trend';
import { WhyPanel } from '../parts/why-panel';

const RUNS = 50;
const DUE_TIMES = 10;

export function JobPage({ name }: { readonly name: string }) {
  const { body, failure } = useLive<OneJob>(pathOf('getJob', [name]));
  if (body !== undefined) return <Loaded job={body} />;
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

function Loaded({ job: answered }: OfJob) {
  const [job = answered] = useBegun(useMemo(() => [answered], [answered]));
  const { name, timeZone: zone, settings } = job;
  const runs = useRead<Runs>(runsPath(name, RUNS), answered);
  const duePath = settings === null ? undefined : pathOf('listDueTimes', [], { job: name, count: DUE_TIMES });
  const next = useRead<Due>(duePath, answered);
  const hasCome = [runs, ...(settings === null ? [] : [next])].every(({ body, failure }) => body ?? failure);
  const listed = runs.body?.runs ?? [];
  return (
    <>
      <Head job={job} />
      <Facts job={job} />
      <RunsTable job={name} reading={runs} />
      {/* Nothing stands below what has not its height yet. */}
      {hasCome && (
        <>
          <RunsOverTime
            runs={listed}
            isPart={runs.body?.cursor != null}
            due={next.body?.jobs[0]?.due ?? []}
            zone={zone}
          />
          {settings !== null && <WhyPanel job={job} />}
          <div class="two">
            <Trend runs={listed} zone={zone} />
            <HeatMap job={name} />
          </div>
          {settings?.kind === 'timed' && <BackfillPanel job={job} />}
          <div class="two">
            {settings !== null && <DueTimes kind={settings.kind} reading={next} />}
            <SettingsInWords settings={settings} />
          </div>
        </>
      )}
    </>
  );
}

interface OfJob {
  readonly job: OneJob;
}

function Head({ job }: OfJob) {
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
        <Tags tags={tags} hrefOf={(tag) => pageOf({ tag })} />
        {description}
      </p>
    </div>
  );
}

function Actions({ job }: OfJob) {
  const { settings, incident, pause } = job;
  return (
    <div class="buttons aside">
      {settings !== null && <Ask action={runJob(job)} />}
      {incident !== null && <Ask action={incident.acknowledgement === null ? acknowledge(job) : unacknowledge(job)} />}
      {pause === null ? <Ask action={pauseJob(job)} /> : <Ask action={resumeJob(job)} class="primary" />}
    </div>
  );
}

function Facts({ job }: OfJob) {
  const { schedule, timeZone: zone, nextDueAt, lastRun, overdueSince, waiting, lastHolder } = job;
  return (
    <dl class="facts panel">
      <Fact name="Schedule" more={zone}>
        {schedule === null ? 'not in this jobs file' : <code>{schedule}</code>}
      </Fact>
      <Fact name="Next due">
        <NextDue at={nextDueAt} zone={zone} />
      </Fact>
      {lastRun === null ? (
        <Fact name="Last run">never</Fact>
      ) : (
        <Fact name="Last run" more={lastRunText(lastRun)}>
          <Link href={runHref(lastRun.runId)}>
            <Time at={lastRun.scheduledFor} zone={zone} />
          </Link>
        </Fact>
      )}
      <CurrentRun job={job} />
      <IncidentFact job={job} />
      <Fact name="Overdue">{overdueSince !== null && <Since at={overdueSince} zone={zone} />}</Fact>
      <Fact name="Requests">{waiting.length > 0 && plural(waiting.length, 'request waits', 'requests wait')}</Fact>
      <PauseFact job={job} />
      <Fact name="Last deployment">{lastHolder}</Fact>
    </dl>
  );
}

function Since({ at, zone }: { readonly at: string; readonly zone: string | null }) {
  return (
    <>
      for {span(Math.max(0, now.value - Date.parse(at)))}
      <span class="second">
        since <Time at={at} zone={zone} />
      </span>
    </>
  );
}

function PauseFact({ job: { pause, timeZone: zone } }: OfJob) {
  if (pause === null) return null;
  const { by, note, since, until } = pause;
  return (
    <Fact name="Paused">
      <span class="foreign">{noted(`by ${by}`, note)}</span>
      <span class="second">
        since <Time at={since} zone={zone} />
        {until !== null && ', until '}
        {until !== null && <Time at={until} zone={zone} />}
      </span>
    </Fact>
  );
}

/** It stands there without a run too, so that nothing moves when one starts or ends. */
function CurrentRun({ job: { currentRun, detail, pause } }: OfJob) {
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

/** The failures of a job until its next success, and who looks after them. */
function IncidentFact({ job: { incident, timeZone: zone } }: OfJob) {
  if (incident === null) return null;
  const { since, isWhole, failures, firstRunId, acknowledgement } = incident;
  return (
    <>
      <Fact
        name={failures === 0 ? 'Without success' : 'Failing'}
        more={failures === 0 ? 'no run has failed' : plural(failures, 'failed run')}
      >
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
      </Fact>
      {acknowledgement !== null && (
        <Fact name="Acknowledged">
          <span class="foreign">{noted(`by ${acknowledgement.by}`, acknowledgement.note)}</span>
          <span class="second">
            <Ago at={acknowledgement.at} zone={zone} />, until{' '}
            {acknowledgement.until === null ? 'its next success' : <Time at={acknowledgement.until} zone={zone} />}
          </span>
        </Fact>
      )}
    </>
  );
}
