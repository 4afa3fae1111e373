import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { constantIn } from '../../scripts/limits';
import { DATE_BEHIND_MS, marginOf } from '../../src/core/job';
import { TRY_AGAIN_MS } from '../../src/core/delivery';

const root = path.join(__dirname, '../..');

/** A figure that no code of ours holds, with the reason why it is written by hand. */
interface ByHand {
  readonly reason: string;
}

/** Measured: what `npm run reference` renders into docs/explanation/on-azure.md has the figure. */
const MEASURED = 'measured';

/** What a figure of a phrase must be: a number (ms, bytes, or a count), one that was measured, or by hand. */
type Source = number | typeof MEASURED | ByHand;

const byHand = (reason: string): ByHand => ({ reason });
const of = (file: string, constant: string): number => constantIn(root, `src/${file}.ts`, constant);

const SECOND = 1_000;
const DAY = 86_400 * SECOND;
const TICK = of('operator/cost/frequency', 'TICK_MS');
const SHORTEST_LEASE = of('stores/limits', 'STORE_LIMITS.least');
const LONGEST_LEASE = of('stores/limits', 'STORE_LIMITS.most');
/** As the schema of the jobs file has it. */
const LEASE = Number(/lease: duration\(.*?prefault\('(\d+)s'\)/s.exec(read('src/config/schema.ts'))?.[1]) * SECOND;
/** The length of a lease at its claim, and when the first renewal comes. */
const CLAIM = of('core/early-claim', 'CLAIM_MS');
const GROWS_AFTER = CLAIM / 3;
const ON_TIME = of('core/decide/verdict', 'ON_TIME_MS');
const RESUME = of('core/standstill', 'RESUME_AFTER_MS');
const CHECK_TRUSTS = of('coordinator/attempt/item-check', 'CHECK_TRUSTS_MS');
const CHECK_EVERY = of('coordinator/attempt/item-check', 'CHECK_EVERY_MS');
const SILENT = of('core/fan-out', 'SILENT_AFTER_MS');
const RESULT = of('coordinator/attempt/call-handler', 'RESULT_LIMIT');
const FLUSH = of('coordinator/attempt/attempt-log', 'FLUSH_AFTER_MS');
const FAN_OUT = 'src/handler/define-fan-out.ts';
const KEYS = 'manage/limits';
/** The smallest instance that the template allows. */
const SMALL = Number(/instanceMemoryMB (\d+)/.exec(read('infra/main.bicep'))?.[1]) * 1024 * 1024;
const COSTS = byHand('the test of costs computes it');
const AZURES = byHand('a value of Azure or Durable');
const MESSAGE = byHand('a message with the value of a job');
const simulated = (file: string, constant: string): number => constantIn(root, `test/simulation/${file}.ts`, constant);
const outage = (constant: string): number => constantIn(root, 'test/chaos/scenarios/storage.ts', constant);

/** A phrase of a page, and what each of its figures must be. */
type Quote = readonly [phrase: string, ...sources: readonly Source[]];

const QUOTES: Readonly<Record<string, readonly Quote[]>> = {
  'evidence/reliability.md': [
    ['120 s after the faults end', simulated('world/candidates', 'LEADS_WITHIN_MS')],
    ['with leases of 60 s', simulated('faults/mix-hand-overs', 'LONG_LEASE_MS')],
    ['more than 30 s beyond its period', simulated('checks/starts', 'STANDS_STILL_MS')],
    ['for up to 10 s before its process', simulated('world/world', 'INVOCATIONS_MS')],
    ['everything but probes 12 s late', simulated('faults/mix-hand-overs', 'SLOW_HUB_MS')],
    ['Leases are 15 s and ticks come every 15 s, so a take-over may take 32 s', ...chaosTakeOver()],
    ['in the outages of 10 s leases are 30 s', outage('SHORT_MS'), LEASE],
    ['With leases of 15 s, as in the outage of 30 s', SHORTEST_LEASE, outage('LONG_MS')],
    ['up to 6 s of writes', outage('UNSAVED_MS')],
    ['resumes the retry 10 s later', RESUME],
    ['the last 7 days', of('core/failover', 'SEARCH_BACK_MS')],
  ],
  'evidence/stores.md': [['leases of 30 s, the default', LEASE]],
  'explanation/choosing-a-store.md': [['again after 75 s', of('coordinator/tick/survey', 'MADE_AGAIN_AFTER_MS')]],
  'explanation/cost.md': [
    ['**$35 a month**, or **$16** with 512 MB', COSTS, COSTS, SMALL],
    ['Besides 512 MB', SMALL],
    ['$18 of the $35', COSTS, COSTS],
    ['about $19 or $12', COSTS, COSTS],
    ['noticed up to 45 s later', byHand('the longest gap of the schedule beside it')],
    ['saves 144 calls an hour', byHand('144 are measured')],
    ['free up to 5 GB a month', AZURES],
  ],
  'explanation/on-azure.md': [
    ['Up to 8 s, jobs are claimed earlier', byHand('the longest look-ahead allows it')],
    ['12 calls to queues', byHand('the test of Durable calls counts them')],
    ['1.8 calls and', byHand('test/unit/batches.test.ts')],
    ['Ticks every 15 s', TICK],
    ['40 with 2,048 MB', byHand('floodDollars takes it from the template')],
    ['assumed 500 calls', byHand('assumed')],
    ['answers of 0.5 KB', byHand('assumed')],
    ['less than 100 KB', byHand('test/unit/dashboard-files.test.ts')],
    ['spans of 1 KB', byHand('assumed')],
    ['about 350 MB', byHand('eight spans of 1 KB for each minute of 30 days')],
  ],
  'explanation/how-it-works.md': [
    ['ends after 20 days', of('functions/coordinators', 'NO_TIMEOUT_MS')],
    ['or after 45 s if that process died', SILENT],
    ['10 s after its time', RESUME],
    ['the lease and a tick, 45 s by default', LEASE + TICK],
    [
      'soft delete, 14 days',
      Number(
        /deleteRetentionPolicy: {\s+enabled: true\s+days: (\d+)/.exec(read('infra/modules/coordination.bicep'))?.[1],
      ) * DAY,
    ],
    ['not up to 15 s late', TICK],
    ['more than 30 s old', ON_TIME],
    ['the lease plus 20 s', of('core/decide/verdict', 'CLAIMED_AGAIN_MS')],
    ['Due times up to 30 s old', ON_TIME],
    ['lease ends 15 s after the due time', CLAIM],
    ['last run took 5 s or more', GROWS_AFTER],
    ['15 s for a short run', CLAIM],
    ['loses its lease 11 s after its due time', CLAIM - marginOf(CLAIM) - DATE_BEHIND_MS],
    ['wait for 17 s with the usual lease of 30 s', (LEASE * 2) / 3 - marginOf(LEASE), LEASE],
  ],
  'explanation/performance-and-scale.md': [
    ['shorter than 5 s, the first two come 5 s after', GROWS_AFTER, GROWS_AFTER],
  ],
  'explanation/security-model.md': [
    ['once in 30 s at most', of('functions/health', 'FRESH_MS')],
    [
      'a login lasts 8 hours',
      Number(/timeToExpiration: '0?(\d+):00:00'/.exec(read('infra/modules/deployment.bicep'))?.[1]) * 3_600 * SECOND,
    ],
  ],
  'how-to/azure.md': [
    ['about $39 an hour', floodDollars()],
    ['for [35 s to 2 minutes]', byHand('35 to 77 s are measured'), MEASURED],
    ['resume waiting runs 10 s after', RESUME],
  ],
  'how-to/calls.md': [
    ['JSON up to 32 KB is recorded', of('call/answer', 'ANSWER_BYTES')],
    ['a redirect, more than 32 KB', of('call/answer', 'ANSWER_BYTES')],
    ['up to 8 KB of the body', of('call/answer', 'SHOWN')],
    ['or every 10 s, rising to 60 s', of('call/call', 'FIRST_WAIT_MS'), of('core/call', 'LONGEST_POLL_WAIT_MS')],
  ],
  'how-to/dashboard.md': [['12, 3 or 1 hours', 3_600 * SECOND]],
  'how-to/existing-app.md': [
    ["a leader's term ends 30 s before", of('core/job', 'TERM_RESERVE_MS')],
    ['at most 10 minutes on Consumption', AZURES],
    ['with the default of 30 s', AZURES],
    ['5 minutes by default', AZURES],
    ['1 to 60 minutes', AZURES],
  ],
  'how-to/fan-out.md': [
    ['array of up to 1 MB', of('coordinator/attempt/fan-out', 'PLAN_LIMIT')],
    ['up to 32 KB of JSON', RESULT],
    ['3, 10s, 2, 5m, full', Number(/backoff, 0\) \?\? ([\d_]+)/.exec(read(FAN_OUT))?.[1]?.replace('_', ''))],
    ['within 15 s of a shutdown', TICK],
    ['more than 45 s', SILENT],
    ['running ones within 5 s', CHECK_EVERY],
    ['does not answer for 20 s', CHECK_TRUSTS],
    ['up to 64 KB', of('core/item-table', 'LINES_LIMIT')],
    ['up to 20 s old', of('core/fan-out', 'BEAT_EVERY_MS') + CHECK_EVERY],
    ['for every 5 s of its call', CHECK_EVERY],
    ['one write every 15 s', of('core/fan-out', 'BEAT_EVERY_MS')],
  ],
  'how-to/from-timers.md': [['more than 30 s late', ON_TIME]],
  'how-to/http-api.md': [
    ['for each answer, up to 8 s', of(KEYS, 'LONGEST_MS')],
    ['none for 15 minutes', of(KEYS, 'FORGET_MS')],
    ['a timeout of 30 s', of('manage/desk', 'ANSWER_LIMIT_MS')],
  ],
  'how-to/leader-election.md': [
    ['15 s to 60 s', SHORTEST_LEASE, LONGEST_LEASE],
    ['within 200 ms', byHand('test/e2e/election.long.test.ts')],
  ],
  'how-to/metrics.md': [['about 0.3 ms of CPU', MEASURED]],
  'how-to/my-job-did-not-run.md': [
    ['"catchUpWindow" (1h', MESSAGE],
    ['"requireWithin" (1h', MESSAGE],
  ],
  'how-to/notices.md': [
    ['within 90 s', of('core/delivery', 'SEND_WITHIN_MS')],
    ['after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h and 24 h', ...TRY_AGAIN_MS],
    ['digest after 20 s', of('notices/sender', 'GATHER_MS')],
    ['within 15 s, before any slow work', of('notices/request', 'POST_LIMIT_MS')],
  ],
  'how-to/operating.md': [
    ['after 2 minutes without one', of('core/presence-state', 'SILENT_AFTER_MS')],
    ['the next 24 hours', 24 * 3_600 * SECOND],
    ['filled within 2 s', of('coordinator/groups', 'READ_AGAIN_MS.most')],
    ['for up to 20 s', CHECK_TRUSTS],
    ['the last 128 KB', of('core/log-entry', 'ATTEMPT_LOG.bytes')],
    ['up to 16 KB and ends within 2 s', of('coordinator/attempt/attempt-log', 'RECORD_BYTES'), FLUSH],
    ['one every 2 s', FLUSH],
  ],
  'how-to/orchestrations.md': [
    ['takes over the run | 90s', of('core/orchestration', 'TAKE_OVER_AFTER_MS')],
    ['a result above 32 KB', RESULT],
    ["the job's row at most every 10 s", of('core/orchestration', 'FENCE_TRUSTS_MS')],
  ],
  'how-to/pipelines.md': [
    ['up to 15 minutes', Number(/timeout: \{[^}]*default: '(\d+)'/.exec(read('scripts/deploy.mjs'))?.[1]) * SECOND],
  ],
  'how-to/recovery.md': [
    ['at most 60 s later', LONGEST_LEASE],
    ['33 s by default', LEASE + marginOf(LEASE)],
    ['from 7 days before', of('core/failover', 'SEARCH_BACK_MS')],
  ],
  'how-to/shards.md': [['The command waits 2 minutes', 120 * SECOND]],
  'how-to/upgrades.md': [
    ['up to two ticks (30 s)', 2 * TICK],
    ['due times of the last 30 s', ON_TIME],
    ['for up to 10 s', MEASURED],
    ['it has 1 s', of('coordinator/bounded', 'DRAIN_GRACE_MS')],
    ['the lease and a tick (45 s by default', LEASE + TICK],
    ['10 s after that time', RESUME],
    ['within 15 s, or within a minute', TICK],
  ],
  'how-to/without-azure.md': [
    ['takes over within 45 s', LEASE + TICK],
    ['have 2 s before', of('coordinator/drain', 'DRAIN_LIMIT_MS')],
    ['30 s in Kubernetes, 10 s in Docker', byHand('of Kubernetes'), byHand('of Docker')],
  ],
  'how-to/writing-handlers.md': [['up to 32 KB of JSON', RESULT]],
  'tutorials/first-job.md': [
    ['due every 15 seconds', Number(/"@every (\d+)s"/.exec(read('template/jobs.json'))?.[1]) * SECOND],
    ["the job's 20 seconds are over", byHand('four orders of five seconds, in the handler above')],
    ['within 20 seconds', byHand('the lease in the jobs file above')],
  ],
  'tutorials/two-regions.md': [['45 s by default', LEASE + TICK]],
};

/** Written as a whole by the commands that measure. */
const WRITTEN = ['performance', 'scale'].map((name) => `evidence/${name}.md`);

const PAGES = ['evidence', 'explanation', 'how-to', 'tutorials']
  .flatMap((folder) => readdirSync(path.join(root, 'docs', folder)).map((file) => `${folder}/${file}`))
  .filter((file) => file.endsWith('.md') && !WRITTEN.includes(file));

const FIGURE =
  /(?<![\w.,$-])(?:\$\d[\d,.]*(?<=\d)|\d[\d,.]*(?<=\d) ?(?:%|(?:ms|s|min|h|KB|MB|GB|seconds?|minutes?|hours?|days?|calls?|times)\b))/g;

const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: SECOND,
  second: SECOND,
  min: 60 * SECOND,
  minute: 60 * SECOND,
  h: 3_600 * SECOND,
  hour: 3_600 * SECOND,
  day: 86_400 * SECOND,
  KB: 1024,
  MB: 1024 * 1024,
  GB: 1024 * 1024 * 1024,
};

function read(file: string): string {
  return readFileSync(path.join(root, file), 'utf8');
}

/** The prose of a page, without code and generated parts. */
function proseOf(text: string): string {
  return text
    .replaceAll(/^ *```.*?^ *```$/gms, '')
    .replaceAll(/<!-- generated.*?<!-- end -->/gs, '')
    .replaceAll(/`[^`\n]*`/g, 'x')
    .replaceAll(/\s+/g, ' ');
}

/** An hour in which every instance of the template is busy with answers of 0.5 KB, 500 of them a second. */
function floodDollars(): number {
  const { prices } = JSON.parse(read('prices.json')) as { prices: Record<string, { price: number; per: number }> };
  const instances = Number(/maximumInstanceCount int = (\d+)/.exec(read('infra/main.bicep'))?.[1]);
  const answers = instances * 500 * 3_600;
  const costs = { onDemandGbSecond: instances * 2 * 3_600, onDemandExecution: answers, blobList: instances * 120 };
  const calls = Object.entries(costs).map(
    ([name, count]) => (count / (prices[name]?.per ?? 0)) * (prices[name]?.price ?? 0),
  );
  const sentGb = (answers * 0.5) / 1e6;
  // Azure's price of a GB that is sent is not in prices.json.
  return Math.round(calls.reduce((sum, cost) => sum + cost, 0) + sentGb * 0.087);
}

function valueOf(figure: string): number {
  const [, dollars, number = dollars ?? '', unit = ''] = /^(?:\$([\d.,]+)|([\d.,]+) ?(.+))$/.exec(figure) ?? [];
  return Number(number.replaceAll(',', '')) * (UNITS[unit.length > 2 ? unit.replace(/s$/, '') : unit] ?? 1);
}

/** The tick and the leases of chaos, and the sum of both that it allows a take-over. */
function chaosTakeOver(): readonly [number, number, number] {
  const constant = (name: string): number => constantIn(root, 'test/chaos/scenario.ts', name);
  const most = /TAKE_OVER_MS = ([\d_]+) \+ TICK_MS \+ ([\d_]+);/.exec(read('test/chaos/scenario.ts')) ?? [];
  const [lease = 0, more = 0] = most.slice(1).map((text) => Number(text.replace('_', '')));
  return [lease, constant('TICK_MS'), lease + constant('TICK_MS') + more];
}

/** The parts of the page on Azure that are rendered from what was measured. */
function measuredOnAzure(): string {
  return [...read('docs/explanation/on-azure.md').matchAll(/<!-- generated.*?<!-- end -->/gs)].join('\n');
}

/** The figures that no phrase covers. */
function unquoted(prose: string, quotes: readonly Quote[]): readonly string[] {
  const rest = quotes.reduce((text, [phrase]) => text.replaceAll(phrase, '…'), prose);
  return [...rest.matchAll(FIGURE)].map(
    ({ 0: figure, index }) => `${rest.slice(Math.max(0, index - 30), index)}${figure}`,
  );
}

describe('the tables of the evidence', () => {
  it.each(PAGES.filter((page) => page.startsWith('evidence/')))('are generated in %s', (page) => {
    const byHands = read(`docs/${page}`).replaceAll(/<!-- generated.*?<!-- end -->/gs, '');
    expect(byHands.match(/^\|.*/gm) ?? []).toEqual([]);
  });

  it('are written as a whole by the commands that measure, on the other pages', () => {
    const writers = read('bench/report/publish.ts') + read('bench/scale/main.ts');
    for (const page of WRITTEN) expect(writers).toContain(`'${path.basename(page)}'`);
  });
});

describe('the figures in the prose of the guides', () => {
  it('are found in every unit', () => {
    expect('5 s, $3, 1,000 calls, 2 MB and 4 %'.match(FIGURE)).toEqual(['5 s', '$3', '1,000 calls', '2 MB', '4 %']);
    expect(['5 s', '250 ms', '2 minutes', '2 MB', '$3', '1,000 calls'].map(valueOf)).toEqual([
      5_000, 250, 120_000, 2_097_152, 3, 1_000,
    ]);
    expect(unquoted('It takes 5 s, or 7 s.', [['takes 5 s', 5_000]])).toEqual(['It …, or 7 s']);
  });

  it.each(['README.md', ...PAGES.map((page) => `docs/${page}`)])('of %s are those of the code', (page) => {
    const prose = proseOf(read(page));
    const quotes = QUOTES[page.replace(/^docs\//, '')] ?? [];
    expect(unquoted(prose, quotes)).toEqual([]);
    for (const [phrase, ...sources] of quotes) {
      expect(prose).toContain(phrase);
      const figures = phrase.match(FIGURE) ?? [];
      expect(figures.length, phrase).toBe(sources.length);
      for (const [index, source] of sources.entries()) {
        const figure = figures[index] ?? '';
        if (typeof source === 'number') expect(valueOf(figure), phrase).toBe(source);
        if (source === MEASURED) expect(measuredOnAzure(), phrase).toContain(figure);
      }
    }
  });

  it('of an idle hour on the Functions host are those that costs are computed with', () => {
    const page = read('docs/explanation/on-azure.md');
    const cell = (caller: string): number =>
      Number(new RegExp(`^\\| ${caller} +\\| ([\\d,]+) `, 'm').exec(page)?.[1]?.replace(',', ''));
    const hour = (name: string): number => of('operator/cost/estimate', `AN_HOUR.${name}`);
    expect(cell('Durable')).toBe(hour('durableCalls'));
    expect(cell('the Functions host')).toBe(hour('hostCalls'));
    expect(cell('cronlease')).toBe(hour('sweeps') + hour('presences'));
    const [durable, month] = [hour('durableCalls'), 30 * 24 * hour('durableCalls')].map((calls) =>
      calls.toLocaleString('en-US'),
    );
    expect(read('infra/README.md')).toContain(`${durable} in an idle hour, measured: ${month}`);
  });

  it('belong to pages that exist', () => {
    expect(PAGES).toEqual(expect.arrayContaining(Object.keys(QUOTES)));
  });
});
