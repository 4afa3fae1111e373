// Types alone: nothing of the server, and no package, reaches a caller's bundle.
import type * as z from 'zod';
import type * as schema from '../manage/schema';

export type Jobs = z.output<typeof schema.Jobs>;
export type Job = z.output<typeof schema.Job>;
export type JobState = z.output<typeof schema.JobState>;
export type OneJob = z.output<typeof schema.OneJob>;
export type DueTimes = z.output<typeof schema.DueTimes>;
export type Why = z.output<typeof schema.Why>;
export type Runs = z.output<typeof schema.Runs>;
export type RunSummary = z.output<typeof schema.RunSummary>;
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
export type Audit = z.output<typeof schema.Audit>;
export type Json = z.input<typeof schema.Json>;
export type PausedMany = z.output<typeof schema.PausedMany>;
export type Paused = z.output<typeof schema.Paused>;
export type Resumed = z.output<typeof schema.Resumed>;
export type Problem = z.output<typeof schema.Problem>;
