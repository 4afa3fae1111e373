import { isProven } from '../core/origin';
import { isObject } from '../core/metadata';
import { redactJson } from '../core/redact';
import { listAudit, searchAudit } from '../operator/audit';
import { readCursor, writeCursor } from './cursor';
import { route } from './route';
import { PAYLOADS } from './roles';
import { Audit, AuditQuery } from './schema';
import { isoOf } from '../core/iso';

const HIDDEN = `(needs the role ${PAYLOADS})`;

export const auditRoutes = [
  route({
    id: 'listAudit',
    role: 'viewer',
    follow: true,
    summary: 'list what people changed, newest first',
    query: AuditQuery,
    answer: Audit,
    async run({ store, redact }, { query: { limit = 50, cursor, ...wanted }, caller, signal }) {
      // As where the run itself shows its input.
      const hide = (value: unknown): unknown => (redact === undefined ? value : redactJson(value, redact));
      const shown = caller?.payloads === true ? hide : withoutInput;
      const request = { limit, ...(cursor === undefined ? {} : { continuation: readCursor(cursor)[0] ?? '' }) };
      const { entries, problems, continuation } = await (Object.keys(wanted).length === 0
        ? listAudit(store, request, { signal })
        : searchAudit(store, wanted, request, { signal }));
      return {
        entries: entries.map(({ at, origin, before, after, ...entry }) => ({
          ...entry,
          ...origin,
          at: isoOf(at),
          note: origin.note ?? null,
          identity: origin.identity ?? null,
          proven: isProven(origin),
          ...(before === undefined ? {} : { before: shown(before) }),
          ...(after === undefined ? {} : { after: shown(after) }),
        })),
        problems,
        cursor: continuation === undefined ? null : writeCursor([continuation]),
      };
    },
  }),
] as const;

/** The input of a run may have secrets, or data of persons. A value that was too long is a piece of text. */
function withoutInput(value: unknown): unknown {
  if (!isObject(value)) return value;
  const { input, cut, ...rest } = value;
  return input === undefined && cut === undefined ? value : { ...rest, input: HIDDEN };
}
