/** Each operation, also for the server: its method, its path, and its arguments after those of the path. `...` is an object of several. */
export const OPERATIONS = {
  listJobs: 'GET jobs ...',
  getJob: 'GET jobs/{job}',
  listDueTimes: 'GET next ...',
  getTimeline: 'GET timeline ...',
  explain: 'GET jobs/{job}/why time',
  listRuns: 'GET runs ...',
  getRun: 'GET runs/{run}',
  getLog: 'GET runs/{run}/log ...',
  getCalendar: 'GET jobs/{job}/calendar ...',
  listDeployments: 'GET deployments',
  runJob: 'POST jobs/{job}/runs',
  rerun: 'POST runs/{run}/rerun',
  planBackfill: 'GET jobs/{job}/backfill/plan ...',
  startBackfill: 'POST jobs/{job}/backfill ...',
  getBackfill: 'GET jobs/{job}/backfill',
  stopBackfill: 'DELETE jobs/{job}/backfill',
  cancelRun: 'POST runs/{run}/cancel',
  pauseJob: 'POST jobs/{job}/pause note',
  resumeJob: 'POST jobs/{job}/resume',
  acknowledge: 'POST jobs/{job}/acknowledgement',
  unacknowledge: 'DELETE jobs/{job}/acknowledgement',
  pauseJobs: 'POST pause ... note',
  resumeJobs: 'POST resume ...',
  cordonDeployment: 'POST deployments/{deployment}/cordon note',
  uncordonDeployment: 'POST deployments/{deployment}/uncordon',
  repairLayout: 'POST layout/repair',
  poke: 'POST poke',
  listAudit: 'GET audit ...',
  getMe: 'GET me',
  getVersion: 'GET version',
  getReady: 'GET health/ready',
  getLive: 'GET health/live',
} as const;

export type Operation = keyof typeof OPERATIONS;

/** The method of an operation, its path with these names in it, and the names of its other arguments. */
export function routeOf(
  id: Operation,
  names: readonly string[],
): readonly [method: string, path: string, ...rest: string[]] {
  const [method = '', path = '', ...rest] = OPERATIONS[id].split(' ');
  let filled = 0;
  return [method, path.replaceAll(/\{\w+\}/g, () => encodeURIComponent(names[filled++] ?? '')), ...rest];
}

type Query = Readonly<Record<string, string | number | boolean | Date | undefined>>;

/** The path of what an operation reads, with its query. */
export function pathOf(id: Operation, names: readonly string[] = [], query: Query = {}): string {
  return routeOf(id, names)[1] + queryText(query);
}

export function queryText(query: Query): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) search.set(name, value instanceof Date ? value.toISOString() : String(value));
  }
  const text = search.toString();
  return text === '' ? '' : `?${text}`;
}
