import { RequestError } from './problem';
import { NONE, route } from './route';
import { Poked } from './schema';
import { isoOf } from '../core/iso';

export const pokeRoutes = [
  route({
    id: 'poke',
    method: 'POST',
    path: 'poke',
    role: 'operator',
    summary: 'start a tick now, as a second clock',
    description:
      'The deployment that answers looks at all jobs and claims what is due. Several pokes at once run one tick, and ' +
      'those within 5 s of it get its answer. It is not recorded, because it changes nothing that the timer would not.',
    params: NONE,
    query: NONE,
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
