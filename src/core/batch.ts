/** So many claims make one activity, the unit in which a task hub spreads work over instances. */
export const CLAIMS_AN_ACTIVITY = 8;
/** So many activities make one orchestration, whose history is replayed with each of their ends. */
export const ACTIVITIES_A_BATCH = 4;

/** What a task hub does for claims that are handed over. */
export interface HubWork {
  readonly orchestrations: number;
  readonly activities: number;
  /** Calls of orchestrators: one at the start, and one with each end of an activity. */
  readonly turns: number;
}

/** The work for claims that are handed over together, as far as each run ends with its first attempt. */
export function handOverWork(claims: number): HubWork {
  const whole = CLAIMS_AN_ACTIVITY * ACTIVITIES_A_BATCH;
  const orchestrations = Math.ceil(claims / whole);
  const activities = Math.floor(claims / whole) * ACTIVITIES_A_BATCH + Math.ceil((claims % whole) / CLAIMS_AN_ACTIVITY);
  return { orchestrations, activities, turns: orchestrations + activities };
}
