import type { ContainerClient } from '@azure/storage-blob';
import type { JobName, Millis } from '../../core/brand';
import type { Clock } from '../../core/clock';
import { StoreDeniedError } from '../../lease/store';
import type { Remedies, Trial } from '../../lease/trial';
import { tryRows } from '../adapter';
import { type Ask, asker } from './ask';
import { type Identity, shownCaller } from './connection';
import { FOLDERS } from './layout';
import { page } from './listing';
import { rowsAt } from './rows';

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

/**
 * Tries each kind of call that coordination makes, on its own blob, and removes that. Never rejects with a
 * `StoreError`.
 */
export async function azureBlobTrial({ container, clock, callTimeoutMs, id, whoCalls }: TrialOptions): Promise<Trial> {
  const location = container.url.split('?', 1)[0] ?? '';
  let versioned = false;
  const make = asker({ location, clock, callTimeoutMs });
  const ask: Ask = async (question, send) => {
    const answer = await make(question, send);
    if (answer.kind === 'yes' && 'versionId' in answer.value && answer.value.versionId !== undefined) versioned = true;
    return answer;
  };
  const trial = await tryRows({
    clock,
    async look(question) {
      const { kind, date } = await ask({ ...question, what: 'list jobs', no: ['ContainerNotFound'] }, (abortSignal) =>
        page(container, { prefix: FOLDERS.controls, limit: 1 }, abortSignal),
      );
      // The service cuts its Date to whole seconds.
      return { isThere: kind !== 'no', date, cutMs: 500 };
    },
    rows: rowsAt(container, ask, (name: JobName) => name),
    remove: (question, name) =>
      ask({ ...question, no: [] }, (abortSignal) => container.getBlobClient(name).delete({ abortSignal })),
    name: `doctor/${id}`,
    id,
    hasOneRight: true,
  });
  const errors = [...trial.failures.values()];
  const isDenied = errors.some((error) => error instanceof StoreDeniedError && error.why !== 'noToken');
  const caller = isDenied ? await whoCalls?.() : undefined;
  return {
    ...trial,
    versioned,
    caller: caller && shownCaller(caller),
    nouns: { object: 'blob', place: 'container' },
    remedies: remediesFor(location, caller),
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
