import type { Handlers } from '../index';

/** The handlers of this app, by the names that `jobs.json` uses. */
export const handlers: Handlers = {};
