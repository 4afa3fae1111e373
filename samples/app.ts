import { registerCoordinator } from '../src/index';
import { handlers } from '../src/jobs';
import { samples } from './handlers';

// What `npm start` runs: the app of this repository, and the samples beside it.
registerCoordinator({ jobs: 'jobs.json', handlers: { ...samples, ...handlers } });
