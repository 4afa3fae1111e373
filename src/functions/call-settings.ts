import type { CallSurroundings } from '../config/check-call';
import type { CallSpec, RequestOutcome } from '../core/call';
import type { JobSpec } from '../core/job';
import { loadedOnce } from '../core/loaded-once';
import type { CallHandler } from '../handler/handlers';
import type { CallMeans } from '../call/call';
import { ForbiddenAddressError, type Guard, checkAddress } from '../notices/guard';
import { isReference } from '../stores/open';
import { systemClock } from '../system-clock';
import type { Environment } from './app-settings';
import { allowedHosts, isLocal } from './notice-settings';

const THIS_MACHINE = ['localhost', '127.0.0.1', '::1'];

/** What the calls of jobs need of this app. */
export interface CallSettings extends CallSurroundings {
  readonly guard: Guard;
}

/** The settings of calls. Throws {@link SettingError}. */
export function callSettings(env: Environment): CallSettings {
  const setting = 'CRONLEASE_CALL_HOSTS';
  const local = isLocal(env);
  const own = local ? THIS_MACHINE.map((pattern) => ({ pattern, networks: [] })) : [];
  const guard: Guard = { setting, hosts: [...allowedHosts(env, setting), ...own], isLocal: local };
  return {
    guard,
    // Azure could not resolve a reference that is still one.
    readSetting: (name) => (isReference(env[name]) ? undefined : env[name]),
    whyForbidden: (address) => {
      try {
        checkAddress(address, guard);
        return undefined;
      } catch (error) {
        if (error instanceof ForbiddenAddressError) return error.message;
        throw error;
      }
    },
  };
}

/** Makes what jobs with a `call` run. The code of calls is loaded at the first of them. */
export function callHandlers(
  { guard, readSetting }: CallSettings,
  env: Environment,
  onOutcome?: (outcome: RequestOutcome) => void,
): (spec: JobSpec, call: CallSpec) => CallHandler {
  const means = loadedOnce(async (): Promise<CallMeans> => {
    const [{ guardedRequest }, { appCredential, createTokens }] = await Promise.all([
      import('../notices/request.js'),
      import('../call/identity.js'),
    ]);
    return {
      clock: systemClock,
      guard,
      readSetting,
      send: (asked, limits) => guardedRequest(asked, { ...limits, guard }),
      onOutcome,
      tokenFor: createTokens(systemClock, () =>
        appCredential(env['WEBSITE_SITE_NAME'] !== undefined, env['HANDLERS_CLIENT_ID']),
      ),
    };
  });
  return ({ timeZone }, call) => ({
    call: async (context, input, kept) => {
      const { runCall } = await import('../call/call.js');
      return runCall({ call, timeZone }, { means: await means(), context, kept, input });
    },
  });
}
