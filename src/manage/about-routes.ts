import { RequestError } from './problem';
import { NONE, NOTHING, route } from './route';
import { Health, Me, Version } from './schema';

export const aboutRoutes = [
  route({
    id: 'getMe',
    method: 'GET',
    path: 'me',
    role: 'viewer',
    summary: 'show the caller and the role',
    params: NONE,
    query: NONE,
    body: NOTHING,
    answer: Me,
    run({ access }, { caller }) {
      if (caller === undefined) throw new Error('a caller without a login asked for itself');
      return Promise.resolve({ ...caller, readOnly: access.readOnly });
    },
  }),
  route({
    id: 'getVersion',
    method: 'GET',
    path: 'version',
    role: 'viewer',
    summary: 'show the version of the app that answers',
    params: NONE,
    query: NONE,
    body: NOTHING,
    answer: Version,
    run({ version, deployment, revision, sweepIntervalMs: pollMs, access: { readOnly }, environment = null }) {
      return Promise.resolve({ version, deployment, revision, pollMs, readOnly, environment });
    },
  }),
  route({
    id: 'getLive',
    method: 'GET',
    path: 'health/live',
    role: 'anybody',
    summary: 'show whether the process answers',
    params: NONE,
    query: NONE,
    body: NOTHING,
    answer: Health,
    run: () => Promise.resolve({ status: 'healthy' as const }),
  }),
  ...(['health', 'health/ready'] as const).map((path) =>
    route({
      id: path === 'health' ? 'getHealth' : 'getReady',
      method: 'GET',
      path,
      role: 'anybody',
      summary: 'show whether the instance can do its work: storage answers, and nothing else is wrong',
      description: 'The answer is at most 30 s old. 503 means that it cannot.',
      params: NONE,
      query: NONE,
      body: NOTHING,
      answer: Health,
      async run({ isReady }) {
        if (await isReady()) return { status: 'healthy' as const };
        throw new RequestError(503, 'Unhealthy', {
          place: 'instance',
          value: null,
          problem: 'storage does not answer, or the instance is in trouble or stopping',
          remedy: 'read its log',
        });
      },
    }),
  ),
];
