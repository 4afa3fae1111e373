import { ForeignRecordError } from '../../core/record';
import { isCall, isFanOut, isOrchestration, type Kept } from '../../handler/handlers';
import type { HeldRow } from '../held';
import { KEPT, keptPiece } from '../run-pieces';
import { type ClaimInput, type HandedOver, unpackRow } from '../message';
import { asking, fanOutStage, listPieces, readPiece, type Stage } from './fan-out';
import { orchestrationStage } from './orchestration';
import { inputOf } from './request-input';
import { callToEnd, endedBy, runHandler } from './run-handler';
import type { Attempt } from './waits';

/** How a run ends without another attempt. */
export type End = NonNullable<HandedOver['end']>;

/** Whether items or an orchestration of the app are at work for the run between its attempts. */
export function waitsForOthers({ job: { handler } }: HeldRow): boolean {
  return isFanOut(handler) || isOrchestration(handler);
}

export async function perform(
  attempt: Attempt,
  input: ClaimInput,
  kept: KeptPieces = keptBy(attempt.held),
): Promise<Stage> {
  const { job, key, row, ask } = attempt.held;
  const { handler } = job;
  const wanted = await inputOf(job, key, row.run, ask);
  if (wanted.kind === 'refused') return { handlerCall: endedBy(attempt.held, 'invalidInput', wanted.error) };
  const runInput = wanted.input as never;
  if (isCall(handler)) {
    const handlerCall = await runHandler(attempt, (context) => handler.call(context, runInput, kept));
    return { handlerCall, hasKept: kept.isUsed };
  }
  const isTimeOver = input.kind === 'handedOver' && input.end !== null;
  if (isOrchestration(handler)) return orchestrationStage(attempt, handler, runInput, { kept, isTimeOver });
  if (isFanOut(handler)) {
    const afterItems = isTimeOver || (input.kind === 'again' && unpackRow(input.row).phase === 'fanning');
    return fanOutStage(attempt, handler, runInput, afterItems);
  }
  return { handlerCall: await runHandler(attempt, (context) => handler.run(context, runInput)) };
}

/**
 * What remains of a run that is to end without another attempt: nothing, unless a call has left an operation. A cancel
 * ends it. Otherwise the attempts are used up, and the operation is polled on, because that calls nothing again.
 */
export async function performEnd(attempt: Attempt, input: ClaimInput, { outcome, reason }: End): Promise<Stage> {
  const { job, key, row, ask } = attempt.held;
  const { handler } = job;
  const kept = keptBy(attempt.held);
  if (!isCall(handler) || !(await hasOperation(kept))) return { handlerCall: undefined };
  if (outcome !== 'cancelled') return perform(attempt, input, kept);
  // Its templates may stand for nothing in the input of the file.
  const wanted = await inputOf(job, key, row.run, ask);
  const runInput = wanted.kind === 'input' ? wanted.input : job.input;
  await callToEnd(attempt, reason, (context) => handler.call(context, runInput, kept));
  return { handlerCall: undefined };
}

/** One that something else has overwritten can neither be polled nor ended, and must not keep its run from ending. */
async function hasOperation(kept: KeptPieces): Promise<boolean> {
  try {
    return (await kept.read()) !== undefined;
  } catch (error) {
    if (error instanceof ForeignRecordError) return false;
    throw error;
  }
}

/** The text that a run keeps, in pieces like those of a fan-out. */
interface KeptPieces extends Kept {
  /** Whether this attempt has written a piece. */
  readonly isUsed: boolean;
}

/**
 * Each text is a new piece, and the newest counts. Its name begins with the token of its claim: a former
 * holder that writes too late writes an older piece than its successor. Decision 130.
 */
function keptBy(held: HeldRow): KeptPieces {
  const { job, key, row } = held;
  let written = 0;
  let newest: Promise<string | undefined> | undefined;
  const readNewest = async (): Promise<string | undefined> => {
    const pieces = (await listPieces(held, key)).flatMap(({ name }) => (name.startsWith(KEPT) ? [name] : []));
    const last = pieces.toSorted().at(-1);
    return last === undefined ? undefined : (await readPiece(held, last)) || undefined;
  };
  return {
    get isUsed() {
      return written > 0;
    },
    read: () => (newest ??= readNewest()),
    async keep(text) {
      const name = keptPiece(row.token, written);
      written += 1;
      newest = undefined;
      const piece = { body: text, summary: {} };
      await asking(held, (store, signal) => store.createPiece(job.spec.name, key, name, piece, { signal }));
    },
  };
}
