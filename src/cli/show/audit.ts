import type { AuditEntry } from '../../core/audit';
import { given } from '../../core/given';
import { isProven } from '../../core/origin';
import { oneLine, printableJson } from '../../core/text';
import { listAudit } from '../../operator/audit';
import { OK, print, printJson, warn } from '../output';
import { openStore, type StorageOptions } from '../storage';
import { type ShowTime, type TimeOptions, timesOf } from '../time';

export interface AuditOptions extends StorageOptions, TimeOptions {
  readonly limit: number;
  readonly cursor?: string | undefined;
  readonly json?: boolean | undefined;
}

export async function audit(options: AuditOptions): Promise<number> {
  const { limit, cursor } = options;
  const store = openStore(options);
  const page = await listAudit(store, { limit, ...given({ continuation: cursor }) });
  for (const problem of page.problems) warn(problem);
  if (options.json) {
    const entries = page.entries.map(({ origin, at, ...entry }) => {
      const { actor, channel, note = null, identity = null } = origin;
      return { ...entry, at: new Date(at).toISOString(), actor, identity, proven: isProven(origin), channel, note };
    });
    return printJson({ entries, cursor: page.continuation ?? null });
  }
  const show = timesOf(options);
  for (const entry of page.entries) print(lineOf(entry, show));
  if (page.entries.length === 0) print('There are no changes yet, or the entries are older than their retention.');
  if (page.continuation !== undefined) print(`There are older changes: --cursor ${page.continuation}`);
  return OK;
}

function lineOf({ at, origin, action, target, state, before, after }: AuditEntry, show: ShowTime): string {
  const { actor, channel, note, identity } = origin;
  const who = identity === undefined ? (isProven(origin) ? '' : ', unproven') : `, ${identity}`;
  const parts = [
    `${show(at)}  ${state}  ${action} ${target}  by ${actor} (${channel}${who})`,
    ...(note === undefined ? [] : [`why: ${note}`]),
    ...(before === undefined ? [] : [`before: ${printableJson(before)}`]),
    ...(after === undefined ? [] : [`after: ${printableJson(after)}`]),
  ];
  return parts.map(oneLine).join('\n    ');
}
