/**
 * The app settings that cronlease reads, and those of the host that it depends on. docs/reference/app-settings.md is
 * made from these comments; the last sentence of each names the default.
 */
interface AppSettings {
  /**
   * The storage that coordinates the jobs: a connection string, or `UseDevelopmentStorage=true`. Set this or
   * `CRONLEASE_STORAGE__blobServiceUri`. Default: required.
   */
  readonly CRONLEASE_STORAGE?: string | undefined;
  /** The same for an identity: `https://ACCOUNT.blob.core.windows.net`. Default: none. */
  readonly CRONLEASE_STORAGE__blobServiceUri?: string | undefined;
  /**
   * `managedidentity` uses a managed identity of the app. Default: the identity that `DefaultAzureCredential` finds.
   */
  readonly CRONLEASE_STORAGE__credential?: string | undefined;
  /** The client id of a user-assigned identity. Default: none. */
  readonly CRONLEASE_STORAGE__clientId?: string | undefined;
  /**
   * The coordination container, created if it is missing. All deployments that share the jobs use the same one.
   * Default: `cronlease`.
   */
  readonly CRONLEASE_CONTAINER?: string | undefined;
  /** The schedule of the tick timer: six fields, seconds first, in UTC. Default: `10,25,40,55 * * * * *`. */
  readonly CRONLEASE_TICK?: string | undefined;
  /**
   * How long before its due time a run may be claimed, `0s` to `60s`. Before a burst of due times it grows by itself, to
   * 34 s at most; with `0s` it does not. Default: `5s`.
   */
  readonly CRONLEASE_LOOK_AHEAD?: string | undefined;
  /**
   * How many handlers one instance runs at once, from 1: runs, and the items of those that fan out. Others that are due
   * wait by the `priority` of their jobs, and then by due time. Leader jobs are not counted. Set it well below host.json's
   * `maxConcurrentActivityFunctions`, since those that wait count there too. Default: no limit but that one.
   */
  readonly CRONLEASE_MAX_CONCURRENT_RUNS?: string | undefined;
  /**
   * How old the last listing of the jobs may be, `1s` to `1h`: the time until requests, pauses and dead holders are
   * seen. Each listing is one storage call. Default: `60s`; `2s` under `cronlease dev`.
   */
  readonly CRONLEASE_SWEEP_INTERVAL?: string | undefined;
  /**
   * The name of this deployment. No two may share one. Default: `WEBSITE_SITE_NAME` with the slot, or else
   * `AzureFunctionsWebHost__hostid`, or else the host name.
   */
  readonly CRONLEASE_DEPLOYMENT?: string | undefined;
  /**
   * Keys of machines for the HTTP API: `NAME:ROLE:SHA256`, separated by commas. The roles are `viewer`, `operator` and
   * `admin`, and SHA256 is the lowercase hex digest of the key. Default: none.
   */
  readonly CRONLEASE_API_KEYS?: string | undefined;
  /** `true` refuses every change over HTTP. Default: `false`. */
  readonly CRONLEASE_MANAGE_READ_ONLY?: string | undefined;
  /** The name of the environment, such as `production`, which the dashboard shows beside every action. Default: none. */
  readonly CRONLEASE_ENVIRONMENT?: string | undefined;
  /** The colour of that name: `red`, `orange`, `green`, `blue`, `purple` or `gray`. Default: `gray`. */
  readonly CRONLEASE_ENVIRONMENT_COLOR?: string | undefined;
  /**
   * A secret that `cronlease dev` makes and gives to its own instances. An app on Azure does not start with it. Default:
   * none.
   */
  readonly CRONLEASE_DEV_SECRET?: string | undefined;
  /**
   * Whether Azure authenticates the callers of the app. Azure sets it. Logins count only where it is `True`. Default:
   * none.
   */
  readonly WEBSITE_AUTH_ENABLED?: string | undefined;
  /**
   * Secrets in what handlers log, as a JSON list of up to 50 regular expressions (JavaScript, with the flag `u`):
   * `["Bearer \\S+"]`. What they match in a line or a progress note is stored as `***`. They search the first 9,216
   * characters of a line, and all lines of one write for 100 ms at most; lines that are left then are withheld. The
   * host's log has the lines as they are. Default: none.
   */
  readonly CRONLEASE_REDACT?: string | undefined;
  /**
   * A jobs file to use instead of the one that the code names. `cronlease dev --more-jobs` sets it. Default: none.
   */
  readonly CRONLEASE_JOBS_FILE?: string | undefined;
  /**
   * The host sets it. With `Development` the tick also runs when the host starts. Default: `Production` on Azure.
   */
  readonly AZURE_FUNCTIONS_ENVIRONMENT?: string | undefined;
  /** The name of the app. Azure sets it. Default: none. */
  readonly WEBSITE_SITE_NAME?: string | undefined;
  /** The slot, joined to the name of the app unless it is `Production`. Azure sets it. Default: none. */
  readonly WEBSITE_SLOT_NAME?: string | undefined;
  /**
   * The id of the host, and with it the lock of its timer. Deployments that share a host storage account need one each.
   * Default: made by the host.
   */
  readonly AzureFunctionsWebHost__hostid?: string | undefined;
  /** Overrides `functionTimeout` of host.json, for the host and for cronlease. Default: none. */
  readonly AzureFunctionsJobHost__functionTimeout?: string | undefined;
  /**
   * The Durable task hub, letters and digits. Each deployment needs its own. host.json reads it. Default: required by
   * host.json.
   */
  readonly TASKHUB_NAME?: string | undefined;
  /**
   * The host's own storage, which also holds the task hub. On Azure, use another account than the coordination's.
   * Default: required by the host.
   */
  readonly AzureWebJobsStorage?: string | undefined;
  /** `node` for `func start`. Leave it out on Flex Consumption. Default: none. */
  readonly FUNCTIONS_WORKER_RUNTIME?: string | undefined;
}

/** The environment of an app: the settings above among others. */
export type Environment = AppSettings & Readonly<Record<string, string | undefined>>;
