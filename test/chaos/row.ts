import { backfillMisses } from './backfills';
import { dueTimes, type Evidence } from './evidence';
import { groupMisses } from './groups';
import { expectedNotices, isSentByTwo, toldTooOften, untold } from './notices';
import { type Recovery, recoveryIn } from './recovery';
import { type Violations, violationsIn } from './safety';
import { EARLY_MS, type Scenario, type Targets } from './scenario';
import { waitingMisses } from './waiting';

/** One line of the table. Durations in milliseconds; undefined: there was nothing of the kind to measure. */
export interface Row extends Recovery {
  readonly name: string;
  readonly shows: string;
  readonly dueTimes: number;
  readonly duplicates: number;
  readonly losses: number;
  readonly staleWrites: number;
  /** Duplicates and losses that the emulator's own loss of confirmed writes explains. */
  readonly forgiven: number;
  readonly forgivenLosses: number;
  /** Every target that was missed, in words. */
  readonly misses: readonly string[];
  /** How long the scenario took. */
  readonly seconds: number;
}

const NOTHING: Recovery = {
  gapOthersMs: undefined,
  gapHeldMs: undefined,
  takeOverMs: undefined,
  toldMs: undefined,
  caughtUpMs: undefined,
  earlyMs: 0,
  refused: 0,
};

/** @param failure - why there is no evidence */
export function rowOf(scenario: Scenario, evidence: Evidence | undefined, seconds: number, failure = ''): Row {
  const { name, shows, targets } = scenario;
  const base = { name, shows, seconds: Math.round(seconds) };
  if (evidence === undefined) {
    const none = { dueTimes: 0, duplicates: 0, losses: 0, staleWrites: 0, forgiven: 0, forgivenLosses: 0 };
    return { ...base, ...NOTHING, ...none, misses: [`it could not be played: ${failure}`] };
  }
  const violations = violationsIn(evidence);
  const recovery = gapOfAll(recoveryIn(evidence), targets);
  return {
    ...base,
    ...recovery,
    dueTimes: dueTimes(evidence.jobs, evidence.span).length,
    duplicates: violations.duplicates.length,
    losses: violations.losses.length,
    staleWrites: violations.staleWrites.length,
    forgiven: violations.forgiven.length,
    forgivenLosses: violations.forgivenLosses.length,
    misses: [
      ...unsafe(violations),
      ...tooLate(recovery, targets),
      ...unsent(evidence, targets),
      ...backfillMisses(evidence),
      ...groupMisses(evidence, targets.groupWaitMs),
      ...waitingMisses(evidence),
    ],
  };
}

/** Where no one could run, no job is another's. */
function gapOfAll(recovery: Recovery, targets: Targets): Recovery {
  const { gapOthersMs, gapHeldMs } = recovery;
  if (targets.gapOthersMs !== undefined) return recovery;
  return { ...recovery, gapOthersMs: undefined, gapHeldMs: Math.max(gapOthersMs ?? 0, gapHeldMs ?? 0) };
}

function unsafe({ duplicates, losses, staleWrites, unreadable }: Violations): string[] {
  const some = (what: string, found: readonly string[]): string[] =>
    found.length === 0 ? [] : [`${String(found.length)} ${what}: ${found.slice(0, 5).join('; ')}`];
  return [
    ...some('duplicates', duplicates),
    ...some('losses', losses),
    ...some('stale writes', staleWrites),
    ...some('unreadable', unreadable),
  ];
}

function unsent(evidence: Evidence, { sentByTwo }: Targets): string[] {
  const some = (what: string, found: readonly string[]): string[] =>
    found.length === 0 ? [] : [`${String(found.length)} notices ${what}: ${found.slice(0, 5).join('; ')}`];
  if (evidence.told === undefined) return [];
  return [
    ...some('lost', untold(evidence)),
    ...some('too often', toldTooOften(evidence)),
    ...(expectedNotices(evidence.ledger, evidence.span).length === 0 ? ['no run called for a notice'] : []),
    ...(sentByTwo === true && !isSentByTwo(evidence) ? ['no notice was sent again by another deployment'] : []),
  ];
}

function tooLate(recovery: Recovery, targets: Targets): string[] {
  const misses: string[] = [];
  const check = (what: string, measured: number | undefined, target: number | undefined): void => {
    if (target !== undefined && measured !== undefined && measured > target) {
      misses.push(`${what} took ${seconds(measured)}, more than ${seconds(target)}`);
    }
  };
  const { toldMs, refused } = recovery;
  check('the gap of jobs that no victim held', recovery.gapOthersMs, targets.gapOthersMs);
  check('the take-over', recovery.takeOverMs, targets.takeOverMs);
  check('noticing the loss', toldMs, targets.toldMs);
  check('catching up', recovery.caughtUpMs, targets.caughtUpMs);
  if (recovery.earlyMs > EARLY_MS) misses.push(`a handler started ${seconds(recovery.earlyMs)} early`);
  if (targets.toldMs !== undefined && toldMs === undefined) misses.push('no old leader was left to notice');
  if (targets.toldMs !== undefined && refused === 0) misses.push('no fenced write of the old leader was refused');
  if (targets.caughtUpMs !== undefined && recovery.caughtUpMs === undefined)
    misses.push('nothing was due in the outage');
  return misses;
}

export function seconds(ms: number): string {
  if (ms === Infinity) return 'for ever';
  return Math.abs(ms) < 1000 ? `${String(Math.round(ms))} ms` : `${(ms / 1000).toFixed(1)} s`;
}
