import type { JobName, Millis } from '../core/brand';
import { encodeDelivery, newDelivery, NOBODY, SEND_WITHIN_MS } from '../core/delivery';
import { asciiJson } from '../core/metadata';
import type { Notice } from '../core/notice';
import { redactNothing } from '../core/redact';
import type { JobSpec, NotifySettings } from '../core/job';
import type { NoticeStore } from '../lease/store';
import type { Coordinator, Report } from './coordinator';
import type { PingKind } from './outlet';

/** The longest error of a handler in a notice. */
const ERROR_LENGTH = 4_000;

type Sending = Pick<Coordinator, 'outlet' | 'sends' | 'clock'>;

type Ask = <T>(call: (store: NoticeStore, signal: AbortSignal) => Promise<T>) => Promise<T>;

interface Telling {
  readonly notify: NotifySettings;
  readonly notice: Notice;
  /**
   * Asked once the notice exists, and before any process may send it. If false, it is deleted. Left out: it is news.
   */
  readonly isNews?: () => Promise<boolean>;
}

/**
 * Creates a notice, unless it exists, and sends it if it is ours. It returns before it is sent: if this process dies, a
 * sweep finds it. Decision 093.
 *
 * @throws StoreError
 */
export async function tell(
  coordinator: Coordinator,
  report: Report,
  ask: Ask,
  { notify, notice, isNews }: Telling,
): Promise<void> {
  const { outlet, serviceTime } = coordinator;
  const hidden = redacted(coordinator, notice);
  const now = serviceTime.now();
  const delivery =
    outlet === undefined
      ? newDelivery(hidden, notify.to, NOBODY, now)
      : newDelivery(hidden, notify.to, outlet.instance, now + SEND_WITHIN_MS);
  const first = isNews === undefined ? delivery : newDelivery(hidden, notify.to, NOBODY, now + SEND_WITHIN_MS);
  const stored = { body: asciiJson(hidden), metadata: encodeDelivery(first) };
  const created = await ask((store, signal) => store.createNotice(hidden.id, stored, { signal }));
  if (created.kind === 'exists') return;
  let { etag } = created;
  if (isNews !== undefined) {
    if (!(await isNews())) {
      await ask((store, signal) => store.deleteNotice(hidden.id, { signal }));
      return;
    }
    const metadata = encodeDelivery(delivery);
    const kept = await ask((store, signal) => store.writeNotice(hidden.id, metadata, etag, { signal }));
    if (kept.kind === 'refused') return;
    etag = kept.etag;
  }
  const { change, job, at } = hidden;
  report.event({ event: 'noticed', at, ...(job === '' ? {} : { job }), reason: change });
  if (outlet !== undefined) sending(coordinator, job, outlet.send({ notice: hidden, delivery, etag }, report));
}

/** Calls the job's address at a service that watches it. It neither fails nor delays the run. */
export function ping(coordinator: Sending, spec: Pick<JobSpec, 'name' | 'ping'>, kind: PingKind, report: Report): void {
  const { outlet } = coordinator;
  if (spec.ping !== undefined && outlet !== undefined)
    sending(coordinator, spec.name, outlet.ping(spec.ping, kind, report));
}

/** Keeps count of what is being sent, so that an invocation can wait for a moment. */
function sending({ sends }: Sending, job: JobName | '', done: Promise<void>): void {
  sends.set(done, job);
  void done.finally(() => sends.delete(done));
}

/** Waits until what is being sent of this job is out, and never for longer than this. */
export async function untilSent({ sends, clock }: Sending, job: JobName, atMostMs: Millis): Promise<void> {
  const own = [...sends].flatMap(([done, whose]) => (whose === job ? [done] : []));
  if (own.length === 0) return;
  await new Promise<void>((resolve) => {
    const cancel = clock.after(atMostMs, resolve);
    void Promise.allSettled(own).then(() => {
      cancel();
      resolve();
    });
  });
}

/** A handler's error may have secrets. */
function redacted({ redact = redactNothing }: Coordinator, notice: Notice): Notice {
  if (notice.error === undefined) return notice;
  const [error = ''] = redact([notice.error], ERROR_LENGTH);
  return { ...notice, error };
}
