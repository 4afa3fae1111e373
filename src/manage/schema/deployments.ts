import * as z from 'zod';
import { PRESENCE_STATES, SHORTAGES } from '../../core/presence-state';
import { change, Instant, list, Milliseconds, named, object, note } from './common';

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

export const Deployments = named(
  'Deployments',
  'All deployments.',
  z.object({ now: Instant, deployments: list(Deployment), problems: list(z.string()) }),
);

export const Cordoned = named(
  'Cordoned',
  'A deployment that was cordoned, or whose cordon was lifted.',
  z.object({ deployment: z.string(), cordon: Cordon, ...change }),
);
export type Cordoned = z.output<typeof Cordoned>;

export const RepairedLayout = named(
  'RepairedLayout',
  'The accounts whose layout was replaced.',
  z.object({ repaired: list(z.string()).describe('Empty: every layout can be read.'), ...change }),
);

export const CordonBody = named(
  'CordonBody',
  'The reason of a cordon.',
  z.strictObject({ note: note.describe('The reason, for others to read.') }),
);
