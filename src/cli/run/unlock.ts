import { formatDuration } from '../../core/duration';
import { marginOf } from '../../core/job';
import { showSpan } from '../../core/show-time';
import { operate } from '../../operator/audit';
import { type HeldLease, heldLease, unlockJob } from '../../operator/operations/unlock';
import { OK, print, printJson, say } from '../output';
import { type ShowTime, timesOf } from '../time';
import { confirm } from './confirm';
import { type OperateOptions, targetOf } from './operate';
import { actingOn } from './person';

export interface UnlockOptions extends OperateOptions {
  readonly yes?: boolean | undefined;
}

export async function unlock(job: string, options: UnlockOptions): Promise<number> {
  const { store, subject } = await targetOf(job, options);
  const { name, spec } = subject;
  const held = await heldLease(store, name);
  const show = timesOf(options);
  if (options.yes !== true) say(`${consequences(held, spec?.leaseMs, show)}\n`);
  await confirm(job, options.yes === true);
  const { leftMs } = await operate(await actingOn(store), 'unlock', job, async () => {
    const answer = await unlockJob(store, held);
    const { runId = null, holder = null } = held;
    return { answer, before: { runId, holder }, after: { endsInMs: answer.leftMs } };
  });
  const until = Date.now() + leftMs;
  if (options.json) return printJson({ job, runId: held.runId ?? null, holder: held.holder ?? null, endsInMs: leftMs });
  const patience =
    spec === undefined ? 'a lease and its margin' : formatDuration(spec.leaseMs + marginOf(spec.leaseMs));
  print(
    `Broke the lease of ${job}: it can no longer be renewed, and ends at ${show(Math.ceil(until / 1000) * 1000)}. ` +
      `A tick takes the job over once it has seen the broken lease for ${patience}.`,
  );
  return OK;
}

/** The consequences of an unlock, to read before the confirmation. */
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
    `Breaking it interrupts the run: the holder finds out at its next renewal, at most ${third} from now, and aborts`,
    "its handler's signal. A holder that is cut off from storage may continue until its trust in the lease ends. Only",
    'after that does another instance take the job over and retry the run. Work that the handler did without its fence',
    'may then be done twice.',
  ].join('\n');
}
