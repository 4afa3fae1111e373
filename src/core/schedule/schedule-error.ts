/** A schedule, time zone or window that cannot be used, with the remedy. */
export class ScheduleError extends Error {
  readonly code = 'InvalidSchedule';
  override readonly name = 'ScheduleError';

  constructor(
    message: string,
    readonly remedy: string,
  ) {
    super(message);
  }
}
