import { hash } from 'node:crypto';
import type { JobSpec } from './job';
import {
  type Field,
  type RecordOf,
  decodeFields,
  encodeFields,
  fieldIn,
  instantIn,
  oneOfIn,
  optional,
  textIn,
  wholeIn,
} from './metadata';
import { SHORTAGES } from './presence-state';

export interface Rival {
  readonly instance: string;
  readonly hub: string | undefined;
}

const RIVAL_HUB = optional(textIn('rivalhub'));

const RIVAL: Field<Rival | undefined> = {
  read(metadata) {
    const instance = metadata['rival'];
    return instance === undefined ? undefined : { instance, hub: RIVAL_HUB.read(metadata) };
  },
  write(rival, metadata) {
    if (rival === undefined) return;
    metadata['rival'] = rival.instance;
    RIVAL_HUB.write(rival.hub, metadata);
  },
};

const PRESENCE = {
  /** The process that wrote it. */
  instance: textIn('instance'),
  /** The task hub and its storage account. */
  hub: optional(textIn('hub')),
  /** The version of cronlease. */
  version: textIn('version'),
  /** The revision of the jobs file. */
  revision: wholeIn('revision'),
  /** {@link jobsHash} of the jobs file. */
  jobs: textIn('jobs'),
  /** When the tick wrote this, by the service's time. */
  tickedAt: instantIn('ticked'),
  /** The longest time between two fires of its timer. */
  tickEveryMs: wholeIn('every'),
  /** How far the machine's clock is ahead of the service's; 0 below 2 s. */
  skewMs: fieldIn('skew', 'milliseconds', (text) => (/^-?\d{1,15}$/.test(text) ? Number(text) : undefined)),
  /** Whether its task hub has shown that it runs orchestrations. */
  hubProven: fieldIn('proven', 'true or false', (text) =>
    /^(?:true|false)$/.test(text) ? text === 'true' : undefined,
  ),
  /** Over how many storage accounts it deals its jobs. Undefined: it has one. */
  accounts: optional(wholeIn('accounts')),
  /** What the process lacks, so that most of its handlers are called late. Undefined: nothing. */
  shortOf: optional(oneOfIn('short', SHORTAGES)),
  /** Another process that reported for the same deployment while this one ticked. */
  rival: RIVAL,
};

type Stored = RecordOf<typeof PRESENCE>;
type MayLack = 'accounts' | 'shortOf';

/**
 * A deployment's own report: the metadata of `deployments/<deployment>`. `doctor` reads it, and a sweep that sees the row of
 * a job which its own file lacks.
 */
export interface Presence extends Omit<Stored, MayLack>, Partial<Pick<Stored, MayLack>> {}

export function encodePresence(presence: Presence): Readonly<Record<string, string>> {
  return encodeFields<Presence>(PRESENCE, presence);
}

/** Throws `ForeignMetadataError` when the metadata is not a presence. */
export function decodePresence(metadata: Readonly<Record<string, string>>): Presence {
  return decodeFields<Presence>(PRESENCE, metadata);
}

/**
 * A hash of all jobs with their defaults. Two files with the same settings have the same hash, even if their revisions
 * differ.
 */
export function jobsHash(jobs: readonly JobSpec[]): string {
  const sorted = [...jobs].sort((a, b) => (a.name < b.name ? -1 : 1));
  return hash('sha256', JSON.stringify(sorted)).slice(0, 16);
}
