import { decodeControl, NO_CONTROL } from '../../../src/core/control';
import { PLAN_PIECE } from '../../../src/core/fan-out';
import { EMPTY_GROUP, readGroup } from '../../../src/core/group';
import type { JobSpec } from '../../../src/core/job';
import { recordKey } from '../../../src/core/key';
import { parseRecord } from '../../../src/core/record';
import { decodeRow } from '../../../src/core/row';
import type { LeaseStore } from '../../../src/lease/store';
import { type RecoverRequest, recoverJobs } from '../../../src/operator/operations/recover';
import type { Checkpoint } from '../../../src/stores/memory/store';
import { checkRecovered, checkRunsAgain, RUNS_AGAIN_WITHIN_MS } from '../checks/failover';
import type { PlannedFailover } from '../faults/disturbance';
import { firstSpec } from '../faults/plan-job';
import { seededBy } from '../faults/random';
import type { JobFacts } from './facts';
import { ARRIVES_WITHIN_MS, operate, soundDesk } from './people';
import { START, type World, kill, leave, start } from './world';

/*
 * The storage account fails over, and people follow docs/how-to/recovery.md: they stop every deployment, wait, call
 * `recover`, and start again.
 */

/** The longest shutdown of a host. */
const STOPPED_WITHIN_MS = 20_000;
/** Longer than the wait for a broken lease. */
const TRY_MS = 75_000;
/** By then, the last call of a dead command has arrived, and its lease has expired. */
const TRIES_AGAIN_MS = TRY_MS + ARRIVES_WITHIN_MS + 20_000;
const RAISE_BY = 1_000_000;
/** The instants to which blobs may return, over what is lost. */
const INSTANTS = 16;

/** The state of all blobs at one instant. */
interface Instant {
  readonly at: number;
  readonly state: Checkpoint;
}

/** The instant to which a blob returns, by its name. */
type InstantOf = (blob: string) => Instant;

export function failOver(world: World, what: PlannedFailover): void {
  const { timeline, service, trace } = world;
  world.failingOver = true;
  const instants: [Instant, ...Instant[]] = [{ at: START + timeline.now(), state: service.checkpoint() }];
  for (let index = 1; what.apart && index < INSTANTS; index += 1) {
    timeline.after((what.lostMs * index) / INSTANTS, () => {
      instants.push({ at: START + timeline.now(), state: service.checkpoint() });
    });
  }
  const instantOf: InstantOf = (blob) => {
    const random = seededBy(world.plan.seed, 'returns', blob);
    // A plan may be large, and replicated late.
    return blob.endsWith(`/${PLAN_PIECE}`) && random.chance(0.5) ? instants[0] : random.pick(instants);
  };
  timeline.after(what.lostMs, () => {
    const goneAt = START + timeline.now();
    world.gone = what.how;
    trace?.add('', 'the storage account is gone');
    timeline.after(what.stopsAfterMs, () => {
      stopAll(world, what.drains);
      timeline.after(STOPPED_WITHIN_MS + ARRIVES_WITHIN_MS, () => {
        const checkpoints = instants.map(({ state }) => state);
        world.failovers += 1;
        service.failOver(checkpoints, (blob) => instantOf(blob).state, what.leases);
        void recover(world, what, { instantOf, goneAt });
      });
    });
  });
}

function stopAll(world: World, drains: boolean): void {
  world.stopped = true;
  world.trace?.add('', 'all deployments are stopped');
  const stop = (): void => {
    for (const place of world.plan.instances) kill(world, place, 0);
  };
  if (drains) for (const place of world.plan.instances) leave(world, place, 0);
  world.timeline.after(drains ? STOPPED_WITHIN_MS - 1 : 0, stop);
}

async function recover(
  world: World,
  what: PlannedFailover,
  { instantOf, goneAt }: { readonly instantOf: InstantOf; readonly goneAt: number },
): Promise<void> {
  const { timeline, observer, trace, plan, deployments } = world;
  if (what.wipesHubs) for (const { hub } of deployments) hub.wipe();
  world.gone = undefined;
  world.outage = undefined;
  trace?.add('', 'the storage account has failed over');
  const specs = plan.jobs.map(firstSpec);
  const store = world.service.open();
  for (const facts of observer.jobs.values()) await goBack(facts, store, instantOf, START + timeline.now());
  for (const facts of observer.groups.values()) {
    const { body } = (await store.readGroup(facts.name)) ?? {};
    facts.group = body === undefined ? EMPTY_GROUP : readGroup(facts.name, body);
  }
  const until = goneAt + (what.untilMs ?? Infinity);
  const request: RecoverRequest = {
    file: { revision: 0, jobs: specs },
    // A time that has not passed is refused, and now will do.
    until: until <= START + timeline.now() ? until : undefined,
    apply: true,
    raiseBy: RAISE_BY,
    runs: what.runs,
  };
  if (what.triesBefore) operate(world, (_store, desk) => recoverJobs(desk, request), TRY_MS);
  timeline.after(what.triesBefore ? TRIES_AGAIN_MS : 0, () => {
    recoverJobs(soundDesk(world), request).then(
      ({ until, jobs }) => {
        for (const job of jobs) {
          if (job.kind === 'refused') observer.report('recoverRefused', job.job, job.problem);
        }
        startAgain(world, specs, { until, goneAt: goneAt - START, runs: what.runs });
      },
      (error: unknown) => {
        observer.report('crashed', 'all', `recover threw ${String(error)}`);
      },
    );
  });
}

/** Drops the facts that the failover has undone. Tokens that were given out and runs that were called stay. */
async function goBack(facts: JobFacts, store: LeaseStore, instantOf: InstantOf, now: number): Promise<void> {
  const { name, controls, requested } = facts;
  const point = instantOf(`jobs/${name}/lease`).at;
  const listed = await store.readRow(name);
  facts.row = listed && decodeRow(listed.metadata);
  facts.etag = listed?.etag;
  facts.lease = undefined;
  facts.writerError = 0;
  facts.failedOver = {
    at: now,
    row: facts.row,
    tokens: Math.max(0, ...facts.claimOf.keys()),
    called: new Set([...facts.started.values()].map(({ key }) => key)),
    recovered: undefined,
  };
  if (facts.row === undefined) facts.reigns.length = 0;
  for (const [attempt, { at }] of facts.claims) if (at > point) facts.claims.delete(attempt);
  for (const [attempt, { at }] of facts.started) if (at > point) facts.started.delete(attempt);
  for (const [key, pieces] of facts.pieces) {
    for (const [piece, at] of pieces) {
      if (at > instantOf(`fanout/${name}/${key}/${piece}`).at) pieces.delete(piece);
    }
    if (!pieces.has(PLAN_PIECE)) facts.planned.delete(key);
  }
  for (const [token, at] of facts.wentOn) if (at > point) facts.wentOn.delete(token);
  await goBackRecords(facts, store, instantOf);
  const { control } = await store.readControl(name);
  const kept = controls.filter(({ at }) => at <= instantOf(`jobs/${name}/control`).at);
  controls.splice(0, controls.length, ...kept, {
    at: now,
    control: control === undefined ? NO_CONTROL : decodeControl(control.metadata),
  });
  requested.clear();
  for (const { control: version } of controls)
    for (const { id, number } of version.manualRuns) requested.set(id, number);
}

async function goBackRecords({ name, records }: JobFacts, store: LeaseStore, instantOf: InstantOf): Promise<void> {
  const before = new Map(records);
  records.clear();
  const page = await store.listRecords(name, { limit: Infinity });
  for (const { key } of page.records) {
    const stored = await store.readRecord(name, key);
    if (stored === undefined) continue;
    const record = parseRecord(name, key, stored.body);
    const from = Date.parse(record.scheduledFor);
    const span = [from, record.through === undefined ? from : Date.parse(record.through)] as const;
    const { at } = instantOf(`runs/${name}/${key}`);
    records.set(key, { record, span, writtenAt: Math.min(before.get(key)?.writtenAt ?? at, at) });
  }
  for (const [key, fact] of before) {
    const { at } = instantOf(`runs/${name}/${key}`);
    if (!records.has(key) && (fact.deletedAt ?? Infinity) <= at) records.set(key, fact);
  }
}

/** Ends the faults, and starts every instance that ran before. */
function startAgain(
  world: World,
  specs: readonly JobSpec[],
  { until, goneAt, runs }: Pick<PlannedFailover, 'runs'> & { readonly until: number; readonly goneAt: number },
): void {
  const { timeline, observer, plan, deployments, faults, trace } = world;
  const now = START + timeline.now();
  trace?.add('', 'the jobs are recovered, and the deployments start');
  for (const spec of specs) {
    const facts = observer.jobs.get(spec.name);
    if (facts?.failedOver === undefined) continue;
    const { run, phase } = facts.failedOver.row ?? {};
    const continues = runs !== 'fail' && phase !== 'idle';
    facts.failedOver.recovered = {
      at: now,
      until,
      run: continues ? run?.key : undefined,
      manualRuns: new Set(
        facts.controls.flatMap(({ control }) => control.manualRuns.map(({ id, time }) => recordKey(time, id))),
      ),
      reruns: runs === 'rerun',
    };
    checkRecovered(facts, spec, until, observer.report);
  }
  faults.end();
  world.deniedUntil.clear();
  for (const deployment of deployments) {
    deployment.deadSince = undefined;
    deployment.hub.dead = false;
    deployment.hub.refusing = false;
  }
  world.stopped = false;
  const back = plan.instances.filter(({ startsAt }) => startsAt <= timeline.now());
  for (const place of back) start(world, place);
  timeline.after(2 * RUNS_AGAIN_WITHIN_MS, () => {
    const isTroubled = plan.disturbances.some(({ at, kind }) => kind !== 'migrate' && at > goneAt);
    for (const spec of back.length === 0 || isTroubled ? [] : specs) {
      const facts = observer.jobs.get(spec.name);
      if (facts !== undefined) checkRunsAgain(facts, spec, START + timeline.now(), observer.report);
    }
    world.failingOver = false;
  });
}
