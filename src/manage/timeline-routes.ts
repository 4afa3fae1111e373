import * as z from 'zod';
import { timelineOf } from '../operator/views/timeline';
import { entriesOf } from './jobs-routes';
import { NONE, NOTHING, route } from './route';
import { Timeline } from './schema';
import { isoOf } from '../core/iso';

const HOUR = 3_600_000;

export const timelineRoutes = [
  route({
    id: 'getTimeline',
    method: 'GET',
    path: 'timeline',
    role: 'viewer',
    follow: true,
    summary: 'list what jobs have done and will do around now',
    description: 'Jobs that have nothing in the window are left out. An answer has up to 200 due times of each job.',
    params: NONE,
    query: z.strictObject({
      hours: z.coerce
        .number()
        .int()
        .min(1)
        .max(12)
        .optional()
        .describe('The window reaches this far back and this far ahead. Default: 12.'),
      tag: z.string().min(1).max(100).optional().describe('Jobs with this tag only.'),
      q: z.string().max(200).optional().describe('Words, each of which the name, the description or a tag has.'),
      skip: z.coerce.number().int().min(0).max(100_000).optional().describe('Jobs to leave out before the first one.'),
      limit: z.coerce.number().int().min(1).max(100).optional().describe('Default: 50.'),
    }),
    body: NOTHING,
    answer: Timeline,
    async run(office, { query: { hours = 12, tag, q: text, skip = 0, limit = 50 } }) {
      const { now, entries } = await entriesOf(office);
      return { now: isoOf(now), ...timelineOf(entries, { now, reachMs: hours * HOUR, tag, text, skip, limit }) };
    },
  }),
] as const;
