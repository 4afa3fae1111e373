import { repairLayouts } from '../operator/shards/repair';
import { change, originOf } from './change';
import { NONE, route } from './route';
import * as schema from './schema';

export const layoutRoutes = [
  route({
    ...{ id: 'repairLayout', method: 'POST', path: 'layout/repair', role: 'admin' },
    summary: 'replace a layout that something else wrote',
    description:
      'While the blob `jobs/-layout/control` of an account cannot be read, nothing is claimed there. The repair removes ' +
      'it where there is one account, and writes the layout of the other accounts where there are several. It leaves ' +
      'every layout alone that can be read.',
    params: NONE,
    query: NONE,
    body: schema.NoteBody,
    answer: schema.RepairedLayout,
    async run(office, { body, signal, caller }) {
      const what = { action: 'shards', target: 'layout', origin: originOf({ caller }, body.note), signal } as const;
      const { result, recorded } = await change(office, what, async () => {
        const repaired = await repairLayouts(office.store, { signal });
        return { result: repaired, after: { repaired } };
      });
      return { repaired: [...result], recorded };
    },
  }),
] as const;
