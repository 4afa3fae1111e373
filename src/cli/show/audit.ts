import type { AuditEntry } from '../../core/audit';
import { given } from '../../core/given';
import { isoOf } from '../../core/iso';
import { isProven } from '../../core/origin';
import { oneLine, printableJson } from '../../core/text';
import { listAudit } from '../../operator/audit';
import type { Options } from '../commands/command';
import { answer, UsageError, warn } from '../output';
import { openStore } from '../storage';
import { type ShowTime, timesOf } from '../time';

export async function audit(options: Options & { readonly limit: number; readonly cursor?: string }): Promise<number> {
  const { limit, cursor } = options;
  const store = openStore(options);
  const continuation = cursor === undefined ? undefined : readCursor(cursor);
  const page = await listAudit(store, { limit, ...given({ continuation }) });
  const next = page.continuation === undefined ? null : writeCursor(page.continuation);
  for (const problem of page.problems) warn(problem);
  const entries = page.entries.map(({ origin, at, ...entry }) => {
    const { actor, channel, note = null, identity = null } = origin;
    return { ...entry, at: isoOf(at), actor, identity, proven: isProven(origin), channel, note };
  });
  const show = timesOf(options);
  const nothing = 'There are no changes yet, or the entries are older than their retention.';
  return answer(options, { entries, cursor: next }, () =>
    [
      ...page.entries.map((entry) => lineOf(entry, show)),
      ...(entries.length === 0 ? [nothing] : []),
      ...(next === null ? [] : [`There are older changes: --cursor ${next}`]),
    ].join('\n'),
  );
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
