import { isoOf } from '../core/iso';
import { isObject } from '../core/metadata';
import { isProven } from '../core/origin';
import { redactJson } from '../core/redact';
import { listAudit, searchAudit } from '../operator/audit';
import { repairLayout } from '../operator/shards/apply';
import { actingFor } from './acting';
import { readCursor, writeCursor } from './cursor';
import { RequestError } from './problem';
import { PAYLOADS } from './roles';
import { NONE, route } from './route';
import * as schema from './schema';
import { Audit, AuditQuery, Health, Me, Poked, Version } from './schema';

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

const HIDDEN = `(needs the role ${PAYLOADS})`;

export const auditRoutes = [
  route({
    id: 'listAudit',
    role: 'viewer',
    follow: true,
    summary: 'list what people changed, newest first',
    query: AuditQuery,
    answer: Audit,
    async run({ store, redact }, { query: { limit = 50, cursor, ...wanted }, caller }) {
      // As where the run itself shows its input.
      const hide = (value: unknown): unknown => (redact === undefined ? value : redactJson(value, redact));
      const shown = caller?.payloads === true ? hide : withoutInput;
      const request = { limit, ...(cursor === undefined ? {} : { continuation: readCursor(cursor)[0] ?? '' }) };
      const { entries, problems, continuation } = await (Object.keys(wanted).length === 0
        ? listAudit(store, request)
        : searchAudit(store, wanted, request));
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
