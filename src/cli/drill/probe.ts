import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/** The job whose run the drill interrupts. It is due again before its lease expires. */
export const LONG_JOB = 'drill-long';

const JOBS = {
  'drill-quick': { schedule: '@every 5s', handler: 'wait', lease: '15s', input: { ms: 100 } },
  [LONG_JOB]: { schedule: '@every 10s', handler: 'wait', lease: '15s', overlap: 'queue', input: { ms: 6_000 } },
};

const HOST = {
  version: '2.0',
  extensions: {
    durableTask: {
      hubName: '%TASKHUB_NAME%',
      storageProvider: {
        partitionCount: 1,
        maxQueuePollingInterval: '00:00:02',
        workItemQueueVisibilityTimeout: '00:00:30',
        controlQueueVisibilityTimeout: '00:01:00',
      },
    },
  },
};

/** A function app whose jobs do nothing but take time, in its own folder. */
export interface ProbeApp {
  readonly folder: string;
  readonly jobsFile: string;
}

export function createProbeApp(): ProbeApp {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'cronlease-drill-'));
  const write = (name: string, text: string): string => {
    const file = path.join(folder, name);
    fs.writeFileSync(file, text);
    return file;
  };
  write('package.json', JSON.stringify({ name: 'cronlease-drill', main: 'app.js' }));
  write('host.json', JSON.stringify(HOST));
  write('app.js', `require(${JSON.stringify(path.join(__dirname, '../..', 'drill-app.js'))});\n`);
  const jobsFile = write('jobs.json', JSON.stringify({ revision: 1, jobs: JOBS }));
  return { folder, jobsFile };
}
