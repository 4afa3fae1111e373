import type { Handlers } from '../index';
import { countTo20, sayHello } from './first-run';
import { purgeOldReports } from './purge-old-reports';
import { storageReport } from './storage-report';
import { wordIndex } from './word-index';

/** The handlers of this app, by the names that `jobs.json` uses. */
export const handlers: Handlers = {
  'storage-report': storageReport,
  'purge-old-reports': purgeOldReports,
  'word-index': wordIndex,
  'say-hello': sayHello,
  'count-to-20': countTo20,
};
