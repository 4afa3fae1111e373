/**
 * Entry of the guard: it ends the cluster's processes when the cluster itself is gone, by whatever means, even those
 * whose event loop is blocked and cannot see it. One small process for all: a thread in each instance to the same
 * end would take 12 MB of each.
 */
import type { ToGuard } from './messages';

const pids = new Set<number>();

process.on('message', ({ kind, pid }: ToGuard) => void (kind === 'watch' ? pids.add(pid) : pids.delete(pid)));
process.on('disconnect', () => {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch (error) {
      // It has seen for itself that the cluster is gone.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
});
// A terminal sends them to the whole process group; the guard ends last.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => undefined);
process.on('SIGHUP', () => undefined);
