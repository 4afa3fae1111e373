create schema if not exists "cronlease";
create table if not exists "cronlease".jobs (
  name text collate "C" primary key,
  version uuid not null default gen_random_uuid(),
  metadata jsonb not null,
  lease_id text,
  lease_ms integer,
  lease_until timestamptz,
  breaking boolean not null default false
) with (fillfactor = 50);
create table if not exists "cronlease".elections (
  name text collate "C" primary key,
  version uuid not null default gen_random_uuid(),
  metadata jsonb not null,
  lease_id text,
  lease_ms integer,
  lease_until timestamptz,
  breaking boolean not null default false
) with (fillfactor = 50);
create table if not exists "cronlease".controls (
  job text collate "C", id text collate "C",
  version uuid not null default gen_random_uuid(), metadata jsonb not null, body bytea,
  written_at timestamptz not null default clock_timestamp(), primary key (job, id));
create table if not exists "cronlease".records (
  job text collate "C", id text collate "C",
  version uuid not null default gen_random_uuid(), metadata jsonb not null, body bytea,
  written_at timestamptz not null default clock_timestamp(), primary key (job, id));
create table if not exists "cronlease".pieces (
  job text collate "C", id text collate "C",
  version uuid not null default gen_random_uuid(), metadata jsonb not null, body bytea,
  written_at timestamptz not null default clock_timestamp(), primary key (job, id));
create table if not exists "cronlease".requests (
  job text collate "C", id text collate "C",
  version uuid not null default gen_random_uuid(), metadata jsonb not null, body bytea,
  written_at timestamptz not null default clock_timestamp(), primary key (job, id));
create table if not exists "cronlease".presences (
  job text collate "C", id text collate "C",
  version uuid not null default gen_random_uuid(), metadata jsonb not null, body bytea,
  written_at timestamptz not null default clock_timestamp(), primary key (job, id));
create table if not exists "cronlease".notices (
  job text collate "C", id text collate "C",
  version uuid not null default gen_random_uuid(), metadata jsonb not null, body bytea,
  written_at timestamptz not null default clock_timestamp(), primary key (job, id));
create table if not exists "cronlease".audits (
  job text collate "C", id text collate "C",
  version uuid not null default gen_random_uuid(), metadata jsonb not null, body bytea,
  written_at timestamptz not null default clock_timestamp(), primary key (job, id));
create table if not exists "cronlease".groups (
  job text collate "C", id text collate "C",
  version uuid not null default gen_random_uuid(), metadata jsonb not null, body bytea,
  written_at timestamptz not null default clock_timestamp(), primary key (job, id));
create table if not exists "cronlease".logs (
  job text collate "C", id text collate "C", bytes bigint not null default 0,
  written_at timestamptz not null default clock_timestamp(), primary key (job, id));
create table if not exists "cronlease".log_texts (
  job text collate "C", id text collate "C", at bigint, text text not null, primary key (job, id, at));
create table if not exists "cronlease".tables (number integer primary key);
create index if not exists records_written on "cronlease".records using brin (written_at);
create index if not exists logs_written on "cronlease".logs using brin (written_at);
insert into "cronlease".tables values (1) on conflict do nothing;
