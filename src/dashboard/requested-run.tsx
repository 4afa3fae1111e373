import type { JSX } from 'preact';
import { live } from './live';
import type { OneJob } from './model';
import { Badge, Link, Notice, Skeleton } from './parts';
import { pageOf } from './address';
import { runHref } from './timeline';
import { useRead } from './use-read';
import type { Label } from './words';

/** The runs that were requested from this page: a deployment may not have heard of one yet. */
const asked = new Set<string>();

export function noteRequested(runId: string): void {
  asked.add(runId);
}

const REQUESTED: Label = { word: 'Requested', icon: 'clock', tone: 'busy' };

/** A run without a record: it is about to come, or retention has deleted its record. */
export function RunWithoutRecord({ id }: { readonly id: string }): JSX.Element {
  const [, job] = /^(.+)-\d{8}T[\d.]+Z-m-/.exec(id) ?? [];
  // Each further question after the run asks for its job, too.
  const { body, failure } = useRead<OneJob>(job && `jobs/${encodeURIComponent(job)}`, live.value);
  if (job === undefined || (failure !== undefined && !asked.has(id))) return <NoRecord />;
  if (body === undefined && failure === undefined && !asked.has(id)) return <Skeleton rows={6} what="the run" />;
  const isWaiting = asked.has(id) || body?.waiting.some(({ runId }) => runId === id) === true;
  const current = body?.currentRun?.runId;
  return isWaiting || current === id ? <Requested job={job} id={id} current={current} /> : <NoRecord />;
}

interface RequestedProps {
  readonly job: string;
  readonly id: string;
  /** The run of the job that is in progress. */
  readonly current: string | undefined;
}

function Requested({ job, id, current }: RequestedProps): JSX.Element {
  return (
    <Notice title="">
      <p role="status">
        <Badge label={REQUESTED} /> {current === id ? 'A deployment has claimed it.' : 'Waiting for a deployment.'}
      </p>
      {current !== undefined && current !== id ? (
        <p>
          <Link href={runHref(current)}>Another run of the job</Link> is in progress, and goes first.
        </p>
      ) : (
        <p class="muted">The run appears here as soon as it starts, mostly within seconds.</p>
      )}
      <p>
        <Link href={pageOf({ job })}>{job}</Link> · <Link href={pageOf({ view: 'deployments' })}>Deployments</Link>
      </p>
    </Notice>
  );
}

function NoRecord(): JSX.Element {
  return (
    <Notice title="This run has no record">
      <p>If it is old, its record may have been deleted by "keep".</p>
    </Notice>
  );
}
