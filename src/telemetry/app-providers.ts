import { metrics, trace } from '@opentelemetry/api';
import type { Providers } from './port';

/** Those that the app has registered. It flushes them by itself. */
export function appProviders(): Providers {
  return {
    meters: metrics.getMeterProvider(),
    tracers: trace.getTracerProvider(),
    ids: undefined,
    shutdown: () => Promise.resolve(),
  };
}
