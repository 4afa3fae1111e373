/** The parts of an instance's CPU, in the order of the table. */
export const PARTS = [
  'storage SDK',
  'listing',
  'decision',
  'attempt and lease',
  'hand-over',
  'embedded hub and host',
  'Durable SDK',
  'logging',
  "node's HTTP, sockets and timers",
  'garbage collection',
  'handler',
  'other',
] as const;

export type Part = (typeof PARTS)[number];

/** The first that fits decides. Paths are those of modules, with slashes. */
const BY_PATH: readonly (readonly [RegExp, Part])[] = [
  [/(^|\/)bench\//, 'handler'],
  [/(^|\/)src\/core\/event|(^|\/)src\/functions\/redact|(^|\/)src\/core\/log-/, 'logging'],
  [/(^|\/)src\/stores\/azure-blob\/.*list|node_modules\/(saxes|xmlchars|fast-xml-parser)\//, 'listing'],
  [/(^|\/)src\/stores\/|node_modules\/(@azure\/(storage|core|abort|logger)|@typespec)/, 'storage SDK'],
  [/(^|\/)src\/coordinator\/tick\/race/, 'hand-over'],
  [/(^|\/)src\/functions\/hub/, 'hand-over'],
  [/(^|\/)src\/(coordinator\/tick|core|config)\/|node_modules\/cron-parser|node_modules\/luxon/, 'decision'],
  [/(^|\/)src\/(coordinator|lease|handler|functions)\//, 'attempt and lease'],
  [/(^|\/)src\/local\//, 'embedded hub and host'],
  [/node_modules\/(durable-functions|@azure\/functions|axios|follow-redirects|@opentelemetry|undici)/, 'Durable SDK'],
];

/** The part that a module belongs to; undefined: it is of no one, such as a module of Node. */
export function partOf(module: string): Part | undefined {
  if (module === '' || module.startsWith('node:')) return undefined;
  return BY_PATH.find(([pattern]) => pattern.test(module))?.[1] ?? 'other';
}
