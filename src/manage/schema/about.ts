import * as z from 'zod';
import { ACTIONS } from '../../core/audit';
import { CHANNELS } from '../../core/origin';
import { PRESENCE_STATES, SHORTAGES } from '../../core/presence-state';
import { ENVIRONMENT_COLORS } from '../environment';
import { ROLES } from '../rights';
import { body, change, Instant, instant, list, Milliseconds, note, object, whole } from './common';

export const Me = object('Me', 'The caller.', {
  actor: z.string(),
  role: z.enum(ROLES),
  payloads: z.boolean().describe('Whether the caller sees the inputs and results of runs.'),
  channel: z.string(),
  readOnly: z.boolean().describe('Whether this app refuses every change.'),
});

export const Version = object('Version', 'The app that answers.', {
  version: z.string().describe('The version of cronlease.'),
  deployment: z.string(),
  revision: z.int().describe('The revision of its jobs file.'),
  pollMs: z.int().describe('The shortest time between two polls that have news of each other.'),
  readOnly: z.boolean(),
  environment: z
    .object({ name: z.string(), color: z.enum(ENVIRONMENT_COLORS) })
    .nullable()
    .describe('The name of the environment, for people, and its colour.'),
});

export const Poked = object('Poked', 'What a poke saw and did.', {
  at: Instant.describe('When the tick began. Pokes within 5 s of it get its answer.'),
  deployment: z.string().describe('The deployment that ticked.'),
  due: z
    .int()
    .describe('How many jobs had something to do: a due time, a manual run, a run to take over or to resume.'),
  handedOver: z.int().describe('How many runs it has started. Other instances may have been faster with the rest.'),
  hubProven: z
    .boolean()
    .describe(
      'False: its task hub has not yet shown that it runs orchestrations, and nothing was claimed. Poke again.',
    ),
  cordoned: z.boolean().describe('Whether the deployment is cordoned, and claims nothing new.'),
});

export const Health = object('Health', 'The health of an instance.', { status: z.enum(['healthy', 'unhealthy']) });

export const AuditQuery = z.strictObject({
  limit: whole(1, 200).describe(
    'Default: 50. Of some changes, a page ends with the listing of 200 that reaches it, and may have more.',
  ),
  q: z
    .string()
    .max(200)
    .optional()
    .describe(
      'Words, each of which the actor, channel, action, target, state or note has. A page looks at 1,000 changes at most.',
    ),
  action: z.enum(ACTIONS).optional(),
  channel: z.enum(CHANNELS).optional().describe('Changes that came from there.'),
  since: instant.optional().describe('Made at this time or later.'),
  cursor: z.string().max(8_000).optional().describe('The `cursor` of the page before.'),
});

export const Audit = object('Audit', 'A page of changes, newest first.', {
  entries: list(
    z.object({
      id: z.string(),
      at: Instant,
      actor: z.string().describe('The person, or the name of the key.'),
      identity: z.string().nullable().describe('`TENANT/OBJECT` of Entra. Null: Entra has named no one.'),
      proven: z.boolean().describe('Whether Entra or a key has proved who the actor is.'),
      channel: z.string().describe('`browser`, `shell`, `key` or `app`.'),
      note: z.string().nullable().describe('Why, as the person wrote.'),
      action: z.string().describe('The command: `run`, `rerun`, `cancel`, `pause`, `resume`, `ack`, …'),
      target: z.string().describe('The job or the deployment.'),
      state: z
        .enum(['begun', 'done', 'refused'])
        .describe(
          '`begun`: its end is not known, because its writer died, storage did not answer, or others were faster.',
        ),
      before: z.unknown().optional().describe('What was there before. Absent if nothing was.'),
      after: z
        .unknown()
        .optional()
        .describe('What was there afterwards. For a change that was refused or not completed, the reason.'),
    }),
  ),
  problems: list(z.string()).describe('Entries that cronlease did not write.'),
  cursor: z.string().nullable().describe('Where the next page begins. Null if there is none.'),
});

const Issue = z.object({
  place: z.string().describe('The member, parameter or header.'),
  value: z.string().nullable().describe('Its value, shortened. Null if it is missing or secret.'),
  problem: z.string().describe('What is wrong with it.'),
  remedy: z.string().describe('What to do.'),
});

export const Problem = object('Problem', 'An error, as RFC 9457 describes it.', {
  type: z.literal('about:blank').describe('Always `about:blank`; `code` distinguishes the errors.'),
  title: z.string().describe('The meaning of the status.'),
  status: z.int().describe('The status of the answer.'),
  code: z.string().describe('What went wrong, for programs.'),
  detail: z.string().describe('What went wrong, for people.'),
  ...Issue.pick({ place: true, value: true, remedy: true }).shape,
  errors: list(Issue).optional().describe('Every error of the request, if it has several.'),
});

const Cordon = z.object({ by: z.string(), note: z.string(), since: Instant });

export const Deployment = object('Deployment', 'A deployment that has ticked in the last week.', {
  name: z.string(),
  state: z
    .enum(PRESENCE_STATES)
    .describe('`live`; `late`: it has missed three ticks; `silent`: it has not reported a tick for two minutes.'),
  tickedAt: Instant.describe('The last tick that it reported.'),
  version: z.string(),
  revision: z.int().describe('The revision of its jobs file.'),
  skewMs: Milliseconds.describe("How far its clock is ahead of the storage service's: 0 below 2 s."),
  hubProven: z.boolean().describe('Whether its task hub has shown that it runs orchestrations.'),
  shortOf: z
    .enum(SHORTAGES)
    .nullable()
    .describe('What its process lacks, so that most runs start late: CPU time, or the answers of storage.'),
  cordon: Cordon.nullable().describe('Why it claims nothing new.'),
});

export type DeploymentStatus = z.output<typeof Deployment>;

export const Maintenance = object('Maintenance', 'Planned work during which jobs are paused.', {
  by: z.string(),
  note: z.string(),
  since: Instant,
  until: Instant.nullable(),
  jobs: z.string().describe('Which jobs it paused, in words.'),
});

export const Deployments = object('Deployments', 'All deployments.', {
  now: Instant,
  deployments: list(Deployment),
  problems: list(z.string()),
});

export const Cordoned = object('Cordoned', 'A deployment that was cordoned, or whose cordon was lifted.', {
  deployment: z.string(),
  cordon: Cordon,
  ...change,
});
export type Cordoned = z.output<typeof Cordoned>;

export const RepairedLayout = object('RepairedLayout', 'The accounts whose layout was replaced.', {
  repaired: list(z.string()).describe('Empty: every layout can be read.'),
  ...change,
});

export const CordonBody = body('CordonBody', 'The reason of a cordon.', {
  note: note.describe('The reason, for others to read.'),
});
