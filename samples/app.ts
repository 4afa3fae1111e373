import { registerCoordinator } from '../src/index';
import { handlers } from '../src/jobs';
import { samples } from './handlers';
import { registerCallTargets } from './handlers/call-targets';

// What `npm start` runs: the app of this repository, and the samples beside it.
registerCallTargets();
registerCoordinator({ jobs: 'jobs.json', handlers: { ...samples, ...handlers } });
