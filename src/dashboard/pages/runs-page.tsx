import { useState } from 'preact/hooks';
import type { Job, Runs } from '../../client/types';
import { isBad } from '../../core/shown-state';
import { rerunAll } from '../data/actions';
import { pageOf } from '../data/address';
import { now } from '../data/live';
import { RECENT } from '../data/marks';
import { mayAct } from '../data/session';
import { useHeldRuns, useLive } from '../data/use-live';
import { plural } from '../data/words';
import { Ask } from '../parts/action-dialog';
import { NotYet } from '../parts/help';
import { Link } from '../parts/parts';
import { RunFilters, runsPath } from '../parts/run-filters';
import { Listed } from '../parts/runs-table';

const PAGE = 50;
const NIGHT_HOURS = 12;

export function RunsPage() {
  const [openedAt] = useState(() => now.peek());
  const path = runsPath(undefined, PAGE, openedAt);
  const { body, failure } = useLive<Runs>(path);
  return (
    <>
      <div class="title">
        <h1>Runs</h1>
        <p class="muted">of all jobs, newest first</p>
      </div>
      <RunFilters ofAll />
      {body === undefined ? <NotYet failure={failure} what="runs" rows={10} /> : <Chosen key={path} newest={body} />}
    </>
  );
}

function Chosen({ newest }: { readonly newest: Runs }) {
  const { runs, order } = useHeldRuns(newest.runs);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const choose = (runId: string, isChosen: boolean): void => {
    setChosen((before) => new Set([...before].filter((one) => one !== runId).concat(isChosen ? [runId] : [])));
  };
  // What is no longer listed is not run again unseen.
  const listed = runs.filter(({ runId }) => chosen.has(runId));
  return (
    <>
      {mayAct.value && (
        <p class="buttons">
          <Ask action={rerunAll(listed)} disabled={listed.length === 0}>
            {listed.length === 0 ? 'Run again' : `Run ${plural(listed.length, 'run')} again`}
          </Ask>
          <span class="muted">
            {listed.length === 0 ? 'Choose the runs first.' : 'Nothing runs before you confirm.'}
          </span>
        </p>
      )}
      <Listed
        runs={{ ...newest, runs }}
        order={order}
        selection={{ chosen, choose: mayAct.value ? choose : undefined }}
      />
    </>
  );
}

/** Leads to the runs that failed last night, if any did. Of a job that runs often, the row lacks the older ones. */
export function FailedLately({ jobs }: { readonly jobs: readonly Job[] }) {
  const since = now.value - NIGHT_HOURS * 3_600_000;
  const lately = jobs.map(({ recent }) => recent.filter(({ scheduledFor }) => Date.parse(scheduledFor) >= since));
  const failed = lately.flat().filter(({ outcome }) => outcome !== null && isBad(outcome)).length;
  if (failed === 0) return null;
  const isWhole = lately.every((recent) => recent.length < RECENT);
  return (
    <Link href={pageOf({ view: 'runs', outcome: 'bad', hours: String(NIGHT_HOURS) })}>
      {isWhole ? '' : 'At least '}
      {plural(failed, 'run')} failed in the last {NIGHT_HOURS} hours
    </Link>
  );
}
