/**
 * Entry of the guard: when the cluster has ended, by whatever means, the guard ends its processes, even those with a
 * blocked event loop that cannot notice the end. Then it removes the cluster's temporary folders. It is one small
 * process for all: a thread in each instance for the same purpose would take 12 MB each.
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
      // The process has ended by itself.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
  // A process may write until its signal arrives, so a folder that fills again is retried for 5 s.
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
});
// A terminal signals the whole process group, but the guard must end last.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
