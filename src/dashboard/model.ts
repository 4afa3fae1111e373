import type { Job, Jobs } from '../client/types';

export type {
  DueTimes,
  Job,
  Jobs,
  Me,
  OneJob,
  OneRun,
  Problem,
  RunOutcome as Outcome,
  Runs,
  RunSummary,
  Version,
  Why,
} from '../client/types';

export type Deployment = Jobs['deployments'][number];
export type RecentOutcome = Job['recent'][number];
