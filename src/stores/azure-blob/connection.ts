import type { TokenCredential } from '@azure/identity';
import {
  AnonymousCredential,
  BlobServiceClient,
  type ContainerClient,
  newPipeline,
  type RequestPolicyFactory,
  type StoragePipelineOptions,
  StorageSharedKeyCredential,
} from '@azure/storage-blob';
import type { Clock } from '../../core/clock';
import { given } from '../../core/given';
import { loadedOnce } from '../../core/loaded-once';
import { isObject, parsedJson } from '../../core/metadata';
import type { CallKind, CallOutcome } from '../../core/storage-call';
import type { Caller } from '../../lease/trial';
import { callCounter, callMeter } from './count-calls';
import { fewConnections } from './few-connections';
import { unreadListings } from './listing';
import { isLoopback } from '../exposure';
import { StorageSettingsError } from '../settings-error';

/** Settings by name, from an app's environment. */
export type Settings = Readonly<Record<string, string | undefined>>;

/** Options of a client's pipeline. `policies` see every call, so that tests can count calls and lose answers. */
interface Sending extends StoragePipelineOptions {
  readonly policies?: readonly RequestPolicyFactory[];
  /** Counts the calls: receives the kind of each before it is sent. Undefined: nothing is added to the pipeline. */
  readonly onCall?: (kind: CallKind) => void;
  /** Receives each call once it is over. Undefined: nothing is added to the pipeline. */
  readonly meter?: CallMeter | undefined;
  /** Shows which of the coordinator's calls have waited for too long to go first. Default: none has. */
  readonly clock?: Clock;
}

export interface CallMeter {
  readonly clock: Clock;
  readonly onOutcome: (outcome: CallOutcome) => void;
}

export const DEFAULT_CONTAINER = 'cronlease';

const CONNECTION = 'CRONLEASE_STORAGE';
const SERVICE_URI = `${CONNECTION}__blobServiceUri`;
const CREDENTIAL = `${CONNECTION}__credential`;
const CLIENT_ID = `${CONNECTION}__clientId`;
const RESOURCE_ID = `${CONNECTION}__managedIdentityResourceId`;

/** Members of a Functions connection that name an identity, are not read here, and what to use. */
const OTHER_IDENTITIES: Readonly<Record<string, string>> = {
  clientSecret: 'AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET',
  managedIdentityObjectId: CLIENT_ID,
};

/** The storage emulator's account and key. They are published, the same on every machine, and worthless elsewhere. */
export const EMULATOR = {
  url: 'http://127.0.0.1:10000/devstoreaccount1',
  account: 'devstoreaccount1',
  key: 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==',
};

/** The settings of the connection of this name, as if it were the only one. */
export function settingsOf(settings: Settings, connection: string): Settings {
  const own = new Map<string, string | undefined>();
  for (const [name, value] of Object.entries(settings)) {
    if (name === connection || name.startsWith(`${connection}__`)) {
      own.set(CONNECTION + name.slice(connection.length), value);
    }
  }
  return Object.fromEntries(own);
}

/** The rule of {@link isContainerName}, as a remedy. */
export const CONTAINER_NAME_RULE = 'use 3 to 63 of a-z, 0-9 and single hyphens between them';

/** https://learn.microsoft.com/rest/api/storageservices/naming-and-referencing-containers--blobs--and-metadata */
export function isContainerName(name: string): boolean {
  return /^(?=.{3,63}$)[a-z0-9]+(-[a-z0-9]+)*$/.test(name);
}

/**
 * The container that the settings name, by the Functions connection convention: `CRONLEASE_STORAGE` is a connection
 * string, or `CRONLEASE_STORAGE__blobServiceUri` is the service's URL, with `CRONLEASE_STORAGE__credential`, and
 * `CRONLEASE_STORAGE__clientId` or `CRONLEASE_STORAGE__managedIdentityResourceId`, for a managed identity. Makes no
 * call.
 *
 * @throws StorageSettingsError
 */
export function connectContainer(
  settings: Settings,
  containerName: string = DEFAULT_CONTAINER,
  { policies = [], clock, ...sending }: Sending = {},
): ContainerClient {
  checkContainerName(containerName);
  // Only the coordinator's calls: downloads of a handler must not keep the renewal of its lease waiting.
  const service = serviceOf(resolve(settings).url);
  const few = service === undefined ? [] : [fewConnections(service, clock?.monotonic)];
  return connectService(settings, { ...sending, policies: [...policies, ...few] }).getContainerClient(containerName);
}

/** Undefined: a self-hosted service, without TLS. */
function serviceOf(url: string): 'emulator' | 'azure' | undefined {
  const { protocol, pathname } = new URL(url);
  if (protocol === 'https:') return 'azure';
  return pathname.split('/')[1] === EMULATOR.account ? 'emulator' : undefined;
}

/** @throws StorageSettingsError */
function checkContainerName(containerName: string): void {
  if (isContainerName(containerName)) return;
  const message = `${JSON.stringify(containerName)} is not a container name: ${CONTAINER_NAME_RULE}.`;
  throw new StorageSettingsError('ContainerNameInvalid', message);
}

/**
 * Checks the settings beside `CRONLEASE_STORAGE` where that names another store.
 *
 * @throws StorageSettingsError
 */
export function checkStorageName(settings: Settings, containerName: string): void {
  if (settings[SERVICE_URI]?.trim()) throw setTwice();
  checkContainerName(containerName);
}

function setTwice(): StorageSettingsError {
  return new StorageSettingsError(
    'StorageSetTwice',
    `Both ${CONNECTION} and ${SERVICE_URI} are set. They may name different accounts, so remove one of them.`,
  );
}

/**
 * Gets a token of the identity that the settings name for another service. Undefined: they name none, and a password is
 * used.
 *
 * @throws StorageSettingsError
 */
export function tokenOf(settings: Settings, scope: string): (() => Promise<string>) | undefined {
  if (!settings[CREDENTIAL]?.trim()) return undefined;
  const credential = identity(settings);
  return async () => (await credential.getToken(scope))?.token ?? '';
}

/**
 * The blob service that the settings name, as in {@link connectContainer}. Its clients share connections. They make one
 * attempt at each call, unless `sending` has other `retryOptions`.
 *
 * @throws StorageSettingsError
 */
export function connectService(
  settings: Settings,
  { policies = [], onCall, meter, ...options }: Sending = {},
): BlobServiceClient {
  const { url, credential } = resolve(settings);
  const pipeline = newPipeline(credential, { retryOptions: { maxTries: 1 }, ...options });
  const counters = onCall === undefined ? [] : [callCounter(onCall)];
  const meters = meter === undefined ? [] : [callMeter(meter.clock, meter.onOutcome)];
  pipeline.factories.push(unreadListings, ...counters, ...meters, ...policies);
  return new BlobServiceClient(url, pipeline);
}

/** The scope of tokens for any storage account. */
const STORAGE_SCOPE = 'https://storage.azure.com/.default';

/** The identity whose token the settings lead to; undefined if calls use a key or SAS, or no token is available. */
export async function callerOf(settings: Settings): Promise<Identity | undefined> {
  const { credential } = resolve(settings);
  if (!('getToken' in credential)) return undefined;
  try {
    return callerIn((await credential.getToken(STORAGE_SCOPE))?.token ?? '');
  } catch {
    // Every call reports a missing token by itself. This function only adds a name to messages.
    return undefined;
  }
}

interface Connection {
  readonly url: string;
  readonly credential: StorageSharedKeyCredential | AnonymousCredential | TokenCredential;
}

function resolve(settings: Settings): Connection {
  const text = settings[CONNECTION]?.trim();
  const uri = settings[SERVICE_URI]?.trim();
  if (text && uri) throw setTwice();
  if (text) return parseConnectionString(text);
  if (uri) return { url: checkServiceUri(uri), credential: identity(settings) };
  const near = Object.keys(settings).filter((name) => name.toUpperCase().startsWith(CONNECTION) && settings[name]);
  throw new StorageSettingsError(
    'StorageNotSet',
    `No storage is set. Set ${CONNECTION} to a connection string (UseDevelopmentStorage=true for the emulator), or ` +
      `${SERVICE_URI} to the URL of a blob service that this app's identity may use.` +
      (near.length > 0 ? ` These are set, but are not enough: ${near.join(', ')}.` : ''),
  );
}

/**
 * Parsed here and not by the SDK. Its errors contain parts of the string, and it takes an account key for a SAS if
 * `DefaultEndpointsProtocol` is missing.
 */
function parseConnectionString(text: string): Connection {
  const members = new Map<string, string>();
  for (const part of text.split(';').filter((candidate) => candidate.trim() !== '')) {
    const equals = part.indexOf('=');
    if (equals < 1) throw invalidConnection('a part between semicolons is not name=value');
    members.set(part.slice(0, equals).trim().toLowerCase(), part.slice(equals + 1).trim());
  }
  if (members.get('usedevelopmentstorage')?.toLowerCase() === 'true') {
    const url = emulatorAt(members.get('developmentstorageproxyuri'));
    return { url, credential: new StorageSharedKeyCredential(EMULATOR.account, EMULATOR.key) };
  }
  const account = members.get('accountname');
  const key = members.get('accountkey');
  const sas = members.get('sharedaccesssignature')?.replace(/^\?/, '');
  const url = endpointOf(members, account);
  if (key !== undefined) {
    if (!account) throw invalidConnection('AccountName is missing');
    if (!/^[A-Za-z0-9+/]+={0,2}$/.test(key)) throw invalidConnection('AccountKey is not Base64');
    return { url, credential: new StorageSharedKeyCredential(account, key) };
  }
  if (!sas) throw invalidConnection('it has neither AccountKey nor SharedAccessSignature');
  const { protocol, hostname } = new URL(url);
  if (protocol === 'http:' && !isLoopback(hostname.replace(/^\[|\]$/g, ''))) {
    throw new StorageSettingsError(
      'StorageInsecure',
      `${CONNECTION} would send its SharedAccessSignature to ${hostname} without TLS: use https in its BlobEndpoint or ` +
        'DefaultEndpointsProtocol, or an AccountKey, which is never sent.',
    );
  }
  return { url: `${url}?${sas}`, credential: new AnonymousCredential() };
}

/** @param proxy the URL of the emulator's machine. Only its scheme and host count, as for the clients of .NET */
function emulatorAt(proxy: string | undefined): string {
  if (proxy === undefined || proxy === '') return EMULATOR.url;
  const { protocol, hostname } = URL.parse(proxy) ?? { protocol: '', hostname: '' };
  if (!/^https?:$/.test(protocol)) throw invalidConnection('DevelopmentStorageProxyUri is not a URL');
  return `${protocol}//${hostname}:10000/${EMULATOR.account}`;
}

function endpointOf(members: ReadonlyMap<string, string>, account: string | undefined): string {
  const endpoint = members.get('blobendpoint');
  const protocol = members.get('defaultendpointsprotocol')?.toLowerCase() ?? 'https';
  if (!endpoint && !account) throw invalidConnection('it has neither BlobEndpoint nor AccountName');
  if (!endpoint && !/^[a-z0-9-]+$/.test(account ?? '')) throw invalidConnection('AccountName is not a-z and 0-9');
  const suffix = members.get('endpointsuffix') ?? 'core.windows.net';
  const url = endpoint ? endpoint : `${protocol}://${account}.blob.${suffix}`;
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? '')) {
    throw invalidConnection(
      endpoint ? 'BlobEndpoint is not a URL' : 'DefaultEndpointsProtocol or EndpointSuffix does not make a URL',
    );
  }
  return url.replace(/\/+$/, '');
}

export const REFERENCE_REMEDY =
  'give the identity of keyVaultReferenceIdentity the role Key Vault Secrets User, and compare the address of the secret';

/** Azure leaves a reference as it is when it cannot read the secret. */
export function isReference(text: string | undefined): boolean {
  return /^\s*@Microsoft\.(?:KeyVault|AppConfiguration)\(/i.test(text ?? '');
}

/** Has no cause: any part of the string may be its key. */
function invalidConnection(problem: string): StorageSettingsError {
  return new StorageSettingsError(
    'ConnectionStringInvalid',
    `${CONNECTION} is not a connection string of a storage account: ${problem}. Copy it again from the account's access ` +
      'keys, or use UseDevelopmentStorage=true for the emulator.',
  );
}

function checkServiceUri(uri: string): string {
  const url = URL.parse(uri);
  const invalid = (problem: string): StorageSettingsError =>
    new StorageSettingsError(
      'ServiceUriInvalid',
      `${SERVICE_URI} ${problem}. It looks like https://ACCOUNT.blob.core.windows.net.`,
    );
  if (url === null) throw invalid('is not a URL');
  if (url.search !== '') {
    throw invalid(`has a query. Put a SAS into ${CONNECTION}, as BlobEndpoint=…;SharedAccessSignature=…`);
  }
  if (url.protocol !== 'https:') {
    throw invalid(
      `is not https, and an identity's token is never sent without it. For the emulator, set ${CONNECTION}`,
    );
  }
  return url.href.replace(/\/+$/, '');
}

/** Loads `@azure/identity` at the first call. It takes 0.1 s and 30 MB, and an app with a key does not need it. */
function identity(settings: Settings): TokenCredential {
  const kind = settings[CREDENTIAL]?.trim();
  const { clientId, resourceId } = chosenIdentity(settings);
  const loaded = loadedOnce(async (): Promise<TokenCredential> => {
    const { DefaultAzureCredential, ManagedIdentityCredential } = await import('@azure/identity');
    if (resourceId) return new ManagedIdentityCredential({ resourceId });
    if (kind) return clientId ? new ManagedIdentityCredential({ clientId }) : new ManagedIdentityCredential();
    return clientId ? new DefaultAzureCredential({ managedIdentityClientId: clientId }) : new DefaultAzureCredential();
  });
  return {
    async getToken(scopes, options) {
      return (await loaded()).getToken(scopes, options);
    },
  };
}

/** @throws StorageSettingsError if they choose one that is not used, or two */
function chosenIdentity(settings: Settings): { readonly clientId?: string; readonly resourceId?: string } {
  const kind = settings[CREDENTIAL]?.trim();
  const refuse = (problem: string): never => {
    throw new StorageSettingsError('CredentialUnknown', problem);
  };
  if (kind && kind.toLowerCase() !== 'managedidentity') {
    refuse(
      `${CREDENTIAL} is ${JSON.stringify(kind)}: set it to managedidentity, or remove it to use the first identity that is found.`,
    );
  }
  for (const [member, instead] of Object.entries(OTHER_IDENTITIES)) {
    const name = `${CONNECTION}__${member}`;
    if (settings[name]?.trim()) refuse(`${name} is set, and is not read: use ${instead}.`);
  }
  const [clientId, resourceId] = [settings[CLIENT_ID]?.trim(), settings[RESOURCE_ID]?.trim()];
  if (clientId && resourceId) refuse(`Both ${CLIENT_ID} and ${RESOURCE_ID} are set: remove one of them.`);
  return given({ clientId, resourceId });
}

/** The identity of a token of Entra ID. */
export interface Identity {
  readonly kind: 'user' | 'application';
  /** A name for people: a user's sign-in name, or an application's id. */
  readonly name: string;
  readonly objectId: string;
  readonly tenant: string;
}

/** The identity as messages show it. */
export function shownCaller({ kind, name, objectId, tenant }: Identity): Caller {
  return {
    name: `the ${kind} ${name}${name === objectId ? '' : ` (object id ${objectId})`}`,
    realm: `tenant ${tenant}`,
  };
}

/**
 * Reads the identity from a token of Entra ID, for messages only. No decision depends on it.
 *
 * @returns undefined if the text is not such a token
 * @see https://learn.microsoft.com/entra/identity-platform/access-token-claims-reference
 */
export function callerIn(token: string): Identity | undefined {
  const [, payload = ''] = token.split('.');
  // A token is opaque to everyone but its audience, so any format is legal.
  const claims = parsedJson(Buffer.from(payload, 'base64url').toString('utf8'));
  if (!isObject(claims)) return undefined;
  const text = (...names: readonly string[]): string | undefined =>
    names.map((name) => claims[name]).find((value) => typeof value === 'string' && value !== '') as string | undefined;
  const objectId = text('oid');
  const tenant = text('tid');
  if (objectId === undefined || tenant === undefined) return undefined;
  const user = text('upn', 'preferred_username', 'unique_name', 'email');
  const isApplication = claims['idtyp'] === 'app' || user === undefined;
  return {
    kind: isApplication ? 'application' : 'user',
    name: (isApplication ? text('app_displayname', 'appid', 'azp') : user) ?? objectId,
    objectId,
    tenant,
  };
}
