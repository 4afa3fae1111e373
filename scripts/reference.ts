import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Command, Option } from 'commander';
import { format, resolveConfig } from 'prettier';
import { COMPLETE } from '../src/cli/setup/completion';
import { EXIT_CODES } from '../src/cli/output';
import { createProgram } from '../src/cli/program';
import { jobsJsonSchema } from '../src/config/json-schema';
import { ERROR_GUIDE, type Guidance, OPEN_GUIDE, REASON_GUIDE, STANDING_GUIDE, TROUBLE_GUIDE } from '../src/core/guide';
import { type OpenStanding, type Outcome, RAN_OUTCOMES, UNRUN_OUTCOMES } from '../src/core/outcome';
import { CALL_KINDS } from '../src/core/storage-call';
import { ROUTES } from '../src/manage/routes';
import { Problem } from '../src/manage/schema';
import { ATTRIBUTES, INSTRUMENTS } from '../src/telemetry/instruments';
import { costRows } from './cost-table';
import { evidenceTables } from './evidence';
import { ENTRIES, type Exported, exportsOf } from './library';
import { limitRows } from './limits';
import { code, table } from './table';
import { COUNTED_CALLS } from '../src/operator/cost/counted-calls';
import type { CountedSituation } from '../src/operator/cost/situation';

/** The pages with tables that are generated from the sources. */
export const REFERENCE_PAGES = [
  ...[
    'jobs-file',
    'app-settings',
    'outcomes',
    'events',
    'commands',
    'exit-codes',
    'http-api',
    'metrics',
    'library',
    'limits',
  ].map((name) => `docs/reference/${name}.md`),
  ...['storage-calls', 'reliability', 'stores', 'dashboard'].map((name) => `docs/evidence/${name}.md`),
  'docs/explanation/on-azure.md',
  'README.md',
];

/** Options that most commands have: no section of a command names them. */
const COMMON: ReadonlySet<string> = new Set(['--file', '--utc', '--local', '--storage', '--container']);
/** An option of this many commands is explained once, and their sections only name it. */
const SHARED = 3;

/** A declared name with its comment. */
export interface Documented {
  readonly name: string;
  readonly text: string;
}

interface Property {
  readonly description?: string;
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, Property>>;
  readonly required?: readonly string[];
}

/** The page with fresh tables between its markers, generated from the sources below `root`. */
export async function withTables(root: string, file: string, text: string): Promise<string> {
  const tables = tablesOf(root);
  const filled = text.replaceAll(
    /(<!-- generated: ([\w-]+) -->\n).*?(<!-- end -->)/gs,
    (_all, start: string, name: string, end: string) => {
      const table = tables[name];
      if (table === undefined) throw new Error(`${file} names the table "${name}", which does not exist`);
      return `${start}\n${table}\n\n${end}`;
    },
  );
  return format(filled, { ...(await resolveConfig(path.join(root, file))), parser: 'markdown' });
}

/** The members of a union of strings or of an interface, in order. Each must have a comment. */
export function documented(sources: string, type: string): Documented[] {
  const body =
    new RegExp(`(?:export )?interface ${type} {\n(.*?)\n}`, 's').exec(sources)?.[1] ??
    new RegExp(`export type ${type} =\n(.*?);\n`, 's').exec(sources)?.[1];
  if (body === undefined) throw new Error(`the sources declare no ${type}`);
  const comment = String.raw`(?:/\*\*((?:(?!\*/).)*)\*/\s*)?`;
  const member = new RegExp(`^ *${comment}(?:\\| '(\\w+)'|readonly (\\w+)\\??:)`, 'gms');
  return [...body.matchAll(member)].map(([, text, literal, property]) => {
    const name = literal ?? property ?? '';
    if (text === undefined) throw new Error(`${type}: ${name} has no comment`);
    return { name, text: text.replaceAll(/\s*\n\s*\*?\s*/g, ' ').trim() };
  });
}

/** The text of every source below a folder. */
export function readSources(root: string, below = 'src'): string {
  const folder = path.join(root, below);
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .toSorted()
    .map((file) => readFileSync(path.join(folder, file), 'utf8'))
    .join('\n');
}

const computed = new Map<string, Readonly<Record<string, string>>>();

/** All pages take their tables from the same sources, which are read once. */
function tablesOf(root: string): Readonly<Record<string, string>> {
  const tables = computed.get(root) ?? computeTables(root);
  computed.set(root, tables);
  return tables;
}

function computeTables(root: string): Readonly<Record<string, string>> {
  const sources = readSources(root);
  const cost = costRows(root);
  const members = (type: string): string => named(documented(sources, type), 'member', 'meaning');
  return {
    cost: table(cost.heads, cost.rows),
    file: settingsTable('file'),
    jobs: settingsTable('jobs'),
    'app-settings': table(
      ['setting', 'meaning', 'default'],
      documented(sources, 'AppSettings').map(({ name, text }) => [code(name), ...withDefault(text, 'none')]),
    ),
    outcomes: [...RAN_OUTCOMES, ...UNRUN_OUTCOMES].map(outcomeSection).join('\n\n'),
    'attempt-reasons': guideTable('reason', reasonsOf('attempt')),
    standings: OPEN_STANDINGS.map(standingSection).join('\n\n'),
    troubles: guideTable('name', Object.entries(TROUBLE_GUIDE)),
    errors: table(
      ['`code`', 'meaning', 'what to do'],
      Object.values(ERROR_GUIDE).map(({ codes, ...guidance }) => [
        codes.length === 0 ? 'any other' : codes.map(code).join(', '),
        ...guideCells(guidance),
      ]),
    ),
    'storage-calls': callTable(documented(sources, 'CountedSituation')),
    events: named(documented(sources, 'EventName'), 'event', 'meaning'),
    'event-members': members('CoordinatorEvent'),
    record: members('LedgerRecord'),
    attempt: members('AttemptRecord'),
    error: members('RecordedError'),
    metrics: metricTable(),
    ...libraryTables(root),
    ...limitTables(root),
    ...evidenceTables(root),
    attributes: table(
      ['attribute', 'meaning'],
      Object.entries(ATTRIBUTES).map(([name, meaning]) => [code(name), meaning]),
    ),
    commands: commandTable(),
    'common-options': optionTable(sharedOptions()),
    options: optionTables(),
    routes: routeTable(),
    problem: table(
      ['member', 'meaning'],
      Object.entries(Problem.shape).map(([name, { description = '' }]) => [code(name), description]),
    ),
    'exit-codes': table(
      ['code', 'meaning'],
      EXIT_CODES.map(({ code: number, meaning }) => [code(String(number)), meaning]),
    ),
  };
}

/** A table for each entry of the package, named `library` with the entry's last part. */
function libraryTables(root: string): Record<string, string> {
  const [main = []] = Object.values(ENTRIES).map((entry) => exportsOf(root, entry));
  const tables = Object.entries(ENTRIES).map(([specifier, entry]) => {
    const all = exportsOf(root, entry);
    const isAlike = ({ name, text }: Exported): boolean =>
      all.length !== main.length && main.some((other) => other.name === name && other.text === text);
    const optionsOrAnswer = all.filter((one) => !isAlike(one) && (OPTIONS.test(one.text) || ANSWER.test(one.text)));
    const apart = all.filter((one) => !isAlike(one) && !optionsOrAnswer.includes(one));
    const rows = apart.map(({ name, text }) => [code(name), text]);
    const alike = all.filter(isAlike).map(({ name }) => code(name));
    const parts = [
      table(['export', 'meaning'], rows),
      ...(alike.length === 0 ? [] : [`As in ${code('cronlease')}: ${alike.join(', ')}.`]),
      ...typesTable('options', OPTIONS, optionsOrAnswer),
      ...typesTable('answer', ANSWER, optionsOrAnswer),
    ];
    return [specifier.replace('cronlease/', 'library-'), parts.join('\n\n')];
  });
  return Object.fromEntries(tables) as Record<string, string>;
}

const OPTIONS = /^The options of (`[^`]+`)(?:, as for `[^`]+`)?\.$/;
const ANSWER = /^The answer of (.*)\.$/;

/** The types that are the options or the answers of functions; no table if there are none. */
function typesTable(what: string, pattern: RegExp, types: readonly Exported[]): readonly string[] {
  const each = types.flatMap(({ name, text }) => {
    const of = pattern.exec(text)?.[1];
    return of === undefined ? [] : [[code(name), of]];
  });
  return each.length === 0 ? [] : [table([what, 'of'], each)];
}

function limitTables(root: string): Record<string, string> {
  const tables = Object.entries(limitRows(root)).map(([section, rows]) => [
    `limits-${section}`,
    table(['limit of', 'value'], rows),
  ]);
  return Object.fromEntries(tables) as Record<string, string>;
}

function metricTable(): string {
  return table(
    ['metric', 'kind', 'unit', 'attributes', 'meaning', 'from'],
    Object.values(INSTRUMENTS).map(({ name, kind, unit, attributes, description, source }) => [
      ...[code(name), kind, code(unit), attributes.map(code).join(', '), description, source],
    ]),
  );
}

/** The settings of the file or of a job; a setting in a nested object is named by its path. */
function settingsTable(which: 'file' | 'jobs'): string {
  const file = JSON.parse(jobsJsonSchema()) as Property;
  const jobs = file.properties?.['jobs'] as { readonly additionalProperties: Property };
  const top = which === 'file' ? file : jobs.additionalProperties;
  const rows = (prefix: string, { properties = {}, required = [] }: Property): string[][] =>
    Object.entries(properties).flatMap(([name, property]) => {
      const preset = property.default ?? undefined;
      const nested = property.properties === undefined ? [] : rows(`${prefix}${name}.`, property);
      const fallback = required.includes(name) ? 'required' : presetText(preset, nested.length > 0);
      return [[code(prefix + name), ...withDefault(property.description ?? '', fallback)], ...nested];
    });
  return table(['setting', 'meaning', 'default'], rows('', top));
}

function presetText(preset: unknown, nested: boolean): string {
  if (nested && typeof preset === 'object') return 'as below';
  if (preset === undefined || (Array.isArray(preset) && preset.length === 0)) return 'none';
  return code(typeof preset === 'string' ? preset : JSON.stringify(preset));
}

/** A meaning, and the default that its last sentence names. */
function withDefault(text: string, otherwise: string): [string, string] {
  const [, meaning = text, preset = otherwise] = /^(.*?) ?Default: (.*)\.$/s.exec(text) ?? [];
  return [meaning, preset];
}

const OPEN_STANDINGS: readonly OpenStanding[] = ['running', 'retrying', 'pending', 'future', 'notDue'];

/** The reasons of an outcome, or of the end of an attempt. One that an earlier table has is left to that table. */
function reasonsOf(of: Outcome | 'attempt'): (readonly [string, Guidance])[] {
  return Object.entries(REASON_GUIDE)
    .filter((entry) => entry[1].of.includes(of))
    .map(([name, guidance]) => {
      const [first = of] = guidance.of;
      return [name, first === of ? guidance : { meaning: `See [${code(first)}](#${first.toLowerCase()}).` }];
    });
}

function outcomeSection(outcome: Outcome): string {
  const reasons = reasonsOf(outcome);
  if (reasons.length === 0) throw new Error(`no reason explains ${outcome}`);
  return guideSection(outcome, reasons);
}

function standingSection(standing: OpenStanding): string {
  return guideSection(
    standing,
    Object.entries(OPEN_GUIDE).filter(([, { of }]) => of === standing),
  );
}

function guideSection(name: Outcome | OpenStanding, reasons: readonly (readonly [string, Guidance])[]): string {
  const [meaning, remedy] = guideCells(STANDING_GUIDE[name]);
  const advice = remedy === '' ? '' : `\n\n**What to do:** ${remedy}`;
  return `### ${code(name)}\n\n${meaning}${advice}\n\n${guideTable('reason', reasons)}`;
}

function guideTable(first: string, entries: readonly (readonly [string, Guidance])[]): string {
  const hasRemedy = entries.some(([, { remedy }]) => remedy !== undefined);
  const rows = entries.map(([name, guidance]) => {
    const [meaning, remedy] = guideCells(guidance);
    return hasRemedy ? [code(name), meaning, remedy] : [code(name), meaning];
  });
  return table(hasRemedy ? [first, 'meaning', 'what to do'] : [first, 'meaning'], rows);
}

function guideCells({ meaning, next, remedy = '' }: Guidance): [string, string] {
  return [next === undefined ? meaning : `${meaning} ${next}`, remedy];
}

/** A column for each kind of call that occurs. */
function callTable(situations: readonly Documented[]): string {
  const rows = situations.map(({ name, text }) => ({ name, text, ...COUNTED_CALLS[name as CountedSituation] }));
  const kinds = CALL_KINDS.filter((kind) => rows.some(({ calls }) => calls[kind] !== undefined));
  return table(
    ['situation', 'meaning', ...kinds.map(code), 'in all'],
    rows.map(({ name, text, calls }) => {
      const counts = kinds.map((kind) => calls[kind] ?? 0);
      const sum = counts.reduce((all, count) => all + count, 0);
      return [code(name), text, ...counts.map((count) => (count === 0 ? '' : String(count))), String(sum)];
    }),
  );
}

function commandTable(): string {
  const { commands } = createProgram(() => undefined);
  const rows = commands.filter(isShown).map((command) => {
    const json = command.options.find(({ long }) => long === '--json')?.description.replace(/^print /, '') ?? '';
    const usage = command.usage().replace(/ ?\[options\]$/, '');
    return [code(`${command.name()} ${usage}`.trim()), command.summary(), /[[{]/.test(json) ? code(json) : json];
  });
  return table(['command', 'what it does', '`--json` prints'], rows);
}

function routeTable(): string {
  const rows = ROUTES.map(({ method, path, role, summary }) => {
    return [code(`${method} ${path}`), role === 'anybody' ? 'none' : code(role), summary];
  });
  return table(['route', 'role', 'what it does'], rows);
}

/** The options that several commands have with the same meaning, each once. */
function sharedOptions(): readonly Option[] {
  const { commands } = createProgram(() => undefined);
  const all = commands.filter(isShown).flatMap(({ options }) => options);
  const alike = Map.groupBy(all, keyOf);
  return [...alike.values()].flatMap(([first, ...others]) =>
    first !== undefined && first.long !== '--json' && others.length + 1 >= SHARED ? [first] : [],
  );
}

function optionTables(): string {
  const { commands } = createProgram(() => undefined);
  const shared = new Set(sharedOptions().map(keyOf));
  return commands
    .filter(isShown)
    .map((command) => {
      const options = command.options.filter(({ long }) => long !== '--json');
      const apart = options.filter((option) => !shared.has(keyOf(option)));
      const common = options.filter((option) => shared.has(keyOf(option)) && !COMMON.has(option.long ?? ''));
      const also = common.length === 0 ? '' : `\n\nAlso ${common.map(({ long }) => code(long ?? '')).join(', ')}.`;
      const own = apart.length === 0 ? '' : `\n\n${optionTable(apart)}`;
      return `### ${command.name()}\n\n${command.description()}${own}${also}`;
    })
    .join('\n\n');
}

function isShown(command: Command): boolean {
  return command.name() !== COMPLETE;
}

function keyOf({ flags, description }: Option): string {
  return `${flags} ${description}`;
}

function optionTable(options: readonly Option[]): string {
  const rows = options.map(({ flags, description, defaultValue }) => {
    const preset = defaultValue === undefined || defaultValue === true ? '' : code(String(defaultValue));
    return [code(flags), ...withPreset(description, preset)];
  });
  return table(['option', 'meaning', 'default'], rows);
}

/** An option's description and default. The description names the default where commander does not have it. */
function withPreset(description: string, preset: string): [string, string] {
  const [, meaning = description, named = preset] = /^(.*) \(default: (.*)\)$/s.exec(description) ?? [];
  return [meaning, named];
}

function named(members: readonly Documented[], first: string, second: string): string {
  return table(
    [first, second],
    members.map(({ name, text }) => [code(name), text]),
  );
}
