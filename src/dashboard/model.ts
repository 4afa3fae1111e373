import type { Job, Jobs } from '../client/types';

export type {
  Audit,
  Calendar,
  DueTimes,
  Job,
  Jobs,
  Lanes,
  Me,
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
} from '../client/types';

export type Deployment = Jobs['deployments'][number];
export type RecentOutcome = Job['recent'][number];
