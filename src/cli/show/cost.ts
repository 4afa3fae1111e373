import { readFileSync } from 'node:fs';
import path from 'node:path';
import { formatDuration } from '../../core/duration';
import type { JobSpec } from '../../core/job';
import { functionTimeout } from '../../functions/settings';
import { type CostEstimate, DEFAULT_ASSUMPTIONS, estimateCost } from '../../operator/cost/estimate';
import { PricesError, readPrices } from '../../operator/cost/prices';
import { CliError, UsageError } from '../cli-error';
import { appFolderOf, DEFAULT_FILE, type FileOptions, loadFile } from '../jobs-file';
import { OK, OWN, print, printJson } from '../output';
import { jobsAt, type JobsAtRef, warnOfNotice } from './at-ref';
import { type Basis, changedText, costText } from './cost-text';

export interface CostOptions extends FileOptions {
  readonly prices?: string | undefined;
  readonly against?: string | undefined;
  readonly deployments: number;
  readonly memory: number;
  readonly alwaysReady: number;
  readonly places: number;
  readonly telemetry?: boolean | undefined;
  readonly logWrites?: boolean | undefined;
  /** In ms. Undefined: that of {@link DEFAULT_ASSUMPTIONS}. */
  readonly duration?: number | undefined;
  /** `JOB=N`. */
  readonly items?: readonly string[] | undefined;
  readonly json?: boolean | undefined;
}

export function cost(options: CostOptions): number {
  const { jobsFile } = loadFile(options);
  const { file = DEFAULT_FILE } = options;
  const basis: Basis = {
    prices: pricesIn(options.prices),
    assumed: {
      deployments: options.deployments,
      memoryGb: options.memory / 1024,
      alwaysReady: options.alwaysReady,
      availabilityPlaces: options.places,
      telemetry: options.telemetry === true,
      logWrites: options.logWrites === true,
      durationMs: options.duration ?? DEFAULT_ASSUMPTIONS.durationMs,
      items: itemsOf(options.items ?? [], jobsFile.jobs),
      functionTimeoutMs: functionTimeout(process.env, appFolderOf(file)),
    },
  };
  const now = Date.now();
  const estimate = estimateCost(jobsFile.jobs, basis.assumed, basis.prices, now);
  const old = options.against === undefined ? undefined : jobsAt(options.against, options);
  if (old === undefined) {
    if (options.json) printJson(documentOf(estimate, basis));
    else print(costText(estimate, basis).join('\n'));
    return OK;
  }
  const before = estimateCost(old.jobs, basis.assumed, basis.prices, now);
  if (options.json)
    printJson({ before: documentOf(before, basis), after: documentOf(estimate, basis), ...noticeOf(old) });
  else {
    warnOfNotice(old);
    print(changedText(before, estimate, basis, options.against ?? '').join('\n'));
  }
  return OK;
}

function noticeOf({ notice }: JobsAtRef): { readonly notice?: string } {
  return notice === undefined ? {} : { notice };
}

/** @throws PricesError, or CliError `NoPrices` */
function pricesIn(file: string | undefined): Basis['prices'] {
  const name = file ?? path.join(OWN, 'prices.json');
  let text: string;
  try {
    text = readFileSync(name, 'utf8');
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CliError('NoPrices', `--prices ${name} cannot be read: ${reason}`, { cause: error });
  }
  try {
    return readPrices(JSON.parse(text.replace(/^\uFEFF/, '')), name);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new PricesError(`${name} is not JSON: ${error.message}`, { cause: error });
  }
}

function itemsOf(texts: readonly string[], jobs: readonly JobSpec[]): ReadonlyMap<string, number> {
  return new Map(
    texts.map((text) => {
      const [, job = '', number = ''] = /^([a-z0-9-]+)=(\d{1,5})$/.exec(text) ?? [];
      const items = Number(number);
      if (items < 1 || items > 10_000 || number === '') {
        throw new UsageError(
          `--items ${JSON.stringify(text)}: must be JOB=N with N from 1 to 10000, such as word-index=50`,
        );
      }
      if (!jobs.some(({ name }) => name === job)) throw new UsageError(`--items ${text}: the file has no job "${job}"`);
      return [job, items];
    }),
  );
}

function documentOf(estimate: CostEstimate, { assumed, prices }: Basis): object {
  const { jobs, runs, shared, jobsCost, total, storageCalls, callsPerNotice = null, extrapolated } = estimate;
  const { currency, region, asOf, checked } = prices;
  return {
    month: { days: 30 },
    prices: { currency, region, asOf, checked },
    assumptions: {
      deployments: assumed.deployments,
      memoryMb: assumed.memoryGb * 1024,
      alwaysReady: assumed.alwaysReady,
      availabilityPlaces: assumed.availabilityPlaces,
      telemetry: assumed.telemetry,
      logWrites: assumed.logWrites,
      duration: formatDuration(assumed.durationMs),
      items: Object.fromEntries(assumed.items),
      retries: 0,
      notices: 0,
      jobsCountedInPart: extrapolated,
    },
    total,
    storageCalls,
    callsPerNotice,
    jobsCost,
    jobs,
    runs,
    shared,
  };
}
