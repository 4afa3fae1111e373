import type { Millis } from '../../core/brand';
import type { LeaseStore } from '../../lease/store';
import { operate } from '../../operator/audit';
import {
  migrate as migrateJobs,
  type Migration,
  surveyMigration,
  type Applied,
  type Survey,
} from '../../operator/shards/apply';
import { UsageError } from '../cli-error';
import { NO, OK, print, printJson, warn } from '../output';
import { deskOf, openSetting, openStore } from '../storage';
import { actingOn } from './person';
import { movedLines, shapeOf, surveyLines, waitOf } from './shards';

export interface MigrateOptions {
  readonly from: string;
  readonly to: string;
  readonly fromContainer?: string | undefined;
  readonly toContainer?: string | undefined;
  readonly wait: string;
  readonly endRuns?: boolean | undefined;
  readonly apply?: boolean | undefined;
  readonly json?: boolean | undefined;
}

export async function migrate(options: MigrateOptions): Promise<number> {
  const waitMs = waitOf(options.wait);
  const from = deskOf(storeNamed('--from', options.from, options.fromContainer));
  const to = deskOf(storeNamed('--to', options.to, options.toContainer));
  if (from.store.location === to.store.location) {
    throw new UsageError(`--from and --to are the same place, ${to.store.location}`);
  }
  if (options.apply === true) return apply({ from, to, waitMs }, options);
  const survey = await surveyMigration({ from, to });
  if (options.json) printJson(shapeOf(survey));
  else print(surveyText(survey));
  return survey.isSettled ? OK : NO;
}

/** A connection, or the name of the setting that holds one. */
function storeNamed(option: string, text: string, container: string | undefined): LeaseStore {
  if (/^[A-Za-z][A-Za-z0-9_]{0,99}$/.test(text)) return openSetting(text, container);
  try {
    return openStore({ storage: text, container });
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new UsageError(
      error.message.replaceAll('--storage', option).replaceAll('--container', `${option}-container`),
    );
  }
}

async function apply(
  { from, to, waitMs }: Pick<Migration, 'from' | 'to'> & { readonly waitMs: Millis },
  { endRuns = false, json }: MigrateOptions,
): Promise<number> {
  const copied: Migration['copied'] = (job, records) => {
    if (!json && records > 0) warn(`${job}: ${records} ${records === 1 ? 'record' : 'records'} copied`);
  };
  const { recorded: _, ...done } = await operate(await actingOn(from.store), 'shards', 'accounts', async () => {
    const answer = await migrateJobs({ from, to, waitMs, endRuns, copied });
    const { version, settled, moved } = answer;
    return { answer, after: { to: to.store.location, version, settled, moved: moved.length } };
  });
  if (json) printJson({ ...done, refused: done.refused.map((one) => ({ ...one, job: one.job ?? null })) });
  else print(appliedText(done, to.store.location));
  return done.settled ? OK : NO;
}

function appliedText(done: Applied, location: string): string {
  return [
    ...movedLines(done),
    done.settled
      ? `All jobs are in ${location}. Deployments on it claim within a sweep interval; those on the former store claim nothing more.`
      : 'Until every job has moved, no run begins in either store. Correct the causes, and repeat this command.',
  ].join('\n');
}

function surveyText(survey: Survey): string {
  return [
    ...surveyLines(survey, () => 'moves'),
    survey.isSettled
      ? 'All jobs have moved.'
      : 'Nothing was written. While jobs move, no run begins. To move them, repeat this command with --apply.',
  ].join('\n');
}
