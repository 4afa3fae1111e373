import { type Child, type Exit, startChild } from './child';
import type { ToGuard } from './messages';

/** Ends processes and removes folders that would outlive this process. Decision 118. */
export interface Guard {
  watch(child: Pick<Child<never>, 'pid' | 'exited'>): void;
  /** Removes the folder if this process dies before {@link Guard.end}. Otherwise its owner removes it. */
  remove(folder: string): void;
  /** Ends the guard, once all the processes that it watched have ended. */
  end(): Promise<Exit>;
}

export function startGuard(): Guard {
  const child = startChild<ToGuard, never>({ entry: 'guard-process' });
  return {
    watch({ pid, exited }) {
      child.send({ kind: 'watch', pid });
      // Another process may get its id.
      void exited.then(() => child.send({ kind: 'forget', pid }));
    },
    remove(folder) {
      child.send({ kind: 'remove', folder });
    },
    end() {
      child.kill('SIGKILL');
      return child.exited;
    },
  };
}
