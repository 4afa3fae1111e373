import type { Millis } from '../../core/brand';
import { type Clock, sleep } from '../../core/clock';
import { controlOf } from '../../core/control';
import { runIdOf } from '../../core/key';
import { redactNote } from '../../core/log-entry';
import { ifReadable } from '../../core/metadata';
import { BEATS_PER_TAKE_OVER, CANCEL_EVENT, instanceIdOf, parseInstanceId } from '../../core/orchestration';
import { redactNothing } from '../../core/redact';
import { type Row, decodeRow, isAtRest } from '../../core/row';
import { brief } from '../../core/text';
import { isOrchestration } from '../../handler/handlers';
import { type ListedJob, type Listing, StoreError } from '../../lease/store';
import { beat, setProgress, keepEndOf } from '../run-pieces';
import type { Coordinator, Hub, Report, RunnableJob } from '../coordinator';
import { type AppOrchestrations, type RunningOrchestration, withinHub } from '../hub';
import { troubled } from '../reachability';
import { POLL_AT_MOST_MS, POLL_FIRST_MS, hubProbe } from './hub-watch';

/** A tick waits so long for what the hub knows. */
const KNOWN_WITHIN_MS: Millis = 2_000;
/** The hub has this long to carry out a no-op. If it takes longer, the next sweep beats. */
const PROOF_WITHIN_MS: Millis = 5_000;
/**
 * A look at the hub at least this often, even if no run waits for anything in it: another process of the deployment may
 * have started an orchestration and died, or the hub starts one late.
 */
const LOOK_EVERY_MS: Millis = 60_000;
/** The looks end this long after the last claim of such a job: each reads the whole hub, the app's instances too. */
const LOOK_FOR_MS: Millis = 3_600_000;

type Handled = RunnableJob & { readonly handler: { readonly orchestrator: string; readonly takeOverAfterMs: Millis } };

interface JobRow {
  readonly job: RunnableJob;
  readonly row: Row;
}

/** The row of a job that is an orchestration, in a listing. */
interface Waiting extends JobRow {
  readonly listed: ListedJob;
}

/** Watches the orchestrations of this deployment's task hub. One for each process. */
export class OrchestrationWatch {
  readonly #coordinator: Coordinator;
  readonly #clock: Clock;
  readonly #probe: ReturnType<typeof hubProbe>;
  #found: readonly Handled[] | undefined;
  /** The orchestrators that the app has been seen to have. */
  readonly #known = new Set<string>();
  /** When each orchestration of a run that is over was told to end, on the monotonic clock. */
  readonly #told = new Map<string, Millis>();
  /** Whether the last look has shown an orchestration of a job, or a run that waits for one. */
  #isAnyRunning = false;
  #here: readonly Handled[] = [];
  #lookedAt: Millis = -Infinity;
  #tokens = -1;
  #claimedAt: Millis = 0;
  #isChecking = false;

  constructor(coordinator: Coordinator) {
    this.#coordinator = coordinator;
    this.#clock = coordinator.clock;
    this.#probe = hubProbe(coordinator);
  }

  get #jobs(): readonly Handled[] {
    this.#found ??= [...this.#coordinator.jobs.values()].filter((job): job is Handled => isOrchestration(job.handler));
    return this.#found;
  }

  /** How often sweeps must come for the heartbeats; Infinity: no orchestration runs here. */
  get everyMs(): Millis {
    // What no run waits for is ended soon.
    if (this.#isAnyRunning && this.#here.length === 0) return 0;
    return Math.min(...this.#here.map(({ handler }) => handler.takeOverAfterMs / BEATS_PER_TAKE_OVER));
  }

  /** Whether the app has the orchestrator of the job, if it has one. */
  mayStart({ handler }: RunnableJob): boolean {
    return !isOrchestration(handler) || this.#known.has(handler.orchestrator);
  }

  /** This process has handed over a claim. */
  handedOver(job: RunnableJob): void {
    const handled = this.#jobs.find(({ spec }) => spec.name === job.spec.name);
    if (handled !== undefined && !this.#here.includes(handled)) this.#here = [...this.#here, handled];
  }

  /** Asks the hub for orchestrators that it has not been seen to have. Never rejects. */
  prepare({ orchestrations }: Hub, report: Report): Promise<void> | undefined {
    const missing = this.#jobs.filter(({ handler }) => !this.#known.has(handler.orchestrator));
    if (missing.length === 0) return undefined;
    const asked = missing.map((job) => this.#ask(job, orchestrations, report));
    // The other jobs do not wait for a hub that does not answer.
    return Promise.race([Promise.all(asked).then(() => undefined), sleep(this.#clock, KNOWN_WITHIN_MS)]);
  }

  /**
   * Whether an orchestration whose run is about to be claimed for its silence runs in this hub after all: this
   * deployment was away, and is back. Then this beats for it. If it has ended meanwhile, this keeps its end.
   */
  async goesOn(job: RunnableJob, row: Row, hub: Hub, report: Report): Promise<boolean> {
    const { orchestrations } = hub;
    if (!isOrchestration(job.handler) || orchestrations === undefined || row.incumbent !== this.#coordinator.deployment)
      return false;
    const id = idOf({ job, row });
    let goesOn = false;
    await trying(report, id, async () => {
      const running = (await withinHub(this.#clock, () => orchestrations.running())).find((other) => other.id === id);
      if (running === undefined) await this.#keepFoundEnd(id, { job, row }, orchestrations);
      if (running === undefined || !(await this.#prove(hub))) return;
      await this.#beatFor({ job, row }, running);
      goesOn = true;
    });
    return goesOn;
  }

  /**
   * Beats for the orchestrations of this hub for which a run waits, and ends those that no run waits for any longer.
   * Never rejects because a call fails. Decision 133.
   */
  check(whole: Listing, hub: Hub, report: Report): Promise<void> | undefined {
    const { orchestrations } = hub;
    if (this.#jobs.length === 0 || orchestrations === undefined || this.#isChecking || this.#coordinator.stopping)
      return undefined;
    const rows = this.#jobs.flatMap((job) => waitingOf(job, whole) ?? []);
    const waiting = rows.filter(({ row }) => row.phase === 'fanning' && row.incumbent === this.#coordinator.deployment);
    this.#here = this.#jobs.filter((job) => waiting.some((one) => one.job === job));
    const now = this.#clock.monotonic();
    const newest = rows.reduce((sum, { row }) => sum + row.token, 0);
    if (newest !== this.#tokens) this.#claimedAt = now;
    this.#tokens = newest;
    const mayRun = now - this.#claimedAt < LOOK_FOR_MS && now - this.#lookedAt >= LOOK_EVERY_MS;
    if (waiting.length === 0 && !this.#isAnyRunning && !mayRun) return undefined;
    this.#isChecking = true;
    return this.#look(hub, orchestrations, rows, waiting, report)
      .then(() => {
        this.#lookedAt = now;
      })
      .catch((error: unknown) => {
        report.log('warn', 'the orchestrations of the task hub could not be checked:', brief(String(error)));
      })
      .finally(() => {
        this.#isChecking = false;
      });
  }

  async #ask({ spec, handler }: Handled, hub: AppOrchestrations | undefined, report: Report): Promise<void> {
    const { orchestrator } = handler;
    const what = `orchestrator ${orchestrator}`;
    try {
      if (hub !== undefined && (await withinHub(this.#clock, () => hub.knows(orchestrator)))) {
        this.#known.add(orchestrator);
        this.#coordinator.health.over(what);
        return;
      }
      const why =
        hub === undefined
          ? 'it is an orchestration, which this process cannot run. Run it in a function app'
          : `this app has no orchestrator "${orchestrator}", so it does not start the job. Register it with ` +
            `df.app.orchestration('${orchestrator}', …), or correct the name`;
      const reason = `jobs.${spec.name}.handler: "${spec.handler}": ${why}`;
      troubled(this.#coordinator, what, { reason, job: spec.name }, report);
    } catch (error) {
      report.log('debug', `whether the app has the orchestrator "${orchestrator}":`, brief(String(error)));
    }
  }

  async #look(
    hub: Hub,
    orchestrations: AppOrchestrations,
    rows: readonly Waiting[],
    waiting: readonly Waiting[],
    report: Report,
  ): Promise<void> {
    const isProven = waiting.length > 0 && (await this.#prove(hub));
    const running = await withinHub(this.#clock, () => orchestrations.running());
    const ours = new Map(running.map((one) => [one.id, one]));
    for (const id of this.#told.keys()) if (!ours.has(id)) this.#told.delete(id);
    const superseded = [...ours.keys()].filter((id) => isSuperseded(id, rows));
    this.#isAnyRunning = waiting.length > 0 || superseded.length > 0;
    const waits = waiting.map((one) => [idOf(one), one] as const);
    await Promise.all([
      ...superseded.map((id) => trying(report, id, () => this.#end(id, rows, orchestrations))),
      ...waits.map(([id, one]) =>
        trying(report, id, async () => {
          const own = ours.get(id);
          if (own === undefined) await this.#keepFoundEnd(id, one, orchestrations);
          else if (isProven) await this.#beatFor(one, own);
        }),
      ),
    ]);
  }

  /** The run's own orchestration may have been lost, or no back end may tell it of a termination. */
  async #keepFoundEnd(id: string, { job, row }: JobRow, hub: AppOrchestrations): Promise<void> {
    const ended = await withinHub(this.#clock, () => hub.end(id));
    if (ended === undefined || ended === 'running') return;
    await keepEndOf(this.#coordinator, { job: job.spec.name, key: row.run?.key ?? '', token: row.token }, ended);
  }

  async #beatFor({ job, row }: JobRow, { progress }: RunningOrchestration): Promise<void> {
    const run = { job: job.spec.name, key: row.run?.key ?? '', token: row.token };
    setProgress(this.#coordinator, run, progress && redactNote(progress, this.#coordinator.redact ?? redactNothing));
    await beat(this.#coordinator, run);
  }

  /** One in place of which another was started ends at once. One whose run is over may end by itself first. */
  async #end(id: string, rows: readonly Waiting[], hub: AppOrchestrations): Promise<void> {
    const now = this.#clock.monotonic();
    const one = rows.find(({ job }) => job.spec.name === parseInstanceId(id)?.job);
    const graceMs = one === undefined || isStartedAgain(id, one) ? 0 : one.job.spec.graceMs;
    const since = this.#told.get(id);
    if (graceMs > 0 && since === undefined) {
      this.#told.set(id, now);
      await withinHub(this.#clock, () => hub.raise(id, CANCEL_EVENT, 'its run is over'));
      return;
    }
    if (since !== undefined && now - since < graceMs) return;
    await withinHub(this.#clock, () => hub.terminate(id, 'its run has continued without it'));
  }

  /**
   * Proves before each heartbeat that the task hub carries something out: the list of a hub that delivers nothing shows
   * its orchestrations as running.
   */
  async #prove(hub: Hub): Promise<boolean> {
    const until = this.#clock.monotonic() + PROOF_WITHIN_MS;
    for (let delay = POLL_FIRST_MS; ; delay = Math.min(POLL_AT_MOST_MS, delay * 2)) {
      if ((await this.#probe.ask(hub)) !== undefined) return true;
      if (this.#clock.monotonic() >= until) return false;
      await sleep(this.#clock, delay);
    }
  }
}

async function trying(report: Report, id: string, act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    report.log('warn', `orchestration ${id}:`, error instanceof StoreError ? error : brief(String(error)));
  }
}

function waitingOf(job: RunnableJob, { jobs }: Listing): Waiting | undefined {
  const listed = jobs.get(job.spec.name);
  const metadata = listed?.row?.metadata;
  const row = metadata && ifReadable(() => decodeRow(metadata));
  return listed && row && { job, row, listed };
}

function idOf({ job, row }: JobRow): string {
  return instanceIdOf(job.spec.name, row.run?.scheduledFor ?? 0, row.token);
}

/** Tokens never fall, so this holds even if the rows were listed before the orchestration was started. */
function isSuperseded(id: string, rows: readonly Waiting[]): boolean {
  const parts = parseInstanceId(id);
  if (parts === undefined) return false;
  return rows.some(({ job, row }) => job.spec.name === parts.job && row.token > parts.token);
}

/** Whether its run goes on with another attempt, which no person has cancelled. */
function isStartedAgain(id: string, { job, row, listed }: Waiting): boolean {
  const { run } = row;
  const token = parseInstanceId(id)?.token ?? 0;
  if (run === undefined || instanceIdOf(job.spec.name, run.scheduledFor, token) !== id) return false;
  if (isAtRest(row, listed.row?.lease)) return false;
  return controlOf(listed.control).cancel !== runIdOf(job.spec.name, run.key);
}
