import { type Child, type Exit, startChild } from './child';
import type { ToGuard } from './messages';

/** Ends processes that would outlive this one. */
export interface Guard {
  watch(child: Pick<Child<never>, 'pid' | 'exited'>): void;
  /** No longer needed: all that it watched has ended. */
  end(): Promise<Exit>;
}

export function startGuard(): Guard {
  const child = startChild<ToGuard, never>({ entry: 'guard-process' });
  return {
    watch({ pid, exited }) {
      child.send({ kind: 'watch', pid });
      // Its number may be given to another process.
      void exited.then(() => child.send({ kind: 'forget', pid }));
    },
    end() {
      child.kill('SIGKILL');
      return child.exited;
    },
  };
}
