import { pathOf } from '../../client/operations';
import { live } from '../data/live';
import type { OneJob } from '../../client/types';
import { Badge, Link, Notice } from './parts';
import { pageOf } from '../data/address';
import { runHref } from './runs-over-time';
import { useRead } from '../data/use-live';
import type { Label } from '../data/words';

const REQUESTED: Label = { word: 'Requested', icon: 'clock', tone: 'busy' };

/** A run without a record: it is about to come, or retention has deleted its record. */
export function RunWithoutRecord({ id, code }: { readonly id: string; readonly code: string }) {
  const [, job] = /^(.+)-\d{8}T[\d.]+Z-m-/.exec(id) ?? [];
  return job === undefined || code !== 'RunRequested' ? <NoRecord /> : <Requested job={job} id={id} />;
}

function Requested({ job, id }: { readonly job: string; readonly id: string }) {
  // Each further question after the run asks for its job, too.
  const { body } = useRead<OneJob>(pathOf('getJob', [job]), live.value);
  const current = body?.currentRun?.runId;
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
        <p class="muted">The run appears here as soon as it starts, usually within seconds.</p>
      )}
      <p>
        <Link href={pageOf({ job })}>{job}</Link> · <Link href={pageOf({ view: 'deployments' })}>Deployments</Link>
      </p>
    </Notice>
  );
}

function NoRecord() {
  return (
    <Notice title="This run has no record">
      <p>If it is old, its record may have been deleted by "keep".</p>
    </Notice>
  );
}
