import type { ContainerClient } from '@azure/storage-blob';
import type { Millis } from '../../core/brand';
import type { Clock } from '../../core/clock';
import { StoreDeniedError } from '../../lease/store';
import { type Trial, type TrialStep, startTrying } from '../../lease/trial';
import { type Ask, asker } from './ask';
import { type Identity, shownCaller } from './caller';
import { download } from './download';
import { NO } from './errors';
import { JOBS_PREFIX, trialName } from './layout';
import { page } from './listing';
import { remediesFor } from './remedies';

interface TrialOptions {
  /** Made by `connectContainer`. */
  readonly container: ContainerClient;
  readonly clock: Clock;
  readonly callTimeoutMs: Millis;
  /** A GUID: the name of the blob and the id of its lease. */
  readonly id: string;
  /** Finds the identity of a refused caller. */
  readonly whoCalls?: () => Promise<Identity | undefined>;
}

type Step = () => Promise<unknown>;

/**
 * Tries each kind of call that coordination makes, on its own blob, and removes that. Never rejects with a
 * `StoreError`.
 */
export async function azureBlobTrial({ container, clock, callTimeoutMs, id, whoCalls }: TrialOptions): Promise<Trial> {
  const location = container.url.split('?', 1)[0] ?? '';
  const ask = asker({ location, clock, callTimeoutMs });
  const { attempt, failures, untried } = startTrying();
  const first = await listOnce(container, ask, clock, attempt);
  let versioned = false;
  let created = false;
  if (first.container !== 'missing' && failures.get('list')?.code !== 'StoreUnavailable') {
    const steps = stepsOn(container, ask, id, () => {
      versioned = true;
    });
    await attempt('read', steps.read);
    created = await attempt('create', steps.create);
    if (created) {
      if (await attempt('lease', steps.lease)) {
        await attempt('write', steps.write);
        await attempt('release', steps.release);
      }
      await attempt('delete', steps.delete);
    }
  }
  const isDenied = [...failures.values()].some((error) => error instanceof StoreDeniedError && error.why !== 'noToken');
  const caller = isDenied ? await whoCalls?.() : undefined;
  return {
    ...first,
    caller: caller && shownCaller(caller),
    nouns: { object: 'blob', place: 'container' },
    remedies: remediesFor(location, caller),
    failures,
    untried: untried(),
    versioned,
    left: created && failures.has('delete') ? trialName(id) : undefined,
  };
}

/** The first call. It also measures the difference of the clocks. */
async function listOnce(
  container: ContainerClient,
  ask: Ask,
  clock: Clock,
  attempt: (step: TrialStep, run: Step) => Promise<boolean>,
): Promise<Pick<Trial, 'container' | 'answeredInMs' | 'skewMs'>> {
  let seen: Pick<Trial, 'container' | 'answeredInMs' | 'skewMs'> = {
    container: 'unknown',
    answeredInMs: undefined,
    skewMs: undefined,
  };
  await attempt('list', async () => {
    const started = clock.monotonic();
    const { kind, date } = await ask({
      what: 'list jobs',
      no: ['ContainerNotFound'],
      options: undefined,
      send: (abortSignal) => page(container, { prefix: JOBS_PREFIX, limit: 1 }, abortSignal),
    });
    const answeredInMs = clock.monotonic() - started;
    // The service cuts its Date to whole seconds.
    const skewMs = Math.round(clock.now() - answeredInMs / 2 - (date + 500));
    seen = { container: kind === 'no' ? 'missing' : 'there', answeredInMs, skewMs };
  });
  return seen;
}

function stepsOn(
  container: ContainerClient,
  ask: Ask,
  id: string,
  onVersion: () => void,
): Readonly<Record<Exclude<TrialStep, 'list'>, Step>> {
  const name = trialName(id);
  const blob = container.getBlockBlobClient(name);
  const lease = blob.getBlobLeaseClient(id);
  const step =
    <T extends { readonly date?: Date; readonly versionId?: string }>(
      what: string,
      send: (abortSignal: AbortSignal) => Promise<T>,
      no: readonly string[] = [],
    ): Step =>
    async () => {
      const answer = await ask({ what: `${what} ${name}`, no, options: undefined, send });
      if (answer.kind === 'yes' && answer.value.versionId !== undefined) onVersion();
    };
  return {
    // The blob does not exist yet. The answer "not found" proves the permission to read.
    read: step('read', (abortSignal) => download(blob, abortSignal), NO.read),
    create: step('create', (abortSignal) =>
      blob.upload('', 0, { metadata: { trial: '1' }, conditions: { ifNoneMatch: '*' }, abortSignal }),
    ),
    lease: step('acquire the lease of', (abortSignal) => lease.acquireLease(15, { abortSignal })),
    write: step('write', (abortSignal) =>
      blob.setMetadata({ trial: '2' }, { conditions: { leaseId: id }, abortSignal }),
    ),
    release: step('release the lease of', (abortSignal) => lease.releaseLease({ abortSignal })),
    delete: step('delete', (abortSignal) => blob.delete({ abortSignal })),
  };
}
