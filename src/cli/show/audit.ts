import type { AuditEntry } from '../../core/audit';
import { given } from '../../core/given';
import { isProven } from '../../core/origin';
import { oneLine, printableJson } from '../../core/text';
import { listAudit } from '../../operator/audit';
import { UsageError } from '../cli-error';
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
  const continuation = cursor === undefined ? undefined : readCursor(cursor);
  const page = await listAudit(store, { limit, ...given({ continuation }) });
  const next = page.continuation === undefined ? null : writeCursor(page.continuation);
  for (const problem of page.problems) warn(problem);
  if (options.json) {
    const entries = page.entries.map(({ origin, at, ...entry }) => {
      const { actor, channel, note = null, identity = null } = origin;
      return { ...entry, at: new Date(at).toISOString(), actor, identity, proven: isProven(origin), channel, note };
    });
    return printJson({ entries, cursor: next });
  }
  const show = timesOf(options);
  for (const entry of page.entries) print(lineOf(entry, show));
  if (page.entries.length === 0) print('There are no changes yet, or the entries are older than their retention.');
  if (next !== null) print(`There are older changes: --cursor ${next}`);
  return OK;
}

/** The place of a page in characters that no shell reads as its own. */
function writeCursor(continuation: string): string {
  return Buffer.from(continuation).toString('base64url');
}

function readCursor(cursor: string): string {
  const continuation = Buffer.from(cursor, 'base64url').toString('utf8');
  if (writeCursor(continuation) === cursor) return continuation;
  throw new UsageError(
    `--cursor ${JSON.stringify(cursor)} is not one that "cronlease audit" has printed: leave it out`,
  );
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
