import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import { defineJob } from '../../src/index';

export const sayHello = defineJob({
  input: z.strictObject({ name: z.string() }),
  run: ({ log }, { name }) => {
    log(`Hello, ${name}!`);
    return { greeted: name };
  },
});

/** Takes 20 s, which leaves time to kill its process. */
export const countTo20 = defineJob({
  run: async ({ signal, progress, log, attempt }) => {
    for (let count = 1; count <= 20; count += 1) {
      await sleep(1000, undefined, { signal });
      progress(String(count));
    }
    log(attempt === 1 ? 'counted to 20' : `counted to 20, from 1 again in attempt ${String(attempt)}`);
    return { counted: 20 };
  },
});
