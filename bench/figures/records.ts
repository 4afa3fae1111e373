/** The start of one handler. */
export interface Start {
  readonly job: string;
  /** Milliseconds since the epoch, as all times here. */
  readonly due: number;
  /** By the machine's clock, whatever the worker's own clock shows. */
  readonly at: number;
  readonly pid: number;
  readonly attempt: number;
}

export function parseStart(line: string): Start {
  const [job, due, at, pid, attempt, ...rest] = line.split(' ');
  if (job === undefined || attempt === undefined || rest.length > 0) {
    throw new Error(`The record of a start cannot be read: ${JSON.stringify(line)}`);
  }
  return { job, due: Number(due), at: Number(at), pid: Number(pid), attempt: Number(attempt) };
}
