import { formatDuration } from '../core/duration';
import { marginOf } from '../core/job';
import { showSpan } from '../core/show-time';
import { subjectOf } from '../operator/subject';
import { heldLease, unlockJob } from '../operator/unlock';
import type { HeldLease } from '../operator/unlock';
import { confirm } from './confirm';
import type { FileOptions } from './jobs-file';
import { fileAtHand } from './jobs-file';
import { OK, print, printJson, say } from './output';
import type { StorageOptions } from './storage';
import { openStore } from './storage';
import type { ShowTime, TimeOptions } from './time';
import { timesOf } from './time';

export interface UnlockOptions extends FileOptions, StorageOptions, TimeOptions {
  readonly yes?: boolean | undefined;
  readonly json?: boolean | undefined;
}

/** `cronlease unlock`: breaks a lease. */
export async function unlock(job: string, options: UnlockOptions): Promise<number> {
  const file = fileAtHand(options);
  const store = openStore(options);
  const { name, spec } = await subjectOf(store, job, file);
  const held = await heldLease(store, name);
  const show = timesOf(options);
  if (options.yes !== true) say(`${consequences(held, spec?.leaseMs, show)}\n`);
  await confirm(job, options.yes === true);
  const { leftMs } = await unlockJob(store, held);
  const until = Date.now() + leftMs;
  if (options.json) {
    printJson({ job, runId: held.runId ?? null, holder: held.holder ?? null, endsInMs: leftMs });
    return OK;
  }
  const patience =
    spec === undefined ? 'a lease and its margin' : formatDuration(spec.leaseMs + marginOf(spec.leaseMs));
  print(
    `Broke the lease of ${job}: it cannot be renewed any more, and ends at ${show(Math.ceil(until / 1000) * 1000)}. ` +
      `A tick takes the job once it has seen it broken for ${patience}.`,
  );
  return OK;
}

/** What a person should know before. */
function consequences(
  { job, runId, holder, attempt, since }: HeldLease,
  leaseMs: number | undefined,
  show: ShowTime,
): string {
  const who = holder === undefined ? 'An instance' : `An instance of ${holder}`;
  const what = runId === undefined ? '' : `, with attempt ${attempt} of run ${runId}`;
  const when = since === undefined ? '' : ` since ${show(since)}`;
  const third = leaseMs === undefined ? 'a third of the lease' : `a third of the lease (${showSpan(leaseMs / 3)})`;
  return [
    `${who} holds the lease of ${job}${what}${when}.`,
    `Breaking it ends what runs: its holder is told when it next renews, at most ${third} from now, and its handler's`,
    'signal is aborted. One that is cut off from storage may go on until it trusts the lease no more. Nobody else takes',
    'the job before that, and then the run is tried again: what its handler did without asking its fence may be done twice.',
  ].join('\n');
}
