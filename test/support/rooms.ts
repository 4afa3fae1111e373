import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseSync } from 'oxc-parser';

/**
 * Each room of `src`, and the rooms that it may use; any other import is forbidden. `room/*` stands for the files that
 * lie directly in a room, without its inner rooms.
 */
export const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  core: [],
  config: ['core'],
  lease: ['core'],
  stores: ['core', 'lease'],
  handler: ['core', 'lease'],
  coordinator: ['core', 'lease', 'handler'],
  'coordinator/tick': ['core', 'lease', 'handler', 'coordinator/*'],
  'coordinator/attempt': ['core', 'lease', 'handler', 'coordinator/*'],
  notices: ['core', 'lease', 'coordinator/outlet'],
  call: ['core', 'handler', 'notices/guard', 'notices/request'],
  // Its answers are those of the HTTP API.
  operator: ['core', 'lease', 'config/suggest', 'coordinator/ledger', 'manage/schema'],
  telemetry: ['core', 'lease', 'coordinator/telemetry', 'operator'],
  manage: [
    'core',
    'lease',
    'config',
    'client/operations',
    'operator',
    'coordinator/ledger',
    'telemetry/row-gauges',
    'telemetry/instruments',
  ],
  election: [
    'core',
    'lease',
    'config/suggest',
    'stores/open',
    'stores/limits',
    'stores/azure-blob/row-container',
    'system-clock',
  ],
  client: ['manage/schema'],
  testing: ['core', 'lease', 'config', 'handler', 'coordinator', 'call', 'notices/guard', 'stores/memory'],
  // Only types, except for the state that lists show: a test checks that.
  dashboard: ['client', 'core/outcome', 'core/given', 'core/guide', 'core/job-pattern', 'core/shown-state'],
  functions: [
    'core',
    'lease',
    'config',
    'handler',
    'coordinator',
    'operator',
    'telemetry',
    'manage',
    'dashboard/files',
    'notices',
    'call',
    'import/cron-field',
    'stores/open',
    'stores/limits',
    'system-clock',
    'version',
  ],
  // The composition root of function apps, without the host.
  runner: ['core', 'handler', 'coordinator', 'functions', 'telemetry/feed', 'system-clock'],
  import: ['core', 'config'],
  local: ['core', 'import/cron-field', 'system-clock'],
  cli: [
    'core',
    'lease',
    'config',
    'stores/open',
    'stores/limits',
    'stores/azure-blob/connection',
    'operator',
    'manage/schema',
    'import',
    'local',
    'functions/settings',
    'functions/host-advice',
    'functions/remote-settings',
    'functions/redact',
    'notices',
    'system-clock',
    'version',
  ],
  jobs: ['core', 'stores/azure-blob/connection', 'index'],
  'system-clock': ['core'],
  version: [],
  index: ['core', 'lease', 'handler', 'functions', 'election'],
  app: ['index', 'jobs'],
  'drill-app': ['index'],
};

/** Packages that only some rooms may use. */
const PACKAGES: readonly { readonly name: RegExp; readonly rooms: readonly string[] }[] = [
  { name: /^@azure\/storage-blob$|^@azure\/identity$/, rooms: ['stores/azure-blob', 'telemetry', 'call', 'jobs'] },
  { name: /^@azure\/functions/, rooms: ['functions', 'local'] },
  { name: /^durable-functions$/, rooms: ['functions', 'local'] },
  { name: /^@opentelemetry\/|^@azure\/monitor/, rooms: ['telemetry'] },
  { name: /^pg$/, rooms: ['stores/postgres'] },
  { name: /^ioredis$/, rooms: ['stores/redis'] },
  { name: /^azurite/, rooms: ['local'] },
  { name: /^commander$/, rooms: ['cli'] },
  { name: /^cron-parser$/, rooms: ['core/schedule', 'local/host'] },
  { name: /^zod/, rooms: ['config', 'import', 'jobs', 'manage', 'client'] },
  { name: /^yaml$|^acorn$/, rooms: ['import'] },
  { name: /^preact|^@preact\/|^uplot|^anser/, rooms: ['dashboard'] },
];

export interface SourceFile {
  /** Relative to `src`, with slashes. */
  readonly file: string;
  readonly text: string;
}

export function sourceFiles(src: string): SourceFile[] {
  return readdirSync(src, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file))
    .map((file) => ({
      file: file.split(path.sep).join('/'),
      text: readFileSync(path.join(src, file), 'utf8'),
    }));
}

/** Every forbidden import, in words. */
export function violations(files: readonly SourceFile[]): string[] {
  return files.flatMap(({ file, text }) =>
    importsOf(file, text).flatMap((specifier) => {
      const problem = specifier.startsWith('.') ? checkRoom(file, specifier) : checkPackage(file, specifier);
      return problem === undefined ? [] : [`${file} imports ${specifier}: ${problem}`];
    }),
  );
}

function importsOf(file: string, text: string): string[] {
  const { module, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`${file} cannot be parsed: ${String(errors[0]?.message)}`);
  const dynamic = module.dynamicImports.map(({ moduleRequest }) =>
    text.slice(moduleRequest.start, moduleRequest.end).replaceAll(/^['"`]|['"`]$/g, ''),
  );
  const exported = module.staticExports.flatMap(({ entries }) =>
    entries.flatMap(({ moduleRequest }) => (moduleRequest === null ? [] : [moduleRequest.value])),
  );
  return [...module.staticImports.map(({ moduleRequest }) => moduleRequest.value), ...exported, ...dynamic];
}

function checkRoom(file: string, specifier: string): string | undefined {
  const target = path.posix.join(path.posix.dirname(file), specifier).replace(/\.js$/, '');
  const room = roomOf(file);
  const targetRoom = roomOf(target);
  if (room === targetRoom) return undefined;
  const allowed = MAY_IMPORT[room];
  if (allowed === undefined) return `"${room}" is a room without rules`;
  const fits = allowed.some((one) =>
    one.endsWith('/*')
      ? path.posix.dirname(target) === one.slice(0, -2)
      : target === one || target.startsWith(`${one}/`) || targetRoom === one,
  );
  return fits ? undefined : `${room} may import ${allowed.join(', ') || 'nothing but itself'}`;
}

function checkPackage(file: string, specifier: string): string | undefined {
  for (const { name, rooms } of PACKAGES) {
    if (name.test(specifier) && !rooms.some((room) => file.startsWith(`${room}/`))) {
      return `only ${rooms.join(', ')} may use it`;
    }
  }
  return undefined;
}

/** The innermost room of a file. */
function roomOf(file: string): string {
  const parts = file.replace(/(\.d)?\.tsx?$/, '').split('/');
  const inner = parts.slice(0, 2).join('/');
  return parts.length > 2 && inner in MAY_IMPORT ? inner : (parts[0] ?? file);
}

/** Files that import each other, directly or through others, one circle a line. */
export function circles(files: readonly SourceFile[]): string[] {
  const all = new Set(files.map(({ file }) => file));
  const imports = new Map(
    files.map(({ file, text }) => {
      const targets = importsOf(file, text)
        .filter((specifier) => specifier.startsWith('.'))
        .map((specifier) => path.posix.join(path.posix.dirname(file), specifier).replace(/\.js$/, ''));
      return [
        file,
        targets.flatMap((to) => [`${to}.ts`, `${to}.tsx`, `${to}/index.ts`].filter((name) => all.has(name))),
      ];
    }),
  );
  const reached = new Map([...all].map((file) => [file, reachable(file, imports)]));
  const found = [...all].flatMap((file) => {
    const circle = [...(reached.get(file) ?? [])].filter((other) => reached.get(other)?.has(file));
    return circle.length > 0 && [...circle].sort()[0] === file ? [circle.sort().join(' ↔ ')] : [];
  });
  return found.sort();
}

function reachable(file: string, imports: ReadonlyMap<string, readonly string[]>): Set<string> {
  const reached = new Set<string>();
  const open = [...(imports.get(file) ?? [])];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (reached.has(next)) continue;
    reached.add(next);
    open.push(...(imports.get(next) ?? []));
  }
  return reached;
}
