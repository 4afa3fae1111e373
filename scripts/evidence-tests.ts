import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { PRICE_OF_CALL } from '../src/operator/cost/estimate';
import { NO } from '../src/stores/azure-blob/ask';
import { ANSWERS, CALL_FAILS, errorOf } from '../test/support/failing-calls';
import { FOREIGN } from '../test/support/foreign-blobs';
import { code, table } from './table';

const CONFORMANCE = 'test/conformance';
const SERVER = ['A server', 'stopping-server.ts'] as const;
const CLUSTER = ['A cluster of three', 'cluster-cases.ts'] as const;
const CUT_OFF = ['A cluster of which the network cuts off one', 'partition-cases.ts'] as const;
/** The tests of servers that fail, the subject of their titles, and the file of cases that several of them share. */
const FAILING_SERVERS: readonly (readonly [store: string, test: string, subject?: string, cases?: string])[] = [
  ['PostgreSQL', 'postgres-failover.long.test.ts'],
  ['PostgreSQL', 'postgres-pgbouncer.long.test.ts'],
  ['Redis', 'redis-failover.long.test.ts', 'A failover of Redis'],
  ['etcd', 'etcd-wire.long.test.ts', ...SERVER],
  ['etcd', 'etcd-cluster.long.test.ts', ...CLUSTER],
  ['etcd', 'etcd-partition.long.test.ts', ...CUT_OFF],
  ['ZooKeeper', 'zookeeper-wire.long.test.ts', ...SERVER],
  ['ZooKeeper', 'zookeeper-ensemble.long.test.ts', 'An ensemble of three'],
  ['ZooKeeper', 'zookeeper-partition.long.test.ts', ...CUT_OFF],
  ['Consul', 'consul-wire.long.test.ts', ...SERVER],
  ['Consul', 'consul-cluster.long.test.ts', ...CLUSTER],
];

const PICTURES = 'docs/how-to/dashboard';
const PICTURED = ['jobs', 'timeline', 'job', 'run', 'changes', 'deployments'];
const STATES = ['empty', 'loading', 'error', 'many'];

/** The tables of docs/evidence that come from tests, from what tests play, and from the constants of the product. */
export function testTables(root: string): Record<string, string> {
  return {
    'failing-answers': answersTable(),
    'failing-calls': table(['call of a run', 'no answer, or refused'], Object.values(CALL_FAILS)),
    'foreign-blobs': table(
      ['blob', 'what happens'],
      Object.values(FOREIGN).map(({ blob, becomes }) => [blob, becomes]),
    ),
    'servers-that-fail': table(
      ['store', 'file', 'cases'],
      FAILING_SERVERS.map(([store, test, subject = '', cases = test]) => [
        store,
        code(`${CONFORMANCE}/${test}`),
        casesOf(root, subject, `${CONFORMANCE}/${cases}`).join('. '),
      ]),
    ),
    'dashboard-states': picturesTable(root),
    'call-prices': table(
      ['price', 'kinds'],
      [...Map.groupBy(Object.entries(PRICE_OF_CALL), ([, price]) => price)].map(([price, kinds]) => [
        price === 'free' ? price : price.replace('blob', '').toLowerCase(),
        kinds.map(([kind]) => code(kind)).join(', '),
      ]),
    ),
  };
}

/** What the adapter of blobs makes of each answer, and the codes of the service that mean no. */
function answersTable(): string {
  const byMeaning = Map.groupBy(ANSWERS, ([answer]) => errorOf(answer).code);
  const rows = [...byMeaning].map(([meaning, answers]) => [
    answers.map(([answer]) => (/^\d/.test(answer) ? answer : code(answer))).join(', '),
    meaning === 'StoreDenied' ? 'refused' : 'no answer',
  ]);
  const no = Object.entries(NO).map(([kind, codes]) => [codes.map(code).join(', '), `the answer "no" to ${kind}`]);
  return table(['answer of blob storage', 'counts as'], [...rows, ...no]);
}

/** The titles of the cases in a file of tests as sentences, without what a parameter adds in brackets. */
function casesOf(root: string, subject: string, file: string): readonly string[] {
  const source = readFileSync(path.join(root, file), 'utf8');
  const titles = [...source.matchAll(/\bit(?:\.each\([^()]*\))?\(\s*'([^']+)'/gs)].map(([, title = '']) => title);
  if (titles.length === 0) throw new Error(`${file} has no titles of cases`);
  return titles.map((title) => {
    const text = `${subject} ${title.replace(/ \([^()]*%[^()]*\)$/, '')}`.trim();
    return text.charAt(0).toUpperCase() + text.slice(1);
  });
}

function picturesTable(root: string): string {
  const rows = PICTURED.map((page) =>
    STATES.map((state) => {
      const file = `${PICTURES}/${page}-${state}.png`;
      if (!existsSync(path.join(root, file))) throw new Error(`${file} is missing. Run: npm run dashboard:pictures`);
      return `![${page}: ${state}](${path.posix.relative('docs/evidence', file)})`;
    }),
  );
  return table(STATES, rows);
}
