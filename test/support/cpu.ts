/** The CPU time of this process for a piece of work, in ms: other processes on the machine hardly change it. */
export function cpuTime(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** The CPU time, in ms, to write 10,000 small objects as JSON and to read them: what this machine can do now. */
export function calibration(): number {
  const objects = Array.from({ length: 10_000 }, (_, index) => ({
    name: `job-${String(index)}`,
    at: index,
    tags: ['a', 'b'],
  }));
  const times = Array.from({ length: 9 }, () => cpuTime(() => void JSON.parse(JSON.stringify(objects))));
  return times.toSorted((a, b) => a - b)[4] ?? Number.NaN;
}
