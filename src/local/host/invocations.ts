import type { Invoke } from './invoke';

/** Counts the invocations of a host. */
export interface Invocations {
  readonly invoke: Invoke;
  /** Resolves once none is running. */
  idle(): Promise<void>;
}

export function countInvocations(invoke: Invoke): Invocations {
  let underWay = 0;
  const waiting: (() => void)[] = [];
  return {
    async invoke(fn, input) {
      underWay += 1;
      try {
        return await invoke(fn, input);
      } finally {
        underWay -= 1;
        const isIdle = underWay === 0 ? waiting.splice(0) : [];
        for (const resolve of isIdle) resolve();
      }
    },
    idle: () => (underWay === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
  };
}
