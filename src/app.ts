import { registerCoordinator } from './index';
import { handlers } from './jobs';

registerCoordinator({ jobs: 'jobs.json', handlers });
