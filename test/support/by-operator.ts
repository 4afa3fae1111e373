import type { ETag, EpochMs } from '../../src/core/brand';
import type { LeaseStore } from '../../src/lease/store';
import type { Acting } from '../../src/operator/audit';
import { ack, unack } from '../../src/operator/operations/acknowledge';
import { cancel } from '../../src/operator/operations/cancel';
import { cordon, uncordon } from '../../src/operator/operations/fleet';
import { pause, resume } from '../../src/operator/operations/pause';
import type { LeaseTaker } from '../../src/operator/operations/take-lease';
import type { Subject } from '../../src/operator/subject';
import { settableClock } from './clock';

interface Reason {
  readonly by: string;
  readonly note: string;
}

interface ReasonUntil extends Reason {
  readonly until?: EpochMs | undefined;
}

/** The operations of a person on a store, without entries in the audit: these are other tests'. */
function actingOn(store: LeaseStore, note = '', desk?: LeaseTaker): Acting {
  const writeAudit = () => Promise.resolve({ kind: 'written', etag: '"audit"' as ETag });
  return {
    clock: settableClock(0),
    newId: () => '00000000-0000-4000-8000-000000000000',
    waiting: () => undefined,
    ...desk,
    store: Object.create(store, { writeAudit: { value: writeAudit } }) as LeaseStore,
    origin: { actor: 'somebody', channel: 'cli', note },
  };
}

function instantOf(time: string | null): EpochMs | undefined {
  return time === null ? undefined : Date.parse(time);
}

export async function pauseJob(store: LeaseStore, subject: Subject, { by, note, until }: ReasonUntil) {
  const { pause: made } = await pause(actingOn(store, note), subject, { by, untilIn: () => until });
  return { ...made, since: Date.parse(made.since), until: instantOf(made.until) };
}

export async function resumeJob(store: LeaseStore, subject: Subject) {
  const { pause: ended } = await resume(actingOn(store), subject);
  return { ...ended, since: Date.parse(ended.since), until: Date.parse(ended.until ?? '') };
}

export async function cordonDeployment(store: LeaseStore, deployment: string, { by, note }: Reason) {
  return (await cordon(actingOn(store, note), deployment, by)).cordon;
}

export async function uncordonDeployment(store: LeaseStore, deployment: string) {
  return (await uncordon(actingOn(store), deployment)).cordon;
}

export function acknowledge(store: LeaseStore, subject: Subject, { by, note, until }: ReasonUntil) {
  return ack(actingOn(store, note), subject, { by, until });
}

export async function unacknowledge(store: LeaseStore, subject: Subject) {
  const { acknowledgement } = await unack(actingOn(store), subject);
  return { ...acknowledgement, until: instantOf(acknowledgement.until) };
}

export async function cancelRun(store: LeaseStore, subject: Subject, runId?: string) {
  const { requestedAt, endedBy, runId: cancelled } = await cancel(actingOn(store), subject, { runId, hasFile: false });
  return { runId: cancelled, requestedAt: Date.parse(requestedAt), endedBy };
}

/** As {@link cancelRun}, with a jobs file, which may lack the job. */
export async function cancelOrEnd(desk: LeaseTaker, subject: Subject, runId?: string) {
  const made = await cancel(actingOn(desk.store, '', desk), subject, { runId, hasFile: true });
  return { runId: made.runId, requestedAt: Date.parse(made.requestedAt), endedBy: made.endedBy };
}
