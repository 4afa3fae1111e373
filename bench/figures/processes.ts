import { readFileSync } from 'node:fs';

/** Jiffies a second: Linux has the same for all programs, whatever the kernel's own is. */
const TICKS_PER_SECOND = 100;

/** A process that has ended is not an error: what it used is lost with it. */
function readProc(file: string): string | undefined {
  try {
    return readFileSync(`/proc/${file}`, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH') return undefined;
    throw error;
  }
}

/** The CPU in ms that a line of /proc/PID/stat shows: the process's own, and that of its children that have ended. */
export function cpuOfStat(stat: string): number {
  // The name of the program is in brackets, and may have any characters in it.
  const fields = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const [utime = 0, stime = 0, cutime = 0, cstime = 0] = fields.slice(11, 15);
  return ((utime + stime + cutime + cstime) * 1000) / TICKS_PER_SECOND;
}

/** These processes, and all that came from them. */
function family(pids: readonly number[]): number[] {
  return pids.flatMap((pid) => {
    const children = (readProc(`${String(pid)}/task/${String(pid)}/children`) ?? '').trim();
    return [pid, ...(children === '' ? [] : family(children.split(' ').map(Number)))];
  });
}

/** The CPU that these processes and their children have used so far, in ms. */
export function cpuMs(pids: readonly number[]): number {
  return family(pids).reduce((sum, pid) => {
    const stat = readProc(`${String(pid)}/stat`);
    return stat === undefined ? sum : sum + cpuOfStat(stat);
  }, 0);
}

/** The resident memory of one process, in MB; 0 if it has ended. */
export function residentMb(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readProc(`${String(pid)}/status`) ?? '')?.[1] ?? 0) / 1024;
}

/** Long enough for the first line of /proc/stat, which is the sum of all processors. */
const FIRST_LINE = 200;

/** The CPU that all processes of this machine have used so far, in ms. */
export function machineCpuMs(): number {
  const [, user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = (readProc('stat') ?? '')
    .slice(0, FIRST_LINE)
    .split(/[ \n]+/)
    .map(Number);
  return ((user + nice + system + irq + softirq) * 1000) / TICKS_PER_SECOND;
}
