import { registerCoordinator } from '../../../../src/index';
import { handlers } from './handlers';

registerCoordinator({ jobs: 'jobs.json', handlers });
