import { repairLayout } from '../operator/operations/repair-layout';
import { actingFor } from './acting';
import { NONE, route } from './route';
import * as schema from './schema';

export const layoutRoutes = [
  route({
    id: 'repairLayout',
    method: 'POST',
    path: 'layout/repair',
    role: 'admin',
    summary: 'replace a layout that something else wrote',
    description:
      'While the blob `jobs/-layout/control` of an account cannot be read, nothing is claimed there. The repair removes ' +
      'it where there is one account, and writes the layout of the other accounts where there are several. It leaves ' +
      'every layout unchanged that can be read.',
    params: NONE,
    query: NONE,
    body: schema.NoteBody,
    answer: schema.RepairedLayout,
    run: (office, { body: { note }, ...call }) => repairLayout(actingFor(office, call, note)),
  }),
] as const;
