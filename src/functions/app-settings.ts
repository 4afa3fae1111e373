/**
 * The app settings that cronlease reads, and those of the host that it depends on. docs/reference/app-settings.md is
 * made from these comments; the last sentence of each names the default.
 */
interface AppSettings {
  /**
   * The storage that coordinates the jobs: a connection string of a storage account, `UseDevelopmentStorage=true`, or
   * the URL of [another store](stores.md). Set this or `CRONLEASE_STORAGE__blobServiceUri`. Default: required.
   */
  readonly CRONLEASE_STORAGE?: string | undefined;
  /** The same for an identity: `https://ACCOUNT.blob.core.windows.net`. Default: none. */
  readonly CRONLEASE_STORAGE__blobServiceUri?: string | undefined;
  /**
   * `managedidentity` uses a managed identity of the app, also for PostgreSQL and Redis. Default: the identity that
   * `DefaultAzureCredential` finds.
   */
  readonly CRONLEASE_STORAGE__credential?: string | undefined;
  /** The client id of a user-assigned identity. Default: none. */
  readonly CRONLEASE_STORAGE__clientId?: string | undefined;
  /** Its resource id, instead of the client id. Default: none. */
  readonly CRONLEASE_STORAGE__managedIdentityResourceId?: string | undefined;
  /**
   * Distributes the jobs over several storage accounts: the names of settings with their connections, separated by
   * commas, such as `CRONLEASE_STORAGE, CRONLEASE_STORAGE_2`. Each has a form of `CRONLEASE_STORAGE`. The list is the
   * same in all deployments. Default: only `CRONLEASE_STORAGE`.
   */
  readonly CRONLEASE_SHARDS?: string | undefined;
  /**
   * A second place for audit entries, in a form of `CRONLEASE_STORAGE`. Each entry is created there first, in the
   * container of the same name, which must exist and may be immutable. A change that cannot be recorded there is
   * refused ([security model](../explanation/security-model.md#a-second-place-for-the-audit)). Default: none.
   */
  readonly CRONLEASE_AUDIT?: string | undefined;
  /** The same for an identity: `https://ACCOUNT.blob.core.windows.net`. Default: none. */
  readonly CRONLEASE_AUDIT__blobServiceUri?: string | undefined;
  /** As `CRONLEASE_STORAGE__credential`. Default: the identity that `DefaultAzureCredential` finds. */
  readonly CRONLEASE_AUDIT__credential?: string | undefined;
  /** As `CRONLEASE_STORAGE__clientId`. Default: none. */
  readonly CRONLEASE_AUDIT__clientId?: string | undefined;
  /** As `CRONLEASE_STORAGE__managedIdentityResourceId`. Default: none. */
  readonly CRONLEASE_AUDIT__managedIdentityResourceId?: string | undefined;
  /**
   * The coordination container, created if it is missing: a blob container, a schema, a prefix of keys or a node. All
   * deployments that share the jobs use the same one. Default: `cronlease`.
   */
  readonly CRONLEASE_CONTAINER?: string | undefined;
  /** The schedule of the tick timer: six fields, seconds first, in UTC. Default: `10,25,40,55 * * * * *`. */
  readonly CRONLEASE_TICK?: string | undefined;
  /**
   * How long before its due time a run may be claimed, `0s` to `60s`. Before a burst of due times, and on a slow task
   * hub, it grows automatically, to at most 34 s; `0s` does not grow. Default: `5s`.
   */
  readonly CRONLEASE_LOOK_AHEAD?: string | undefined;
  /**
   * How many handlers and fan-out items one instance runs at once, from 1. Others wait, by `priority` and then by due
   * time. Leader jobs are not counted. Set it well below host.json's `maxConcurrentActivityFunctions`, because waiting
   * ones count there too. Default: no limit but that one.
   */
  readonly CRONLEASE_MAX_CONCURRENT_RUNS?: string | undefined;
  /**
   * How often the jobs are listed, `1s` to `1h`: the time within which manual runs, pauses and dead holders are
   * noticed. Each listing is one storage call. Default: `60s`; `2s` under `cronlease dev`.
   */
  readonly CRONLEASE_SWEEP_INTERVAL?: string | undefined;
  /**
   * The name of this deployment. No two may share one. Default: `WEBSITE_SITE_NAME` with the slot, or else
   * `AzureFunctionsWebHost__hostid`, or else the host name.
   */
  readonly CRONLEASE_DEPLOYMENT?: string | undefined;
  /**
   * Keys for the HTTP API: `NAME:ROLE:SHA256`, separated by commas. The roles are `viewer`, `payloads`, `operator` and
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
   * A secret that `cronlease dev` gives to its own instances. An app on Azure does not start with it. Default: none.
   */
  readonly CRONLEASE_DEV_SECRET?: string | undefined;
  /**
   * Whether Azure authenticates the callers of the app. Azure sets it. Logins count only if it is `True`. Default:
   * none.
   */
  readonly WEBSITE_AUTH_ENABLED?: string | undefined;
  /**
   * Where metrics and traces are exported. `auto`: to Application Insights and OTLP, if the settings name them. `off`:
   * nowhere. `app`: through the app's own OpenTelemetry SDK. Default: `auto`.
   */
  readonly CRONLEASE_TELEMETRY?: string | undefined;
  /**
   * How many jobs have their own name in metrics, 0 to 10000, in the order of the jobs file. The others are counted
   * together as `_other`. Default: `100`.
   */
  readonly CRONLEASE_METRICS_JOBS?: string | undefined;
  /**
   * How handlers' lines appear in the host's log. `text`: as they are, after the job's name. `json`: one JSON object
   * each, with job, run, attempt and trace. Default: `text`.
   */
  readonly CRONLEASE_LOG_FORMAT?: string | undefined;
  /**
   * Application Insights, for the host. cronlease sends its metrics and traces there too, unless `CRONLEASE_TELEMETRY` is
   * `off`. Default: none.
   */
  readonly APPLICATIONINSIGHTS_CONNECTION_STRING?: string | undefined;
  /**
   * `Authorization=AAD` lets an identity of the app write to Application Insights; add `;ClientId=…` for a
   * user-assigned one. Default: the key in the connection string.
   */
  readonly APPLICATIONINSIGHTS_AUTHENTICATION_STRING?: string | undefined;
  /**
   * The collector that receives metrics and traces over OTLP, `http/protobuf`. Related settings apply too, such as
   * `OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_TRACES_SAMPLER`, `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES`. Default:
   * none.
   */
  readonly OTEL_EXPORTER_OTLP_ENDPOINT?: string | undefined;
  /** `none`: no metrics are exported. Default: all. */
  readonly OTEL_METRICS_EXPORTER?: string | undefined;
  /** `none`: no traces are exported. Default: all. */
  readonly OTEL_TRACES_EXPORTER?: string | undefined;
  /** The time between two exports of metrics, in milliseconds. Default: `60000`. */
  readonly OTEL_METRIC_EXPORT_INTERVAL?: string | undefined;
  /** `true`: nothing is exported. Default: `false`. */
  readonly OTEL_SDK_DISABLED?: string | undefined;
  /** The region of the app, an attribute of its metrics and traces. Azure sets it. Default: none. */
  readonly REGION_NAME?: string | undefined;
  /**
   * Patterns of secrets in what handlers log, throw and return: a JSON list of up to 50 regular expressions
   * (JavaScript, with the flag `u`), such as `["Bearer \\S+"]`. Matches in lines, progress notes, errors and results
   * are stored, and logged by the host, as `***`. The first 9,216 characters of a line are searched, for at most 100
   * ms; a line that takes longer is withheld. Default: none.
   */
  readonly CRONLEASE_REDACT?: string | undefined;
  /**
   * The receivers of notices, as JSON by name: `{"ops": {"format": "slack", "url": "https://hooks.slack.com/…"}}`. The
   * formats are `cloudevents` (with a `secret`), `slack`, `teams` and `pagerduty` (with a `routingKey`). It contains
   * secrets: use a reference to a key vault. Default: none.
   */
  readonly CRONLEASE_RECEIVERS?: string | undefined;
  /**
   * The addresses that jobs call by `ping`, as JSON by name: `{"nightly": "https://hc-ping.com/…"}`. It contains
   * secrets. Default: none.
   */
  readonly CRONLEASE_PINGS?: string | undefined;
  /**
   * The hosts to which notices and pings may be sent, separated by commas: `hooks.slack.com, *.api.powerplatform.com`.
   * For a host in a private network, add the network: `alerts.corp.example=10.0.0.0/8`. Default: none.
   */
  readonly CRONLEASE_NOTIFY_HOSTS?: string | undefined;
  /**
   * The hosts to which jobs with a `call` may send requests, in the form of `CRONLEASE_NOTIFY_HOSTS`. `cronlease dev` also
   * allows this machine. Default: none.
   */
  readonly CRONLEASE_CALL_HOSTS?: string | undefined;
  /**
   * The client id of the handlers' managed identity, whose tokens calls with `identity` send. Default: the app's own.
   */
  readonly HANDLERS_CLIENT_ID?: string | undefined;
  /**
   * The address of the dashboard as people reach it, for links in notices: `https://APP.azurewebsites.net/api/manage/`.
   * Default: notices have no links.
   */
  readonly CRONLEASE_PUBLIC_URL?: string | undefined;
  /** A jobs file to use instead of the one that the code names. `cronlease dev --more-jobs` sets it. Default: none. */
  readonly CRONLEASE_JOBS_FILE?: string | undefined;
  /** The host sets it. With `Development` the tick also runs when the host starts. Default: `Production` on Azure. */
  readonly AZURE_FUNCTIONS_ENVIRONMENT?: string | undefined;
  /**
   * The app's host and port, from which Durable builds the address of its HTTP API. Without it, no tick runs. Azure and
   * Core Tools set it. Default: none.
   */
  readonly WEBSITE_HOSTNAME?: string | undefined;
  /** The name of the app. Azure sets it. Default: none. */
  readonly WEBSITE_SITE_NAME?: string | undefined;
  /** The slot, joined to the name of the app unless it is `Production`. Azure sets it. Default: none. */
  readonly WEBSITE_SLOT_NAME?: string | undefined;
  /** The plan, which decides what a missing `functionTimeout` means. Azure sets it. Default: none. */
  readonly WEBSITE_SKU?: string | undefined;
  /** Shows the plan on Linux. Azure sets it. Default: none. */
  readonly CONTAINER_NAME?: string | undefined;
  /**
   * The host's id, which also names its timer's lock. Deployments that share a host storage account need different
   * ones. Default: made by the host.
   */
  readonly AzureFunctionsWebHost__hostid?: string | undefined;
  /** Overrides this level of host.json. Default: none. */
  readonly AzureFunctionsJobHost__logging__logLevel__Function?: string | undefined;
  /** Overrides `functionTimeout` of host.json. Default: none. */
  readonly AzureFunctionsJobHost__functionTimeout?: string | undefined;
  /**
   * The Durable task hub, letters and digits. Each deployment needs its own. host.json reads it. Default: required by
   * host.json.
   */
  readonly TASKHUB_NAME?: string | undefined;
  /**
   * The host's own storage, which also holds the task hub. On Azure, do not use the coordination account. Default:
   * required by the host.
   */
  readonly AzureWebJobsStorage?: string | undefined;
  /** How many Node processes a host has, which tick in turn. Do not set it. Default: `1`. */
  readonly FUNCTIONS_WORKER_PROCESS_COUNT?: string | undefined;
  /** Lets it start more. Do not set it. Default: `false`. */
  readonly FUNCTIONS_WORKER_DYNAMIC_CONCURRENCY_ENABLED?: string | undefined;
  /** `node` for `func start`. Do not set it on Flex Consumption. Default: none. */
  readonly FUNCTIONS_WORKER_RUNTIME?: string | undefined;
}

/** The environment of an app: the settings above among others. */
export type Environment = AppSettings & Readonly<Record<string, string | undefined>>;
