import { defineJob } from 'cronlease';

/** Each attempt of a run calls it. An interrupted attempt is retried, so its work may be done twice. */
export const greet = defineJob({
  run: async ({ scheduledFor, log }, { name }: { name: string }) => {
    log(`Hello ${name}, at ${scheduledFor.toISOString()}`);
    return { greeted: name };
  },
});
