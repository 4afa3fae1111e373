import { registerCoordinator } from 'cronlease';
import { greet } from './greet';

registerCoordinator({ jobs: 'jobs.json', handlers: { greet } });
