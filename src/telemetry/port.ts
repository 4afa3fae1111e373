import type { MeterProvider, TracerProvider } from '@opentelemetry/api';
import type { EpochMs, JobName } from '../core/brand';
import type { RequestOutcome } from '../core/call';
import type { CoordinatorEvent } from '../core/event';
import type { CallOutcome } from '../core/storage-call';
import type { Telemetry } from '../coordinator/telemetry';
import type { IdSource } from './spans';
import type { Sample } from './row-gauges';

/**
 * A `TokenCredential`, as far as it is used. The type of `@azure/identity` comes with others that TypeScript 4 cannot read,
 * and this file is among those that an app sees.
 */
interface Credential {
  getToken(scopes: string | string[]): Promise<{ token: string; expiresOnTimestamp: number } | null>;
}

/** What telemetry has to know of this process. */
export interface ProcessFacts {
  readonly version: string;
  readonly deployment: string;
  /** The id of this start of the process. */
  readonly instance: string;
  /** The coordination container. */
  readonly location: string;
  /** In the order of the jobs file. */
  readonly jobs: readonly JobName[];
  /** Attributes of the resource, such as the name of the app and the region. */
  readonly resource: Readonly<Record<string, string>>;
  /** The service's time. */
  readonly now: () => EpochMs;
  /** The gauges as they are now. */
  readonly samples: () => readonly Sample[];
  /** The identity that may write to Application Insights. Undefined: none is set. */
  readonly credential: Credential | undefined;
  /** Receives what keeps metrics or traces from their receiver, once until it works again. */
  readonly onProblem: (problem: string) => void;
}

/** Telemetry with its SDK loaded. */
export interface LoadedTelemetry extends Omit<Telemetry, 'swept'> {
  event(event: CoordinatorEvent): void;
  called(call: CallOutcome): void;
  requested(outcome: RequestOutcome): void;
  /** @param rows undefined for a listing of one job */
  listed(listing: { readonly rows: number | undefined; readonly ms: number }): void;
  /** The id of the run's trace. */
  traceId(runId: string): string;
  /** Sends what is left. */
  shutdown(): Promise<void>;
}

/** Where metrics and spans go. */
export interface Providers {
  readonly meters: MeterProvider;
  /** Undefined: spans are not wanted. */
  readonly tracers: TracerProvider | undefined;
  /** Undefined: the app's own SDK makes the ids. */
  readonly ids: IdSource | undefined;
  shutdown(): Promise<void>;
}
