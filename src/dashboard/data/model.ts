import type { Job, Jobs } from '../../client/types';

export type {
  Audit,
  BackfillPlan,
  Calendar,
  Deployments,
  DueTimes,
  Job,
  Jobs,
  Timeline,
  Me,
  OneBackfill,
  OneJob,
  OneRun,
  PausedMany,
  Problem,
  Resumed,
  RunOutcome as Outcome,
  RunLog,
  Runs,
  RunSummary,
  Version,
  Why,
} from '../../client/types';

export type Deployment = Jobs['deployments'][number];
export type RecentOutcome = Job['recent'][number];
