/**
 * The app that `cronlease drill` runs, so that none of the user's own jobs has to: its jobs do nothing but take time.
 * Its other files are written by the command.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { defineJob, registerCoordinator } from './index';

const wait = defineJob({
  run: async ({ signal }, input) => {
    await sleep((input as { readonly ms: number }).ms, undefined, { signal });
  },
});

registerCoordinator({ jobs: 'jobs.json', handlers: { wait } });
