// Only types: nothing of the server, and no package, reaches a caller's bundle.
import type * as z from 'zod';
import type * as schema from '../manage/schema';

export type Jobs = z.output<typeof schema.Jobs>;
/** A job as lists show it. */
export type Job = z.output<typeof schema.Job>;
/** What a job is doing. */
export type JobState = z.output<typeof schema.JobState>;
export type OneJob = z.output<typeof schema.OneJob>;
export type Timeline = z.output<typeof schema.Timeline>;
export type DueTimes = z.output<typeof schema.DueTimes>;
export type Why = z.output<typeof schema.Why>;
export type Runs = z.output<typeof schema.Runs>;
/** A run as lists show it. */
export type RunSummary = z.output<typeof schema.RunSummary>;
/** What started a run. */
export type Trigger = z.output<typeof schema.Trigger>;
/** The outcome of a due time. */
export type RunOutcome = z.output<typeof schema.RunOutcome>;
export type OneRun = z.output<typeof schema.OneRun>;
export type RunLog = z.output<typeof schema.RunLog>;
export type Calendar = z.output<typeof schema.Calendar>;
export type Deployments = z.output<typeof schema.Deployments>;
export type Me = z.output<typeof schema.Me>;
export type Version = z.output<typeof schema.Version>;
export type Health = z.output<typeof schema.Health>;
export type Requested = z.output<typeof schema.Requested>;
export type Cancelled = z.output<typeof schema.Cancelled>;
export type Cordoned = z.output<typeof schema.Cordoned>;
export type Acknowledged = z.output<typeof schema.Acknowledged>;
export type Audit = z.output<typeof schema.Audit>;
export type BackfillPlan = z.output<typeof schema.BackfillPlan>;
export type OneBackfill = z.output<typeof schema.OneBackfill>;
export type StartedBackfill = z.output<typeof schema.StartedBackfill>;
export type StoppedBackfill = z.output<typeof schema.StoppedBackfill>;
/** Any JSON, such as the input of a job. */
export type Json = z.input<typeof schema.Json>;
export type PausedMany = z.output<typeof schema.PausedMany>;
export type Paused = z.output<typeof schema.Paused>;
export type Resumed = z.output<typeof schema.Resumed>;
export type RepairedLayout = z.output<typeof schema.RepairedLayout>;
export type Poked = z.output<typeof schema.Poked>;
/** The body of an answer that is an error (RFC 9457). */
export type Problem = z.output<typeof schema.Problem>;

/** An instant, as a `Date` or in RFC 3339. */
export type Time = Date | string;
/** The query of `GET runs`. */
export type RunsQuery = Readonly<
  Omit<z.output<typeof schema.RunsQuery>, 'failed' | 'since' | 'until'> & {
    /** Runs that failed, timed out or stalled. */
    failed?: true | undefined;
    since?: Time | undefined;
    until?: Time | undefined;
  }
>;
/** Selects changes. */
export type AuditQuery = Readonly<Omit<z.output<typeof schema.AuditQuery>, 'since'> & { since?: Time | undefined }>;
/** Selects jobs, and the hours around now. */
export type TimelineQuery = Readonly<z.output<typeof schema.TimelineQuery>>;
/** Selects future due times. */
export type DueTimesQuery = Readonly<
  Omit<z.output<typeof schema.DueTimesQuery>, 'from' | 'until'> & {
    from?: Time | undefined;
    until?: Time | undefined;
  }
>;
