import type { ContainerClient } from '@azure/storage-blob';
import type { Millis } from '../../core/brand';
import type { Clock } from '../../core/clock';
import { StoreDeniedError } from '../../lease/store';
import { type FirstLook, type Remedies, type Trial, type TrialStep, startTrying, tryLook } from '../../lease/trial';
import { type Ask, asker } from './ask';
import { type Identity, shownCaller } from './connection';
import { download } from './download';
import { NO } from './errors';
import { FOLDERS, trialName } from './layout';
import { page } from './listing';

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
  const first = await tryLook({ attempt }, clock, () => listOnce(container, ask));
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

async function listOnce(container: ContainerClient, ask: Ask): ReturnType<FirstLook> {
  const question = { what: 'list jobs', no: ['ContainerNotFound'], options: undefined };
  const { kind, date } = await ask(question, (abortSignal) =>
    page(container, { prefix: FOLDERS.controls, limit: 1 }, abortSignal),
  );
  // The service cuts its Date to whole seconds.
  return { isThere: kind !== 'no', date, cutMs: 500 };
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
      const answer = await ask({ what: `${what} ${name}`, no, options: undefined }, send);
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

/** @param caller undefined: calls use a key or SAS, or the token's owner is unknown */
export function remediesFor(location: string, caller: Identity | undefined): Remedies {
  return {
    noToken: 'sign in with "az login" or "azd auth login", or name a connection string with --storage',
    network: "run this inside the account's virtual network, or let this address through the account's firewall",
    credentials: 'sign in to the tenant of the account: "az login --tenant TENANT"',
    role:
      caller === undefined
        ? 'assign the role Storage Blob Data Contributor on the container, or use a key or SAS that allows all this'
        : roleRemedy(location, caller),
    versions:
      'turn blob versioning off for this account, or let a lifecycle rule delete versions of jobs/, runs/, logs/ and ' +
      'deployments/ after a day',
  };
}

/** The command that assigns the role to this caller on this container. */
function roleRemedy(location: string, { kind, objectId }: Identity): string {
  const url = URL.parse(location);
  const account = url?.hostname.split('.')[0] ?? 'ACCOUNT';
  const container = url?.pathname.split('/').at(-1) ?? 'CONTAINER';
  const type = kind === 'user' ? 'User' : 'ServicePrincipal';
  return (
    `give it the role Storage Blob Data Contributor on container ${container} of account ${account} (Storage Blob Data ` +
    'Reader is enough to look); it takes effect within minutes: az role assignment create --role "Storage Blob Data ' +
    `Contributor" --assignee-object-id ${objectId} --assignee-principal-type ${type} --scope "$(az storage account ` +
    `show --name ${account} --query id --output tsv)/blobServices/default/containers/${container}"`
  );
}
