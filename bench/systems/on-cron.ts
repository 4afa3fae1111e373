import { Cron } from 'croner';
import { type BenchJob, cronOf, nextDue } from '../load';

/**
 * Calls `fire` at each due time of each job.
 * @param onError - called when a call has failed
 * @returns ends all schedules
 */
export function onCron(
  jobs: readonly BenchJob[],
  fire: (job: BenchJob, due: number) => Promise<void>,
  onError: (error: unknown) => void,
): () => void {
  const crons = jobs.map((job) => {
    let due = nextDue(job.schedule, Date.now());
    return new Cron(cronOf(job.schedule), { timezone: 'UTC' }, () => {
      const now = due;
      // As croner itself does: due times that have passed meanwhile are skipped.
      due = nextDue(job.schedule, Date.now());
      if (now !== undefined) fire(job, now).catch(onError);
    });
  });
  return () => {
    for (const cron of crons) cron.stop();
  };
}

/** For systems in which no call may fail: the worker ends, and the benchmark reports it. */
export function endProcess(error: unknown): void {
  console.error(error);
  process.exit(1);
}
