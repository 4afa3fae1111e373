import { registerCoordinator } from '../src/index';
import { handlers } from '../src/jobs';
import { samples } from './handlers';
import { registerCallTargets } from './handlers/call-targets';
import { registerCloseBooks } from './handlers/close-books';

// What `npm start` runs: the app of this repository, and the samples beside it.
registerCallTargets();
registerCloseBooks();
registerCoordinator({ jobs: 'jobs.json', handlers: { ...samples, ...handlers } });
