import { ForeignRecordError } from '../../core/record';
import type { JobContext } from '../../handler/handler';
import { isCall, isFanOut, isOrchestration, type Kept } from '../../handler/handlers';
import type { HeldRow } from '../held';
import { KEPT, keptPiece } from '../kept-end';
import { type ClaimInput, type HandedOver, unpackRow } from '../message';
import { asking, fanOutStage, listPieces, readPiece, type Stage } from './fan-out';
import { orchestrationStage } from './orchestration';
import { inputOf } from './request-input';
import { type Attempted, type HandlerCall, callToEnd, notCalled, runHandler, endedBy } from './run-handler';
import { waitForGroup } from './waits';

/** How a run ends without another attempt. */
export type End = NonNullable<HandedOver['end']>;

/** Whether items or an orchestration of the app are at work for the run between its attempts. */
export function waitsForOthers({ job: { handler } }: HeldRow): boolean {
  return isFanOut(handler) || isOrchestration(handler);
}

/** Calls the part of the handler that this attempt is for. */
export async function perform(
  held: HeldRow,
  attempted: Attempted,
  input: ClaimInput,
  kept: KeptPieces = keptBy(held),
): Promise<Stage> {
  const { handler } = held.job;
  const wanted = await inputOf(held.job, held.key, held.row.run, held.ask);
  if (wanted.kind === 'refused') return { handlerCall: endedBy(held, 'invalidInput', wanted.error) };
  const runInput = wanted.input as never;
  const call = (part: (context: JobContext) => unknown) => runHandler(held, attempted, part);
  if (isCall(handler)) {
    const handlerCall = await call((context) => handler.call(context, runInput, kept));
    return { handlerCall, hasKept: kept.isUsed };
  }
  if (isOrchestration(handler)) {
    const ways = { call, signal: attempted.aborter.signal, kept };
    return orchestrationStage(held, { handler, input: runInput }, ways, input);
  }
  if (!isFanOut(handler)) return { handlerCall: await call((context) => handler.run(context, runInput)) };
  const afterItems = input.kind === 'again' ? unpackRow(input.row).phase === 'fanning' : input.end !== null;
  const place = () => placeForItems(held, attempted);
  return fanOutStage(held, { handler, input: runInput }, { call, place }, afterItems);
}

/**
 * What remains of a run that is to end without another attempt: nothing, unless a call has left an operation. A cancel
 * ends it. Otherwise the attempts are used up, and the operation is polled on, because that calls nothing again.
 */
export async function performEnd(
  held: HeldRow,
  attempted: Attempted,
  input: ClaimInput,
  { outcome, reason }: End,
): Promise<Stage> {
  const { handler } = held.job;
  const kept = keptBy(held);
  if (!isCall(handler) || !(await hasOperation(kept))) return { handlerCall: undefined };
  if (outcome !== 'cancelled') return perform(held, attempted, input, kept);
  // Its templates may stand for nothing in the input of the file.
  const wanted = await inputOf(held.job, held.key, held.row.run, held.ask);
  const runInput = wanted.kind === 'input' ? wanted.input : held.job.input;
  await callToEnd(held, attempted, reason, (context) => handler.call(context, runInput, kept));
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

/**
 * The items of a run work under its place in the group. An attempt that leaves items to their lanes without its own
 * call mostly finds the place that the run has kept. Decision 073.
 *
 * @returns the end of the attempt, if it has no place
 */
async function placeForItems(held: HeldRow, attempted: Attempted): Promise<HandlerCall | undefined> {
  const { aborter, membership } = attempted;
  if (!membership.isNeeded) return undefined;
  const { end } = await waitForGroup(held, { ...attempted, signal: aborter.signal }, membership);
  return end === undefined && !aborter.signal.aborted ? undefined : notCalled(held, aborter, end);
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
    const pieces = await listPieces(held, key);
    const last = pieces
      .map((piece) => piece.name)
      .filter((piece) => piece.startsWith(KEPT))
      .toSorted()
      .at(-1);
    const text = last === undefined ? '' : await readPiece(held, last);
    return text === '' ? undefined : text;
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
