import type { JobSpec } from '../../src/core/job';
import { type JobContext, NonRetryableError } from '../../src/handler/handler';
import { jobSpec } from './job';
import type { Instance, SimulatedHandler } from './rival-ticks';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** Jobs of a shop, as someone on call finds them. */
export const SHOP: readonly JobSpec[] = [
  jobSpec('charge-subscriptions', '*/20 * * * *', {
    description: 'Charges the cards of subscriptions that are due',
    tags: ['billing'],
    timeZone: 'Europe/Berlin',
    retry: { attempts: 2, backoffMs: 30 * SECOND, factor: 2, maxBackoffMs: MINUTE, jitter: 'none' },
    alertAfterMs: 26 * 60 * MINUTE,
  }),
  jobSpec('sync-inventory', '*/5 * * * *', {
    description: 'Copies stock levels from the warehouse',
    tags: ['warehouse'],
    timeZone: 'America/New_York',
    retry: { attempts: 5, backoffMs: 20 * MINUTE, factor: 2, maxBackoffMs: 60 * MINUTE, jitter: 'none' },
  }),
  jobSpec('rebuild-search-index', '*/10 * * * *', {
    description: 'Builds the search index anew',
    tags: ['search'],
    alertAfterMs: 60 * MINUTE,
    retry: { attempts: 1, backoffMs: SECOND, factor: 2, maxBackoffMs: MINUTE, jitter: 'none' },
  }),
  jobSpec('import-orders', '* * * * *', { description: 'Imports orders from the marketplaces', tags: ['orders'] }),
  jobSpec('send-order-mails', '*/2 * * * *', { description: 'Sends mails about orders', tags: ['orders', 'mail'] }),
  jobSpec('export-ledger', '*/15 * * * *', { tags: ['billing'], timeZone: 'Europe/Berlin' }),
  jobSpec('recompute-prices', '*/10 * * * *', {
    ...{ description: 'Computes all prices anew', tags: ['catalogue'], timeoutMs: 30 * MINUTE },
  }),
  jobSpec('purge-sessions', '0 * * * *', { description: 'Deletes sessions that have ended' }),
  jobSpec('refresh-exchange-rates', '*/30 * * * *', { tags: ['billing'] }),
  jobSpec('weekly-newsletter', '0 9 * * 1', { tags: ['mail'], timeZone: 'Europe/Berlin' }),
  jobSpec('legacy-import', '*/30 * * * *', { enabled: false, description: 'Replaced by import-orders' }),
];

/** An error with the trace that it has in an app on Azure. */
function thrownBy<Thrown extends Error>(error: Thrown, job: string): Thrown {
  const frames = [
    `at ${job.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())} (/home/site/wwwroot/dist/jobs/${job}.js:41:13)`,
    'at process.processTicksAndRejections (node:internal/process/task_queues:105:5)',
    'at async callHandler (/home/site/wwwroot/node_modules/cronlease/dist/lib/coordinator/attempt/call-handler.js:27:20)',
  ];
  error.stack = [`${error.name}: ${error.message}`, ...frames].join('\n    ');
  return error;
}

class CardDeclinedError extends Error {
  override readonly name = 'CardDeclinedError';
}

/** Answers as those jobs do. */
export const shopHandler: SimulatedHandler = async (context: JobContext, on: Instance) => {
  const { job, scheduledFor } = context;
  const nth = Math.floor(scheduledFor.getTime() / MINUTE);
  const lasting = async (ms: number): Promise<void> => {
    await new Promise<void>((resolve) => {
      const stop = on.coordinator.clock.after(ms, resolve);
      context.signal.addEventListener('abort', () => {
        stop();
        resolve();
      });
    });
  };
  const spread = ((nth * 7919) % 100) / 100;
  switch (job) {
    case 'charge-subscriptions':
      context.log('320 subscriptions are due');
      for (const batch of [1, 2, 3, 4])
        context.log(`batch ${String(batch)}: 80 cards, \u001B[32m${String(80 - batch)} charged\u001B[39m`);
      context.log.error('\u001B[31mHTTP 503\u001B[39m from https://pay.example.com/v1/charges');
      context.progress('charging cards', 0.95);
      await lasting(4 * SECOND + spread * 3 * SECOND);
      if (Date.now() - scheduledFor.getTime() < 90 * MINUTE) {
        throw thrownBy(new CardDeclinedError('The payment provider answered 503 for 14 of 320 cards'), job);
      }
      return { charged: 300 + (nth % 40) };
    case 'sync-inventory':
      await lasting(20 * SECOND + spread * 40 * SECOND);
      if (Date.now() - scheduledFor.getTime() < 8 * MINUTE)
        throw thrownBy(new Error('The warehouse closed the connection'), job);
      return null;
    case 'rebuild-search-index':
      context.log('opening the index');
      context.log.warn('\u001B[33mslow\u001B[39m answer of the index: <b>5 s</b>');
      await lasting(MINUTE);
      if (Date.now() - scheduledFor.getTime() < 100 * MINUTE)
        throw thrownBy(new NonRetryableError('The index "products" is read-only'), job);
      return null;
    case 'recompute-prices':
      // Every third run is still in progress at the next due time.
      await lasting((nth / 10) % 3 < 1 ? 14 * MINUTE : 3 * MINUTE + spread * 4 * MINUTE);
      return null;
    case 'import-orders':
      await lasting(2 * SECOND + spread * 6 * SECOND);
      return { orders: nth % 50 };
    default:
      await lasting(500 + spread * 4 * SECOND);
      return null;
  }
};
