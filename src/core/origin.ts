import { given } from './given';
import type { EpochMs } from './brand';
import { asciiJson, isInstant, isObject } from './metadata';

/** The schedule; the command line; a page; a program with the name of a key, or with a login of Entra. */
export const CHANNELS = ['schedule', 'shell', 'browser', 'key', 'app'] as const;

/** Who started a run or made a change, from where, and why: its note. */
export interface Origin {
  /** A person, the name of a key, or `cronlease`. */
  readonly actor: string;
  /** One of {@link CHANNELS}. */
  readonly channel: string;
  readonly note?: string;
  /**
   * `TENANT/OBJECT` of Entra: a person may choose the name, and two may have the same one. Only the records of changes
   * keep it. Absent if Entra has named no one.
   */
  readonly identity?: string;
}

/** The origin of a run that no person asked for. */
export const SCHEDULED: Origin = { actor: 'cronlease', channel: 'schedule' };

/** What a person may give along with a manual run. */
export interface Asked {
  readonly origin?: Origin;
  /** The due time of an earlier run, which this one repeats: its handler sees that time as its own. */
  readonly rerunOf?: EpochMs;
  /** The manual run has its own input, stored under its id. */
  readonly hasInput?: true;
}

/** Each part is cut to this many characters, and the note further, to what a row has room for. */
const PART = { actor: 100, channel: 32, note: 200 } as const;
const STORED_BYTES = 360;

/** The origin as short as rows and controls need it: at most 360 bytes of ASCII JSON. */
export function boundedOrigin({ actor, channel, note }: Origin): Origin {
  let bounded: Origin = { actor: actor.slice(0, PART.actor), channel: channel.slice(0, PART.channel) };
  if (note !== undefined && note !== '') bounded = { ...bounded, note: note.slice(0, PART.note) };
  while (asciiJson(bounded).length > STORED_BYTES) bounded = shorter(bounded);
  return bounded;
}

function shorter({ note = '', ...origin }: Origin): Origin {
  if (note.length > 10) return { ...origin, note: note.slice(0, -10) };
  return { ...origin, actor: origin.actor.slice(0, -10) };
}

/** Reads an origin leniently: it serves only people. */
export function readOrigin(value: unknown): Origin | undefined {
  if (!isObject(value)) return undefined;
  const { actor, channel, note } = value;
  if (typeof actor !== 'string' || typeof channel !== 'string') return undefined;
  return { actor, channel, ...(typeof note === 'string' ? { note } : {}) };
}

/** Reads what a manual run has besides its time, from an object whose other members the caller checks. */
export function readAsked({ origin, rerunOf, hasInput }: Readonly<Record<string, unknown>>): Asked {
  const known = readOrigin(origin);
  return {
    ...given({ origin: known }),
    ...(isInstant(rerunOf) ? { rerunOf } : {}),
    ...(hasInput === true ? { hasInput } : {}),
  };
}

/** Whether Entra, or a key, has proved who the actor is: a shell without a token of Entra can name anyone. */
export function isProven({ channel, identity }: Origin): boolean {
  return identity !== undefined || channel === 'key' || channel === 'schedule';
}

/** Only the members of {@link Asked}. */
export function askedOf({ origin, rerunOf, hasInput }: Asked): Asked {
  return {
    ...given({ origin, rerunOf, hasInput }),
  };
}
