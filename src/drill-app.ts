/**
 * The app that `cronlease drill` runs in place of the user's jobs: its jobs do nothing but take time. The command
 * writes its other files.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { defineJob, registerCoordinator } from './index';

const wait = defineJob({
  run: async ({ signal }, input) => {
    await sleep((input as { readonly ms: number }).ms, undefined, { signal });
  },
});

registerCoordinator({ jobs: 'jobs.json', handlers: { wait } });
