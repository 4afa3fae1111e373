/**
 * Entry of the guard: it ends the cluster's processes when the cluster itself is gone, by whatever means, even those
 * whose event loop is blocked and cannot see it. Then it removes the cluster's temporary folders. One small process for all: a thread in each instance to the same
 * end would take 12 MB of each.
 */
import { rmSync } from 'node:fs';
import type { ToGuard } from './messages';

const pids = new Set<number>();
const folders = new Set<string>();

process.on('message', (message: ToGuard) => {
  if (message.kind === 'remove') folders.add(message.folder);
  else if (message.kind === 'watch') pids.add(message.pid);
  else pids.delete(message.pid);
});
process.on('disconnect', () => {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch (error) {
      // It has seen for itself that the cluster is gone.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
  // A process may write until its signal arrives: a folder that is filled again meanwhile is tried again, for 5 s.
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
});
// A terminal sends them to the whole process group; the guard ends last.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => undefined);
process.on('SIGHUP', () => undefined);
