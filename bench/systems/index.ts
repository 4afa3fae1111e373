import { cronlease } from './cronlease/system';
import { peer } from './peer';
import type { System } from './system';

/** In the order of the tables. */
export const systems: readonly System[] = [
  peer({
    name: 'croner',
    title: 'croner, a third of the jobs on each worker: no lock, no fail-over',
    backend: 'none',
    entry: 'croner-dealt',
  }),
  peer({
    name: 'croner-all',
    title: 'croner, all jobs on each worker: no lock',
    backend: 'none',
    entry: 'croner-all',
  }),
  peer({
    name: 'naive-lease',
    title: 'a blob lease for each job and tick',
    backend: 'azurite',
    entry: 'naive-lease',
  }),
  peer({
    name: 'blob-leader',
    title: 'one leader by a blob lease',
    backend: 'azurite',
    entry: 'blob-leader',
  }),
  peer({
    name: 'redlock',
    title: 'redlock, a lock for each due time',
    backend: 'redis',
    entry: 'redlock',
  }),
  peer({
    name: 'bullmq',
    title: 'BullMQ job schedulers',
    backend: 'redis',
    entry: 'bullmq',
    firstAlone: true,
  }),
  peer({
    name: 'etcd-election',
    title: 'one leader by an etcd election',
    backend: 'etcd',
    entry: 'etcd-election',
  }),
  peer({
    name: 'graphile',
    title: 'graphile-worker cron on PostgreSQL: whole minutes',
    backend: 'postgres',
    entry: 'graphile',
    minutesOnly: true,
    firstAlone: true,
  }),
  cronlease({ name: 'cronlease', title: 'cronlease, as `cronlease dev` runs it', like: 'dev' }),
  cronlease({ name: 'cronlease-azure', title: 'cronlease, with the settings of Azure', like: 'azure' }),
  cronlease({
    name: 'cronlease-50ms',
    title: 'cronlease, hand-over 50 ms slower',
    like: 'dev',
    handOverDelayMs: 50,
  }),
  cronlease({
    name: 'cronlease-1s',
    title: 'cronlease, hand-over 1 s slower',
    like: 'dev',
    handOverDelayMs: 1_000,
  }),
  cronlease({
    name: 'cronlease-postgres',
    title: 'cronlease on PostgreSQL',
    ...{ like: 'dev', backend: 'postgres' },
  }),
  cronlease({
    name: 'cronlease-redis',
    title: 'cronlease on Redis',
    ...{ like: 'dev', backend: 'redis' },
  }),
  cronlease({ name: 'cronlease-etcd', title: 'cronlease on etcd', like: 'dev', backend: 'etcd' }),
  cronlease({ name: 'cronlease-zookeeper', title: 'cronlease on ZooKeeper', like: 'dev', backend: 'zookeeper' }),
  cronlease({ name: 'cronlease-consul', title: 'cronlease on Consul', like: 'dev', backend: 'consul' }),
];
