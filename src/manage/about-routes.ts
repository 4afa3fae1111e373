import { isoOf } from '../core/iso';
import { repairLayout } from '../operator/operations/repair-layout';
import { actingFor } from './acting';
import { RequestError } from './problem';
import { NONE, route } from './route';
import * as schema from './schema';
import { Health, Me, Poked, Version } from './schema';

export const pokeRoutes = [
  route({
    id: 'poke',
    role: 'operator',
    summary: 'start a tick now, as a second clock',
    description:
      'The deployment that answers looks at all jobs and claims what is due. Several pokes at once run one tick, and ' +
      'those within 5 s of it get its answer. It is not recorded, because it changes nothing that the timer would not.',
    body: NONE,
    answer: Poked,
    async run({ deployment }, { poke }) {
      const poked = await poke();
      if (poked === undefined) {
        throw new RequestError(503, 'Stopping', {
          place: 'instance',
          value: null,
          problem: 'the instance is being shut down',
          remedy: 'try again: another instance answers then',
        });
      }
      const { at, ...rest } = poked;
      return { at: isoOf(at), deployment, ...rest };
    },
  }),
] as const;

export const layoutRoutes = [
  route({
    id: 'repairLayout',
    role: 'admin',
    summary: 'replace a layout that something else wrote',
    description:
      'While the blob `jobs/-layout/control` of an account cannot be read, nothing is claimed there. With one account, the ' +
      'repair removes it; with several, it writes the layout of the other accounts. It changes no layout that can be read.',
    body: schema.NoteBody,
    answer: schema.RepairedLayout,
    run: (office, { body: { note }, ...call }) => repairLayout(actingFor(office, call, note)),
  }),
] as const;

export const aboutRoutes = [
  route({
    id: 'getMe',
    role: 'viewer',
    summary: 'show the caller and the role',
    answer: Me,
    run({ access }, { caller }) {
      if (caller === undefined) throw new Error('a caller without a login asked for itself');
      return Promise.resolve({ ...caller, readOnly: access.readOnly });
    },
  }),
  route({
    id: 'getVersion',
    role: 'viewer',
    summary: 'show the version of the app that answers',
    answer: Version,
    run({ version, deployment, revision, sweepIntervalMs: pollMs, access: { readOnly }, environment = null }) {
      return Promise.resolve({ version, deployment, revision, pollMs, readOnly, environment });
    },
  }),
  route({
    id: 'getLive',
    role: 'anybody',
    summary: 'show whether the process answers',
    answer: Health,
    run: () => Promise.resolve({ status: 'healthy' as const }),
  }),
  ...(['getHealth', 'getReady'] as const).map((id) =>
    route({
      id,
      role: 'anybody',
      summary: 'show whether the instance can work',
      description: 'The answer is at most 30 s old. 503 means that it cannot.',
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
