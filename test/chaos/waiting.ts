import { appendFileSync } from 'node:fs';
import { type CallTarget, callTarget } from '../support/call-target';
import type { Note } from './app/note';
import { type Evidence, say } from './evidence';
import { trueNow } from './time';

/** The job that is an orchestration. */
export const STEPS = 'steps';
/** The job that is a call, whose operation is polled. */
export const POLLED = 'polled';

/** So long after its call, an operation has ended: longer than a take-over may take. */
const OPERATION_MS = 50_000;

/**
 * The target of calls. It notes each call, and the start of each attempt that it hears of: one that polls makes no call.
 *
 * @param file where the notes go
 */
export function startTarget(file: string): Promise<CallTarget> {
  const attempts = new Set<string>();
  let calledAt = Infinity;
  return callTarget(({ method, headers }, response) => {
    const attempt = String(headers['x-cronlease-attempt']);
    const note = (what: Note['what']): void => {
      const line: Note = {
        ...{ what, job: POLLED, attempt: Number(attempt), trigger: 'schedule', deployment: '', pid: 0, at: trueNow() },
        scheduledFor: Date.parse(String(headers['x-cronlease-scheduled-for'])),
        token: Number(headers['x-cronlease-token']),
      };
      appendFileSync(file, `${JSON.stringify(line)}\n`);
    };
    if (!attempts.has(attempt)) note('started');
    attempts.add(attempt);
    if (method === 'POST') {
      note('called');
      calledAt = Math.min(calledAt, trueNow());
      response.writeHead(202, { 'operation-location': '/operation', 'retry-after': '1' }).end();
      return;
    }
    const status = trueNow() - calledAt > OPERATION_MS ? 'Succeeded' : 'Running';
    response.writeHead(200, { 'content-type': 'application/json', 'retry-after': '1' }).end(JSON.stringify({ status }));
  });
}

/** How runs that outlive their holders fell short, in words. */
export function waitingMisses({ jobs, notes, ledger, faults }: Evidence): string[] {
  const names = jobs.map(({ name }) => String(name)).filter((name) => name === STEPS || name === POLLED);
  return names.flatMap((job) => {
    const own = notes.filter((note) => note.job === job);
    const count = (what: Note['what']): number => own.filter((note) => note.what === what).length;
    const isStopped = faults.some(({ kind }) => kind === 'stopped');
    return [
      ...ledger.flatMap(({ job: of, scheduledFor, state, outcome }) =>
        of !== job || state !== 'final' || outcome === 'succeeded' ? [] : [`${say(job, scheduledFor)} is ${outcome}`],
      ),
      ...(count('started') < 2 ? ['no other attempt has continued the run'] : []),
      ...(job === POLLED && count('called') !== 1 ? [`${String(count('called'))} calls were made`] : []),
      ...(job === STEPS && isStopped && count('refused') === 0 ? ['no step of the old orchestration was refused'] : []),
    ];
  });
}
