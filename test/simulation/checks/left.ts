import type { Row } from '../../../src/core/row';
import { type Actor, type JobFacts, type PresenceFacts, type Report, isPerson, keyText } from '../world/facts';

/** A deployment counts for five minutes after its presence, by clocks and Dates that are a little off. */
const PRESENT_MS = 290_000;
/** The mark is written this long after the listing of the presences at most. */
const MARKED_WITHIN_MS = 20_000;

/** Checks what a row write does to the mark of a job that no file has. */
export function checkLeft(
  facts: JobFacts,
  before: Row,
  row: Row,
  { actor, presences, now }: { readonly actor: Actor; readonly presences: PresenceFacts; readonly now: number },
  report: Report,
): void {
  const { name } = facts;
  const hasJob = actor.spec(name) !== undefined;
  if (row.leftSince !== undefined && before.leftSince === undefined) {
    const what = `${actor.id} has marked its row`;
    if (hasJob) report('markedWrongly', name, `${what}, and has the job`);
    if (actor.revision < before.revision) report('markedWrongly', name, `${what} with an older file`);
    for (const [deployment, { actor: other, at }] of presences) {
      const isPresent = now - at > MARKED_WITHIN_MS && now - at < PRESENT_MS;
      if (isPresent && other.spec(name) !== undefined)
        report('markedWrongly', name, `${what}, and ${deployment} has the job`);
    }
    if (row.cursor !== before.cursor || row.token !== before.token)
      report('markedWrongly', name, `${what} and decided`);
  }
  if (before.leftSince === undefined || isPerson(actor)) return;
  const isDue = row.run?.trigger === 'schedule' || row.run?.trigger === 'catchUp';
  if (row.token > before.token && row.attempt === 1 && isDue) {
    report('ranWhileLeft', name, `${keyText(row.run?.key ?? '')} was claimed before the row counted as back`);
  }
  if (row.leftSince === undefined && row.cursor < before.leftSince) {
    report('ranWhileLeft', name, 'the row counts as back before what came meanwhile has its outcome');
  }
}
