import { readFileSync } from 'node:fs';
import path from 'node:path';

/** The levels of the Functions host, from the lowest. */
const LEVELS = ['Trace', 'Debug', 'Information', 'Warning', 'Error', 'Critical', 'None'] as const;
export type HostLevel = (typeof LEVELS)[number];

/** `logging` of a host.json. */
export interface HostLogging {
  readonly logLevel: Readonly<Record<string, HostLevel>>;
  readonly applicationInsights?: Readonly<Record<string, unknown>>;
}

export function hostLogging(file = path.join(__dirname, '../../host.json')): HostLogging {
  return (JSON.parse(readFileSync(file, 'utf8')) as { readonly logging: HostLogging }).logging;
}

/**
 * The lowest level that the host logs of a category: that of the longest prefix, or else the default.
 * https://learn.microsoft.com/azure/azure-functions/configure-monitoring#configure-categories
 */
export function levelOf({ logLevel }: HostLogging, category: string): HostLevel {
  const prefixes = Object.keys(logLevel).filter((name) => category === name || category.startsWith(`${name}.`));
  return logLevel[prefixes.toSorted((a, b) => b.length - a.length)[0] ?? 'default'] ?? 'Information';
}

/** Whether the host logs a line. */
export function isLogged(logging: HostLogging, category: string, level: HostLevel): boolean {
  return LEVELS.indexOf(level) >= LEVELS.indexOf(levelOf(logging, category));
}
