import type { ETag, JobName, LeaseId } from '../../../src/core/brand';
import { decodeControl, NO_CONTROL } from '../../../src/core/control';
import type { CoordinatorEvent } from '../../../src/core/event';
import type { JobSpec } from '../../../src/core/job';
import { parseRunId, recordKey } from '../../../src/core/key';
import type { OrchestrationRun } from '../../../src/core/orchestration';
import { parseNoticeId } from '../../../src/core/notice';
import { LAYOUT, formOf } from '../../../src/core/layout';
import { decodeRow } from '../../../src/core/row';
import type { LeaseBreaking, LeaseStore, Listing, StoredRecord } from '../../../src/lease/store';
import type { JobContext } from '../../../src/handler/handler';
import { type GroupFacts, checkTogether, groupWritten, groupsOf } from '../checks/groups';
import { type Layouts, createLayouts, isOfMove, rowOfMove } from '../checks/moves';
import { handlerStarted } from '../checks/handler';
import { checkItems, pieceCreated } from '../checks/items';
import { noticeAsked } from '../checks/notices';
import { checkActivities, checkSilence, endKept, orchestrationBegan } from '../checks/orchestrations';
import { recordWritten } from '../checks/record';
import { saidOverdue } from '../checks/overdue';
import { checkCreated, released, rowWritten } from '../checks/row';
import { requestsWritten } from '../checks/requests';
import { checkAtOnce } from '../checks/concurrency';
import { checkTrust, trustLimit } from '../checks/trust';
import { controlText, describeRow, layoutText } from './describe';
import {
  type Acquisition,
  type ActivityExecution,
  type Actor,
  type Execution,
  FIRST_STORE,
  type ItemExecution,
  type JobFacts,
  type ListedView,
  type Violation,
  endSpoil,
  isFinal,
  isPerson,
  keyText,
  leaseBroken,
  marginOf,
  newFacts,
  short,
} from './facts';
import type { Timeline } from './timeline';
import type { Trace } from './trace';

/** The longest time from a listing to its call, with a look into the ledger. */
const DECIDES_WITHIN_MS = 1_000;

export interface Observer {
  readonly violations: readonly Violation[];
  readonly jobs: ReadonlyMap<JobName, JobFacts>;
  readonly groups: ReadonlyMap<string, GroupFacts>;
  readonly layouts: Layouts;
  /** The service's store, with a check of every call that is applied. */
  watch(store: LeaseStore & LeaseBreaking, actor: Actor): LeaseStore;
  /** A process sends a call. */
  sent(actor: Actor, method: string, parameters: readonly unknown[]): void;
  /** A process hands an acquisition over to its task hub. */
  handedOver(actor: Actor, job: string, leaseId: string): void;
  /** A listing arrives at a process. */
  listed(actor: Actor, listing: Listing): void;
  leaseBroken(job: JobName, periodMs: number): void;
  handlerStarted(execution: Omit<Execution, 'leaseId' | 'running'>): Execution;
  handlerEnded(execution: Execution, returned: boolean): void;
  itemStarted(item: ItemExecution): void;
  itemEnded(item: ItemExecution): void;
  /** A job is an orchestration, and silent after this long. */
  orchestration(job: JobName, silentMs: number): void;
  orchestrationBegan(run: OrchestrationRun): void;
  orchestrationTerminated(run: OrchestrationRun): void;
  orchestrationSucceeded(run: OrchestrationRun): void;
  orchestrationFailed(run: OrchestrationRun): void;
  activityStarted(activity: ActivityExecution): void;
  activityEnded(activity: ActivityExecution): void;
  /** A process reports an event. */
  event(actor: Actor, event: CoordinatorEvent): void;
  /** A write through a fence is sent by its process, or applied by the service. */
  fencedWriteSent(job: string, token: number): void;
  fencedWrite(job: string, token: number): void;
  /** A command of a person has reported success. */
  commandEnded(operator: string): void;
  /** Calls back once a process has recorded the end of a run and owes notices of it. */
  whenOwing(call: () => void): void;
  /** Checks the rules that hold at each instant. */
  check(): void;
  report(kind: string, job: string, text: string): void;
}

/** Checks every write that storage applies, and every handler, independently of the coordinator's beliefs. */
export function createObserver(
  specs: ReadonlyMap<JobName, readonly JobSpec[]>,
  timeline: Timeline,
  start: number,
  { trace, limit }: { readonly trace: Trace | undefined; readonly limit: number | undefined },
): Observer {
  const violations: Violation[] = [];
  const jobs = new Map<JobName, JobFacts>();
  for (const [name, revisions] of specs) jobs.set(name, newFacts(name, revisions, jobs));
  const all = [...jobs.values()];
  const groups = groupsOf(specs, jobs);
  const madeAt = new WeakMap<Listing, number>();
  const grown = new WeakSet<object>();
  /** When each row's metadata was first sent. */
  const sentAt = new WeakMap<object, number>();
  const now = (): number => start + timeline.now();
  const factsOf = (name: string): JobFacts => {
    const facts = jobs.get(name as JobName);
    if (facts === undefined) throw new Error(`unknown job ${name}`);
    return facts;
  };
  const report = (kind: string, job: string, text: string): void => {
    violations.push({ kind, job, text });
    trace?.add('!!!', `${job}: ${text}`);
  };
  const layouts = createLayouts(now, report);
  const silentAfter = new Map<JobName, number>();
  const presences = new Map<string, { readonly actor: Actor; readonly at: number }>();
  let owing = (): void => undefined;
  const check = (): void => {
    for (const facts of all) {
      checkTrust(facts, now(), report);
      checkItems(facts, now(), report);
      checkActivities(facts, now(), report);
    }
    for (const facts of groups.values()) checkTogether(facts, report);
  };

  return {
    violations,
    jobs,
    groups,
    layouts,
    report,
    check,
    watch: (store, actor) =>
      watchStore(store, {
        actor,
        factsOf,
        groups,
        layouts,
        presences,
        silentAfter,
        madeAt,
        sentAt,
        now,
        report,
        trace,
        proven,
        grown,
        owing: () => owing(),
      }),
    whenOwing(call) {
      owing = call;
    },
    commandEnded(operator) {
      for (const { name, home, strayControl } of all) {
        if (strayControl !== operator) continue;
        report(
          'commandLost',
          name,
          `${operator} changed its control where it no longer is, not in ${home}, and succeeded`,
        );
      }
    },
    sent(actor, method, parameters) {
      // A clock may be set, and corrected, between any two calls.
      const error = actor.error();
      if (method === 'writeRow') {
        const [job, metadata] = parameters as Parameters<LeaseStore['writeRow']>;
        if (!sentAt.has(metadata)) sentAt.set(metadata, now());
        actor.largestErrorSent.set(job, Math.max(Math.abs(error), actor.largestErrorSent.get(job) ?? 0));
      }
      if (method !== 'acquire') return;
      const [job, { leaseId, leaseMs }] = parameters as Parameters<LeaseStore['acquire']>;
      const { acquisitions } = factsOf(job);
      const asked = acquisitions.get(leaseId);
      // The renewal that makes a claimed lease longer decides nothing.
      if (asked?.used === true) return;
      // Repeated under the same id: after a lost answer, or by a later decision.
      if (asked !== undefined) {
        asked.sentAt = now();
        // An attempt repeats its tick's call, from the tick's decision and listing.
        asked.lastViewAt = Math.max(asked.lastViewAt, actor.views.get(job)?.rowAt ?? now());
        asked.skewed ||= actor.skewed();
        asked.errors = [Math.min(asked.errors[0], actor.error()), Math.max(asked.errors[1], actor.error())];
        return;
      }
      acquisitions.set(leaseId, {
        actor,
        leaseMs,
        viewAt: oldestView(actor.views.get(job), now()),
        lastViewAt: actor.views.get(job)?.rowAt ?? now(),
        firstSentAt: now(),
        sentAt: now(),
        errors: [actor.error(), actor.error()],
        skewed: actor.skewed(),
        at: undefined,
        lastAt: 0,
        provenAt: -Infinity,
        isLate: false,
        handedOverAt: undefined,
        again: [],
        used: false,
        released: false,
      });
    },
    handedOver(actor, job, leaseId) {
      const facts = factsOf(job);
      const acquisition = facts.acquisitions.get(leaseId as LeaseId);
      if (acquisition === undefined) return;
      acquisition.handedOverAt ??= now();
      checkShowsEnd(facts, acquisition, report);
      checkHub(facts, actor, report);
    },
    listed(actor, listing) {
      layouts.listed(actor, listing);
      const at = madeAt.get(listing) ?? listing.date;
      for (const [job, { date }] of listing.jobs) {
        const last = actor.views.get(job);
        // Slow pages may be older than the listings before them.
        const before = last === undefined ? at : Math.min(at, oldestView(last, now()));
        const rowAt = Math.max(at, date);
        actor.views.set(job, { at, rowAt, cameAt: now(), before });
      }
    },
    leaseBroken(job, periodMs) {
      leaseBroken(factsOf(job), periodMs, now());
    },
    handlerStarted(started) {
      const facts = factsOf(started.context.job);
      const leaseId = facts.claimOf.get(started.context.fence.token)?.leaseId;
      const execution: Execution = { ...started, leaseId, running: true };
      handlerStarted(facts, execution, runKeyOf(started.context), now(), report);
      facts.executions.add(execution);
      checkAtOnce(all, execution.process, limit, report);
      probe(facts, execution);
      return execution;
    },
    handlerEnded(execution, returned) {
      const facts = factsOf(execution.context.job);
      execution.running = false;
      facts.executions.delete(execution);
      if (returned) facts.returned.add(execution.context.fence.token);
      if (!execution.context.signal.aborted) facts.endedAt.set(execution.context.fence.token, now());
    },
    itemStarted(item) {
      factsOf(item.context.job).items.add(item);
      checkAtOnce(all, item.process, limit, report);
    },
    itemEnded(item) {
      factsOf(item.context.job).items.delete(item);
    },
    orchestration(job, silentMs) {
      factsOf(job).isOrchestration = true;
      silentAfter.set(job, silentMs);
    },
    orchestrationBegan({ job, runId, token }) {
      orchestrationBegan(factsOf(job), parseRunId(runId)?.key ?? '', token, report);
    },
    orchestrationTerminated({ job, runId, token }) {
      const { row } = factsOf(job);
      if (row?.phase !== 'fanning' || row.token !== token) return;
      report('terminatedWaiting', job, `an orchestration of ${runId} was terminated while its run waited for it`);
    },
    orchestrationSucceeded({ job, runId, token }) {
      const { orchestrated, endedOrchestrations } = factsOf(job);
      orchestrated.add(parseRunId(runId)?.key ?? '');
      endedOrchestrations.add(token);
    },
    orchestrationFailed({ job, token }) {
      factsOf(job).endedOrchestrations.add(token);
    },
    activityStarted(activity) {
      factsOf(activity.run.job).activities.add(activity);
    },
    activityEnded(activity) {
      factsOf(activity.run.job).activities.delete(activity);
    },
    event(actor, event) {
      if (event.event === 'overdue' && event.job !== undefined) {
        saidOverdue(factsOf(event.job), actor, event, now(), report);
      }
      const { event: name, job, token, waitedForConcurrencyMs = 0, waitedForGroupMs = 0 } = event;
      if (name === 'started' && job !== undefined && factsOf(job).isOrchestration) {
        const claim = factsOf(job).claimOf.get(token ?? 0);
        const key = claim?.row.run?.key ?? '';
        factsOf(job).started.set(`${key} ${String(claim?.row.attempt)}`, { key, token: token ?? 0, at: now() });
      }
      if (name === 'started' && job !== undefined) {
        factsOf(job).permitWaits.set(token ?? 0, waitedForGroupMs + waitedForConcurrencyMs);
      }
      if (event.event === 'unhealthy' && event.job !== undefined) factsOf(event.job).saidUnhealthyAt = now();
    },
    fencedWriteSent(job, token) {
      const facts = factsOf(job);
      const key = facts.claimOf.get(token)?.row.run?.key ?? '';
      const waits = facts.row?.token === token && facts.row.phase !== 'running';
      if (waits || facts.records.get(key)?.record.state === 'final') {
        report('wroteAfterEnd', job, `token ${String(token)} writes through its fence after its run was settled`);
      }
    },
    fencedWrite(job, token) {
      const facts = factsOf(job);
      if (token < facts.fencedToken) {
        const what = `a fenced write of token ${String(token)} landed after one of ${String(facts.fencedToken)}`;
        report('fencedWentBack', job, what);
      }
      facts.fencedToken = token;
    },
  };

  /** Checks the very instant at which the trust must be over. */
  function probe(facts: JobFacts, execution: Execution): void {
    const left = trustLimit(facts, execution) - now();
    if (left >= 0 && Number.isFinite(left)) timeline.after(left + 1, () => undefined);
  }

  function proven(facts: JobFacts, acquisition: Acquisition): void {
    acquisition.provenAt = now();
    for (const execution of facts.executions) probe(facts, execution);
  }
}

/** `unlock` asks for the longest period: a lease is broken for what remains of it. */
const LONGEST_LEASE_MS = 60_000;
/** How often a process may hand one job over without effect. A lease that is taken for a row write needs no hub. */
const HAND_OVERS_LOST = 1;

interface Watching {
  readonly actor: Actor;
  readonly factsOf: (name: string) => JobFacts;
  readonly groups: ReadonlyMap<string, GroupFacts>;
  readonly layouts: Layouts;
  readonly presences: Map<string, { readonly actor: Actor; readonly at: number }>;
  /** Of jobs that are orchestrations. */
  readonly silentAfter: ReadonlyMap<JobName, number>;
  readonly madeAt: WeakMap<Listing, number>;
  readonly sentAt: WeakMap<object, number>;
  readonly now: () => number;
  readonly report: Observer['report'];
  readonly trace: Trace | undefined;
  readonly proven: (facts: JobFacts, acquisition: Acquisition) => void;
  /** Calls for a longer lease that took effect. The network may deliver one again. */
  readonly grown: WeakSet<object>;
  readonly owing: () => void;
}

function watchStore(store: LeaseStore & LeaseBreaking, watching: Watching): LeaseStore {
  return {
    ...store,
    ...watchRows(store, watching),
    ...watchLeases(store, watching),
    ...watchRecords(store, watching),
    ...watchGroups(store, watching),
    async writePresence(deployment, ...rest) {
      const answer = await store.writePresence(deployment, ...rest);
      const { actor, presences, now } = watching;
      if (answer.kind === 'written') presences.set(deployment, { actor, at: now() });
      return answer;
    },
  };
}

function watchRows(
  store: LeaseStore,
  { actor, factsOf, layouts, presences, silentAfter, madeAt, sentAt, now, report, trace }: Watching,
): Pick<LeaseStore, 'list' | 'createRow' | 'writeRow' | 'writeControl' | 'removeControl'> {
  const { location } = store;
  return {
    async list(options) {
      const at = now();
      const listing = await store.list(options);
      madeAt.set(listing, at);
      if (options?.job === undefined) layouts.swept(actor);
      return listing;
    },
    async createRow(job, metadata, options) {
      const answer = await store.createRow(job, metadata, options);
      if (answer === 'created') {
        const facts = factsOf(job);
        const etag = (await store.readRow(job))?.etag;
        if (isOfMove(facts, location, metadata)) {
          trace?.add('store', `${job} created in ${location}, ${formOf(metadata)}`);
          if (location === FIRST_STORE) layouts.createdAway(facts, location, actor);
          else rowOfMove(facts, location, metadata, etag, report);
          return answer;
        }
        facts.home = location;
        facts.row = decodeRow(metadata);
        facts.etag = etag;
        checkCreated(facts, facts.row, report);
        facts.firstCursor = facts.row.cursor;
        facts.reigns.push({ hash: facts.row.scheduleHash, after: facts.row.cursor });
        trace?.add('store', `${job} created, cursor ${short(facts.row.cursor)}`);
      }
      return answer;
    },
    async writeRow(job, metadata, guard, options) {
      const answer = await store.writeRow(job, metadata, guard, options);
      const facts = factsOf(job);
      if (isOfMove(facts, location, metadata)) {
        trace?.add(
          'store',
          `${job} writeRow ${guard.leaseId.slice(0, 8)} ${answer.kind} ${location} ${formOf(metadata)}`,
        );
        if (answer.kind === 'written') rowOfMove(facts, location, metadata, answer.etag, report);
        return answer;
      }
      trace?.add(
        'store',
        `${job} writeRow ${guard.leaseId.slice(0, 8)} ${answer.kind} ${describeRow(decodeRow(metadata))}`,
      );
      if (answer.kind === 'written') {
        const { row: before } = facts;
        const row = decodeRow(metadata);
        facts.etag = answer.etag;
        const { leaseId } = guard;
        const sent = sentAt.get(metadata) ?? now();
        rowWritten(facts, { row, leaseId, actor, sentAt: sent, presences }, now(), report);
        if (before !== undefined)
          checkSilence(facts, { before, row, leaseId }, silentAfter.get(job) ?? 0, now(), report);
        if (before !== undefined && row.token > before.token && row.attempt === 1) {
          layouts.claimed(facts, row, facts.acquisitions.get(guard.leaseId));
        }
      }
      return answer;
    },
    async writeControl(job, metadata, ifMatch, options) {
      const answer = await store.writeControl(job, metadata, ifMatch, options);
      if (answer === 'written' && job === LAYOUT) {
        layouts.written(location, metadata);
        trace?.add('store', `layout of ${location}: ${layoutText(metadata)}`);
      } else if (answer === 'written') {
        const facts = factsOf(job);
        if (facts.row === undefined) facts.home = location;
        // A call that comes late, to a store that the job has left. No one reads that control any more.
        if (facts.home !== location) {
          facts.strayControl = actor.id;
          trace?.add('store', `${job} control ${controlText(metadata)} in ${location}, which it has left`);
          return answer;
        }
        const control = decodeControl(metadata);
        requestsWritten(facts, control, report);
        facts.controls.push({ at: now(), control });
        trace?.add('store', `${job} control ${controlText(metadata)}`);
      }
      return answer;
    },
    async removeControl(job, ifMatch, options) {
      const answer = await store.removeControl(job, ifMatch, options);
      if (answer === 'removed' && factsOf(job).home !== location) factsOf(job).strayControl = undefined;
      else if (answer === 'removed') {
        endSpoil(factsOf(job), 'control', now());
        factsOf(job).controls.push({ at: now(), control: NO_CONTROL });
        trace?.add('store', `${job} control is removed`);
      }
      return answer;
    },
  };
}

function watchLeases(
  store: LeaseStore & LeaseBreaking,
  { actor, factsOf, now, report, trace, proven, grown }: Watching,
): Pick<LeaseStore, 'acquire' | 'renew' | 'release' | 'breakLease'> {
  const { location } = store;
  const counts = ({ home, hasLeft }: JobFacts): boolean => home === location && !hasLeft;
  return {
    async acquire(job, request, options) {
      const answer = await store.acquire(job, request, options);
      const { leaseId } = request;
      const what = `acquire ${leaseId.slice(0, 8)} for ${String(request.leaseMs / 1_000)} s`;
      trace?.add('store', `${job} ${what} by ${actor.id} ${answer.kind}`);
      if (answer.kind !== 'acquired') return answer;
      const facts = factsOf(job);
      if (counts(facts)) acquired(facts, request, { now: now(), report, proven, grown });
      else if (!isPerson(actor))
        report('acquiredAway', job, `${actor.id} acquired its row in ${location}, which does not count`);
      return answer;
    },
    async renew(job, leaseId, options) {
      const answer = await store.renew(job, leaseId, options);
      if (answer === 'lost') trace?.add('store', `${job} renew ${leaseId.slice(0, 8)} lost`);
      const facts = factsOf(job);
      const acquisition = facts.acquisitions.get(leaseId);
      if (
        answer === 'renewed' &&
        counts(facts) &&
        facts.lease?.id === leaseId &&
        !facts.lease.broken &&
        acquisition !== undefined
      ) {
        if (now() >= facts.lease.until) acquisition.isLate = true;
        facts.lease = { id: leaseId, until: now() + acquisition.leaseMs, broken: false };
        proven(facts, acquisition);
      }
      return answer;
    },
    async breakLease(job, ifMatch, options) {
      const answer = await store.breakLease(job, ifMatch, options);
      trace?.add('store', `${job} breakLease ${answer.kind}`);
      if (answer.kind === 'broken' && counts(factsOf(job))) leaseBroken(factsOf(job), LONGEST_LEASE_MS, now());
      return answer;
    },
    async release(job, leaseId, options) {
      // It may arrive once the row has been claimed under the same lease.
      if (options?.ifMatch === undefined) report('releasedUnguarded', job, 'a release without If-Match was sent');
      const answer = await store.release(job, leaseId, options);
      trace?.add('store', `${job} release ${leaseId.slice(0, 8)} ${answer}`);
      const facts = factsOf(job);
      if (answer === 'released' && counts(facts)) {
        facts.lease = undefined;
        const acquisition = facts.acquisitions.get(leaseId);
        if (acquisition?.used === true) acquisition.released = true;
        released(facts, report);
      }
      return answer;
    },
  };
}

function watchGroups(store: LeaseStore, { groups, now, report, trace }: Watching): Pick<LeaseStore, 'writeGroup'> {
  return {
    async writeGroup(group, body, ifMatch, options) {
      const answer = await store.writeGroup(group, body, ifMatch, options);
      trace?.add('store', `group ${group} ${answer.kind} ${body}`);
      const facts = groups.get(group);
      if (answer.kind === 'written' && facts !== undefined) groupWritten(facts, body, now(), report);
      return answer;
    },
  };
}

function watchRecords(
  store: LeaseStore,
  { factsOf, now, report, trace, owing }: Watching,
): Pick<LeaseStore, 'createRecord' | 'replaceRecord' | 'createPiece' | 'touchPiece' | 'deletePiece' | 'createNotice'> {
  const written = (job: JobName, key: string, stored: StoredRecord): void => {
    // The end of the history shows whether the copy is still what was copied.
    const facts = factsOf(job);
    const isCopy = store.location !== facts.home && facts.records.has(key);
    if (!isCopy) recordWritten(facts, key, stored, now(), report);
    if (isFinal(facts, key) && facts.row?.telling.some(({ of }) => of === key) === true) owing();
    const where = store.location === FIRST_STORE ? '' : ` in ${store.location}`;
    trace?.add('store', `${job} record ${keyText(key)} ${Object.values(stored.summary).slice(0, 4).join(' ')}${where}`);
  };
  return {
    async createRecord(job, key, record, options) {
      const answer = await store.createRecord(job, key, record, options);
      if (answer.kind === 'created') written(job, key, record);
      else trace?.add('store', `${job} createRecord ${keyText(key)} exists`);
      return answer;
    },
    async createNotice(id, notice, options) {
      const answer = await store.createNotice(id, notice, options);
      trace?.add('store', `notice ${id} ${answer.kind}`);
      const job = parseNoticeId(id)?.job;
      if (job !== undefined) noticeAsked(factsOf(job), id, answer.kind, now(), report);
      return answer;
    },
    async createPiece(job, key, name, piece, options) {
      const answer = await store.createPiece(job, key, name, piece, options);
      trace?.add('store', `${job} piece ${keyText(key)}/${name} ${answer}`);
      if (answer === 'created') pieceCreated(factsOf(job), key, name, { piece, now: now() }, report);
      if (answer === 'created') endKept(factsOf(job), key, name, piece);
      return answer;
    },
    async touchPiece(job, key, name, summary, options) {
      const answer = await store.touchPiece(job, key, name, summary, options);
      if (answer === 'touched') factsOf(job).pieces.get(key)?.set(name, now());
      return answer;
    },
    async deletePiece(job, key, name, options) {
      await store.deletePiece(job, key, name, options);
      factsOf(job).pieces.get(key)?.delete(name);
    },
    async replaceRecord(job, key, record, ifMatch: ETag, options) {
      const answer = await store.replaceRecord(job, key, record, ifMatch, options);
      if (answer.kind === 'replaced') written(job, key, record);
      else trace?.add('store', `${job} replaceRecord ${keyText(key)} refused`);
      return answer;
    },
  };
}

/** A lease was given: the service's own rules say whether it could be. */
function acquired(
  facts: JobFacts,
  request: Parameters<LeaseStore['acquire']>[1],
  { now, report, proven, grown }: Pick<Watching, 'report' | 'proven' | 'grown'> & { readonly now: number },
): void {
  const { leaseId, leaseMs, ifMatch } = request;
  const { lease, name } = facts;
  if (facts.etag !== ifMatch) {
    report('staleAcquired', name, 'a row was leased that had changed since the decision');
  }
  if (facts.spoiled.some(({ what, until }) => what === 'row' && until === undefined)) {
    report('foreignLeased', name, "a row was leased that is not cronlease's");
  }
  if (lease !== undefined && lease.id !== leaseId && now < lease.until) {
    report('leasedTwice', name, 'a lease was given while another one goes on');
  }
  // A holder whose attempt has suspended or recorded the run no longer trusts.
  const atWork = facts.row?.phase === 'running' && !isFinal(facts, facts.row.run?.key ?? '');
  const last = lease?.broken === true && lease.id !== leaseId ? facts.acquisitions.get(lease.id) : undefined;
  const mayTrust = last?.used === true && !last.isLate;
  if (atWork && mayTrust && now < last.provenAt + last.leaseMs - marginOf(last.leaseMs)) {
    report('brokenTaken', name, 'a broken lease was acquired while its holder may still trust it');
  }
  facts.lease = { id: leaseId, until: now + leaseMs, broken: false };
  const acquisition = facts.acquisitions.get(leaseId);
  if (acquisition === undefined) return;
  acquisition.leaseMs = leaseMs;
  if (acquisition.used) {
    // The renewal that makes a claimed lease longer decides nothing.
    if (acquisition.released && !grown.has(request)) {
      report('takenAfterRelease', name, 'its holder asked for a longer lease, and took the released row by that');
    }
    grown.add(request);
    if (lease === undefined || lease.id !== leaseId || now >= lease.until) acquisition.isLate = true;
    proven(facts, acquisition);
    return;
  }
  acquisition.at ??= now;
  const { handedOverAt = Infinity } = acquisition;
  const isAfterEnd = now > acquisition.at + leaseMs;
  const { again } = acquisition;
  if (now > handedOverAt && again.every((one) => isAfterEnd && !one.isAfterEnd)) again.push({ at: now, isAfterEnd });
  acquisition.lastAt = now;
  acquisition.isLate = false;
  proven(facts, acquisition);
}

/** A hand-over may fail: a row whose run's record was deleted must show by itself that the run is settled. */
function checkShowsEnd({ row, records, name }: JobFacts, { viewAt }: Acquisition, report: Observer['report']): void {
  const { run, phase } = row ?? {};
  const fact = run && records.get(run.key);
  if (phase !== 'running' || fact?.record.state !== 'final' || (fact.deletedAt ?? Infinity) > viewAt) return;
  report(
    'endUnsaid',
    name,
    `it was handed over, and nothing shows any more that run ${keyText(run?.key ?? '')} is over`,
  );
}

/** A process with a dead hub finds out by its first failed hand-over, and then claims nothing. */
function checkHub({ acquisitions, name }: JobFacts, actor: Actor, report: Observer['report']): void {
  const deadSince = actor.hubDeadSince();
  if (deadSince === undefined) return;
  let inVain = 0;
  for (const other of acquisitions.values()) {
    const { handedOverAt = -Infinity, provenAt, leaseMs } = other;
    // A machine that slept between the two hands over a lease that has ended. That no instance claims under it proves
    // nothing.
    const isOver = handedOverAt > provenAt + leaseMs;
    if (other.actor === actor && handedOverAt > deadSince && !other.used && !isOver) inVain += 1;
  }
  if (inVain > HAND_OVERS_LOST) {
    report(
      'racedUnproven',
      name,
      `${actor.id} took the lease ${String(inVain)} times without effect after its hub had died`,
    );
  }
}

/** The run's key, from the context of its handler. */
function runKeyOf(context: JobContext): string {
  const request = /-m-([0-9a-z]+)$/.exec(context.runId)?.[1];
  return recordKey(context.scheduledFor.getTime(), request);
}

/** When the oldest listing was made whose decision may be carried out now. */
function oldestView(view: ListedView | undefined, now: number): number {
  if (view === undefined) return now;
  return now - view.cameAt < DECIDES_WITHIN_MS ? view.before : view.at;
}
