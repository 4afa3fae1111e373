import type { Note } from './app/note';
import { dueTimes, type Evidence, outcomesOf, say } from './evidence';
import { isSameExecution } from './safety';

export const GROUP = 'db';
export const PLACES = 2;
export const GROUP_JOBS = ['door-1', 'door-2', 'door-3', 'door-4'];

interface Term {
  readonly note: Note;
  readonly until: number;
}

/** The least that a holder trusts a lease of 15 s after it has acquired or renewed it: less 2 s, and 1 s of the Dates. */
const TRUST_MS = 12_000;

/**
 * From the start of each handler of the group until its end, its process's end, or the end of its trust. A handler
 * that is stopped may trust its lease as long as one that runs.
 */
function termsOf({ notes, faults, traffic }: Evidence): Term[] {
  const stoppedUntil = ({ pid, job, deployment, at }: Note, until: number, endedAt = Infinity): number => {
    const stop = faults.find((fault) => fault.kind === 'stopped' && fault.pid === pid);
    if (stop === undefined || at > stop.from || endedAt < stop.from) return until;
    const proofs = traffic.filter(
      ({ call, deployment: of, status, sentAt }) =>
        (call.kind === 'acquire' || call.kind === 'renew') &&
        call.job === job &&
        of === deployment &&
        status < 300 &&
        sentAt < stop.from,
    );
    return Math.max(until, ...proofs.map(({ sentAt }) => sentAt + TRUST_MS));
  };
  const killed = new Map(faults.flatMap(({ kind, pid, from }) => (kind === 'killed' ? [[pid, from] as const] : [])));
  return notes
    .filter(({ what, job }) => what === 'started' && GROUP_JOBS.includes(job))
    .map((note) => {
      const end = notes.find(({ what, ...other }) => what === 'ended' && isSameExecution(note, other));
      return { note, until: stoppedUntil(note, end?.trustedAt ?? killed.get(note.pid) ?? note.at, end?.at) };
    });
}

/** How the group of a scenario fell short, in words. */
export function groupMisses(evidence: Evidence, withinMs: number | undefined): string[] {
  if (withinMs === undefined) return [];
  const { faults } = evidence;
  const terms = termsOf(evidence);
  const together = (at: number): number => terms.filter((one) => one.note.at <= at && at < one.until).length;
  const tooMany = terms.filter(({ note }) => together(note.at) > PLACES);
  const wasInside = faults.some(({ pid, from }) =>
    terms.some(({ note, until }) => note.pid === pid && note.at <= from && from <= until),
  );
  return [
    ...tooMany.map(({ note }) => `${String(together(note.at))} of the group ran when ${note.job} started`),
    ...(terms.some(({ note }) => together(note.at) === PLACES) ? [] : ['the group was never full']),
    ...(wasInside ? [] : ['no victim was inside the group']),
    ...lateOnes(evidence, withinMs),
  ];
}

/** Every due time has an outcome by now, so one without a start has been skipped. */
function lateOnes({ jobs, span, notes, ledger }: Evidence, withinMs: number): string[] {
  const grouped = jobs.filter(({ name }) => GROUP_JOBS.includes(name));
  return dueTimes(grouped, span).flatMap(({ job, due }) => {
    const ran = notes.some(
      (note) => note.what === 'started' && note.job === job && note.scheduledFor === due && note.at <= due + withinMs,
    );
    const passed = outcomesOf(ledger, job, due).some(({ outcome }) => outcome === 'overlapped');
    return ran || passed ? [] : [`${say(job, due)} did not start within ${String(withinMs / 1000)} s`];
  });
}
