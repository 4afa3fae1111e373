import type { Handlers } from '../../src/index';
import { closeBooks } from './close-books';
import { countTo20, sayHello } from './first-run';
import { purgeOldReports } from './purge-old-reports';
import { storageReport } from './storage-report';
import { wordIndex } from './word-index';

/** The handlers of `samples/jobs.json`. No package has them. */
export const samples: Handlers = {
  'storage-report': storageReport,
  'purge-old-reports': purgeOldReports,
  'word-index': wordIndex,
  'close-books': closeBooks,
  'say-hello': sayHello,
  'count-to-20': countTo20,
};
