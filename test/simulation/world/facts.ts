import type { activityFence } from '../../../src/coordinator/activity-fence';
import type { OrchestrationRun } from '../../../src/core/orchestration';
import type { ETag, JobName, LeaseId } from '../../../src/core/brand';
import type { Control } from '../../../src/core/control';
import type { JobSpec } from '../../../src/core/job';
import { parseRecordKey } from '../../../src/core/key';
import type { LedgerRecord } from '../../../src/core/record';
import type { Row } from '../../../src/core/row';
import type { ItemContext } from '../../../src/handler/define-fan-out';
import type { JobContext } from '../../../src/handler/handler';
import type { SimulatedProcess } from './process';

/** The locations of the stores. In most histories there is only the first. */
export const FIRST_STORE = 'memory';
export const NEXT_STORE = 'memory-next';

/** A promise that was broken. `kind` stays the same however the history around it is shortened. */
export interface Violation {
  readonly kind: string;
  readonly job: string;
  readonly text: string;
}

/** When a listing was made and arrived, and when the one before was made: a decision on that one may be in flight. */
export interface ListedView {
  readonly at: number;
  /** When its row was read, which may lie on a later page. */
  readonly rowAt: number;
  readonly cameAt: number;
  readonly before: number;
}

/** One process as the observer knows it. All times are true ones, in ms since 1970. */
export interface Actor {
  readonly id: string;
  readonly deployment: string;
  readonly revision: number;
  readonly spec: (job: JobName) => JobSpec | undefined;
  /** How far its idea of the service's time is ahead. */
  readonly error: () => number;
  /** The most that it was seen to be ahead: a clock may have been set since. */
  readonly mostError: () => number;
  /** By job, the largest error of its time as it sent a row that is not written yet. */
  readonly largestErrorSent: Map<JobName, number>;
  /** Its machine's wall clock is wrong. */
  readonly skewed: () => boolean;
  /** Since then, its task hub delivers nothing, permanently. */
  readonly hubDeadSince: () => number | undefined;
  /** How long before a due time it may claim at most. */
  readonly lookAheadMs: number;
  /** The jobs whose control it could not read again before a handler. */
  readonly unread: Set<JobName>;
  /** The last listing of a job that has reached it. */
  readonly views: Map<JobName, ListedView>;
}

/** The last writer of each deployment's presence, and when it was written. */
export type PresenceFacts = ReadonlyMap<string, { readonly actor: Actor; readonly at: number }>;

/** Whether it is a command of people: they belong to no deployment. */
export function isPerson({ deployment }: Actor): boolean {
  return deployment === '';
}

/** A lease as one process asked for it. */
export interface Acquisition {
  readonly actor: Actor;
  /** The length that it has at the service. Its first renewal may have changed it. */
  leaseMs: number;
  /** When the listings of its first and its last decision were made. */
  readonly viewAt: number;
  lastViewAt: number;
  /** When it was first and last sent: an attempt with a late message repeats it. */
  readonly firstSentAt: number;
  sentAt: number;
  /** The smallest and the largest error of its process's time. */
  errors: readonly [number, number];
  skewed: boolean;
  /** When it took effect first; undefined: not yet. */
  at: number | undefined;
  /** When it took effect last. */
  lastAt: number;
  /** When it, or a renewal, took effect last. */
  provenAt: number;
  /** A renewal took effect after the lease had ended. Its holder's trust had ended before, and never returns. */
  isLate: boolean;
  /** When its process gave it to the task hub, or tried to. */
  handedOverAt: number | undefined;
  /**
   * When it was acquired again after its hand-over, and when once more after its lease had ended: an attempt with a late
   * message decides again after that. A copy of its call may come later.
   */
  readonly again: { readonly at: number; readonly isAfterEnd: boolean }[];
  /** The row was written under it. */
  used: boolean;
  /** Its holder has released it after that. */
  released: boolean;
}

export interface ClaimFact {
  readonly token: number;
  readonly at: number;
  readonly leaseId: LeaseId;
  readonly before: Row;
  /** How far off the clock of the writer of `before` was. */
  readonly beforeError: number;
  readonly row: Row;
}

/** One handler at work. */
export interface Execution {
  readonly context: JobContext;
  readonly process: SimulatedProcess;
  readonly actor: Actor;
  readonly leaseId: LeaseId | undefined;
  running: boolean;
}

/** One item at work. */
export interface ItemExecution {
  readonly context: ItemContext;
  readonly process: SimulatedProcess;
}

/** One activity of an orchestration at work. */
export interface ActivityExecution {
  readonly run: OrchestrationRun;
  readonly fence: ReturnType<typeof activityFence>;
  readonly process: SimulatedProcess;
}

export interface RecordFact {
  readonly record: LedgerRecord;
  /** First and last due time. */
  readonly span: readonly [number, number];
  readonly writtenAt: number;
  /** The lifecycle rule has deleted it. */
  readonly isDeleted?: boolean;
  /** When it did. */
  readonly deletedAt?: number;
}

/** Another program wrote over a row or a control, until an operator repaired it. */
export interface Spoiled {
  readonly what: 'row' | 'control';
  readonly since: number;
  readonly until: number | undefined;
}

/** The observed state of one job around a failover of the storage account. */
export interface FailedOver {
  /** When its blobs returned to earlier states. */
  readonly at: number;
  /** The state of the row that returned. */
  readonly row: Row | undefined;
  /** The highest token that was ever given out. */
  readonly tokens: number;
  /** The keys of all runs whose handler was ever called. */
  readonly called: ReadonlySet<string>;
  /** Undefined: `recover` is not over. */
  recovered: Recovered | undefined;
}

export interface Recovered {
  readonly at: number;
  /** Due times and requests up to here may have run. */
  readonly until: number;
  /** The key of the run that continues. */
  readonly run: string | undefined;
  /** The keys of all requests that the control showed by then. */
  readonly manualRuns: ReadonlySet<string>;
  /** Its next attempt follows in any case. */
  readonly reruns: boolean;
}

/** The observed state of one job. */
export interface JobFacts {
  readonly name: JobName;
  /** All jobs. */
  readonly others: ReadonlyMap<JobName, JobFacts>;
  /** By revision. */
  readonly specs: readonly JobSpec[];
  row: Row | undefined;
  etag: ETag | undefined;
  /** The location of the store in which its row counts. */
  home: string;
  /** Its row there is marked as moved, and its copy does not count yet. */
  hasLeft: boolean;
  /** Who has written a control last where the job no longer is, if it is still there. */
  strayControl: string | undefined;
  /** The copy of its row that is on its way to another store. */
  copy: Row | undefined;
  /** How far off the time of the row's last writer was, as it sent the row or as the row was written. */
  writerError: number;
  /** The schedules that the row followed, and the cursor after which it did. */
  readonly reigns: { readonly hash: string; readonly after: number }[];
  /** When its row was created, in the service's time: the first cursor. */
  firstCursor: number;
  readonly records: Map<string, RecordFact>;
  /** Claims by run and attempt, and by token. */
  readonly claims: Map<string, ClaimFact>;
  readonly claimOf: Map<number, ClaimFact>;
  readonly started: Map<string, { readonly key: string; readonly token: number; readonly at: number }>;
  /** Tokens whose handler returned. */
  readonly returned: Set<number>;
  /** How long the handler of a token said that it had waited for a place in its group and for a permit. */
  readonly permitWaits: Map<number, number>;
  readonly executions: Set<Execution>;
  readonly items: Set<ItemExecution>;
  readonly activities: Set<ActivityExecution>;
  /** It is an orchestration, whose handler no instance calls. */
  isOrchestration: boolean;
  /** The runs of which an orchestration has succeeded, by key. */
  readonly orchestrated: Set<string>;
  /** The tokens of the orchestrations that have ended by themselves. */
  readonly endedOrchestrations: Set<number>;
  /** The runs of which a success was kept while they waited for it, by key. */
  readonly endKept: Set<string>;
  /** When each piece of a run that fans out was stored, by the run's key and the piece's name. */
  readonly pieces: Map<string, Map<string, number>>;
  /** The number of a run's items, by the run's key. */
  readonly planned: Map<string, number>;
  /** When the row was no longer left to the items of a token. */
  readonly wentOn: Map<number, number>;
  readonly acquisitions: Map<LeaseId, Acquisition>;
  /** The holder of the lease by the service's rules, and its end. */
  lease: { readonly id: LeaseId; readonly until: number; readonly broken: boolean } | undefined;
  /** Every version of the control, with the time of its write. */
  readonly controls: { readonly at: number; readonly control: Control }[];
  /** When its row or its control was not cronlease's. One at a time. */
  readonly spoiled: Spoiled[];
  /** When an instance last reported that it is left alone, or has other trouble. */
  saidUnhealthyAt: number;
  /** The numbers of requests, by their ids. */
  readonly requested: Map<string, number>;
  /** Unrun stretches that the row has ever owed, by record key. */
  readonly owed: Map<string, string>;
  fencedToken: number;
  /** When handlers ended by themselves, by token. */
  readonly endedAt: Map<number, number>;
  /** When an instance last reported that it is overdue. */
  saidOverdueAt: number;
  failedOver: FailedOver | undefined;
  /** The notices that the changes of its row call for, by id: the run of each. */
  readonly toTell: Map<string, string>;
  /** The notices that were created, and when each was last asked for. */
  readonly told: Map<string, number>;
}

export function newFacts(name: JobName, specs: readonly JobSpec[], others: ReadonlyMap<JobName, JobFacts>): JobFacts {
  return {
    name,
    others,
    specs,
    row: undefined,
    etag: undefined,
    home: FIRST_STORE,
    hasLeft: false,
    strayControl: undefined,
    copy: undefined,
    writerError: 0,
    reigns: [],
    firstCursor: 0,
    records: new Map(),
    claims: new Map(),
    claimOf: new Map(),
    started: new Map(),
    returned: new Set(),
    permitWaits: new Map(),
    executions: new Set(),
    items: new Set(),
    activities: new Set(),
    isOrchestration: false,
    orchestrated: new Set(),
    endedOrchestrations: new Set(),
    endKept: new Set(),
    pieces: new Map(),
    planned: new Map(),
    wentOn: new Map(),
    acquisitions: new Map(),
    lease: undefined,
    controls: [],
    spoiled: [],
    saidUnhealthyAt: -Infinity,
    requested: new Map(),
    owed: new Map(),
    fencedToken: 0,
    endedAt: new Map(),
    saidOverdueAt: -Infinity,
    failedOver: undefined,
    toTell: new Map(),
    told: new Map(),
  };
}

/** Ends a spoil. Returns false where it had ended already: a job that is forgotten loses its spoiled control. */
export function endSpoil({ spoiled }: JobFacts, what: Spoiled['what'], until: number): boolean {
  const index = spoiled.findIndex((one) => one.what === what && one.until === undefined);
  const current = spoiled[index];
  if (current !== undefined) spoiled[index] = { ...current, until };
  return current !== undefined;
}

export type Report = (kind: string, job: string, text: string) => void;

export function isRequest(key: string): boolean {
  return key.includes('-m-');
}

export function isFinal({ records }: JobFacts, key: string): boolean {
  return records.get(key)?.record.state === 'final';
}

/** A Date is cut to whole seconds, and the machine that wrote it may be behind. */
export const DATE_BEHIND_MS = 1_900;

/** The protocol's value, written apart from the product's own calculation, which may be wrong. */
export function marginOf(leaseMs: number): number {
  return Math.max(2_000, leaseMs / 10);
}

/** Most histories are over on it. */
const FIRST_DAY = '2026-01-01';

export function short(instant: number): string {
  const iso = new Date(instant).toISOString();
  return iso.slice(iso.startsWith(FIRST_DAY) ? 11 : 5, 23).replace('.000', '');
}

export function keyText(key: string): string {
  const parts = parseRecordKey(key);
  if (parts === undefined) return key;
  return short(parts.scheduledFor) + (parts.request === undefined ? '' : `(${parts.request})`);
}

/** Its lease lasts no longer than this. */
export function leaseBroken(facts: JobFacts, periodMs: number, now: number): void {
  if (facts.lease === undefined) return;
  facts.lease = { ...facts.lease, until: Math.min(facts.lease.until, now + periodMs), broken: true };
}
