import { createRunner } from '../../../../src/runner/index';
import { handlers } from './handlers';

const runner = createRunner({ jobs: 'jobs.json', handlers });
process.once('SIGTERM', () => {
  void runner.stop({ finishWithin: process.env['FINISH_WITHIN'] ?? 0 });
});
runner.start();
