import * as z from 'zod';
import { listAudit } from '../operator/audit';
import { readCursor, writeCursor } from './cursor';
import { NOTHING, route } from './route';
import { Audit } from './schema';
import { iso } from './show';

export const auditRoutes = [
  route({
    ...{ id: 'listAudit', method: 'GET', path: 'audit', role: 'viewer', follow: true },
    summary: 'list what people changed, newest first',
    params: z.strictObject({}),
    query: z.strictObject({
      limit: z.coerce.number().int().min(1).max(200).optional().describe('Default: 50.'),
      cursor: z.string().max(2_000).optional().describe('The `cursor` of the page before.'),
    }),
    body: NOTHING,
    answer: Audit,
    async run({ store }, { query: { limit = 50, cursor }, signal }) {
      const request = { limit, ...(cursor === undefined ? {} : { continuation: readCursor(cursor)[0] ?? '' }) };
      const { entries, problems, continuation } = await listAudit(store, request, { signal });
      return {
        entries: entries.map(({ id, at, origin, action, target, state, before, after }) => ({
          ...{ id, at: iso(at), actor: origin.actor, channel: origin.channel, reason: origin.reason ?? null },
          ...{ action, target, state },
          ...(before === undefined ? {} : { before }),
          ...(after === undefined ? {} : { after }),
        })),
        problems,
        cursor: continuation === undefined ? null : writeCursor([continuation]),
      };
    },
  }),
] as const;
