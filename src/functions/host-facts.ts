import { hostname } from 'node:os';
import type { ConfigIssue } from '../config/config-error';
import type { Millis } from '../core/brand';
import type { Environment } from './app-settings';
import { hostAdvice, hubAdvice, limitAdvice, workerAdvice } from './host-advice';
import { attemptsAtOnce, functionTimeout, hubAccount, maxConcurrentRuns } from './settings';

/** What coordinators have to know about the host of their process. */
export interface HostFacts {
  /** The host kills a call after this long; undefined: it does not. */
  readonly functionTimeoutMs: Millis | undefined;
  /** How many attempts the host runs at the same time in this process; undefined: it has no limit. */
  readonly attemptsAtOnce: number | undefined;
  /** How many handlers may run at once in this process; undefined: no limit but the host's. */
  readonly maxConcurrentRuns: number | undefined;
  /** The storage account of the task hub, without secrets; undefined: unknown, or the hub has none. */
  readonly hubAccount: string | undefined;
  /** Settings of the host that hinder cronlease. */
  readonly warnings: readonly ConfigIssue[];
}

/** The Functions host, by host.json and the app settings. Throws `SettingError`. */
export function functionsHost(env: Environment, appFolder: string): HostFacts {
  const atOnce = attemptsAtOnce(env, appFolder);
  const limit = maxConcurrentRuns(env);
  return {
    functionTimeoutMs: functionTimeout(env, appFolder),
    attemptsAtOnce: atOnce,
    maxConcurrentRuns: limit,
    hubAccount: hubAccount(env, appFolder, hostname()),
    warnings: [
      ...hubAdvice(env),
      ...workerAdvice(env),
      ...hostAdvice(env, appFolder).warnings,
      ...limitAdvice(limit, atOnce),
    ],
  };
}
