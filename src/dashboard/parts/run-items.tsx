import { useState } from 'preact/hooks';
import { changed, param } from '../data/address';
import type { OneRun } from '../../client/types';
import { Badge, Link, Table } from './parts';
import { duration } from '../data/time';
import { OUTCOME_LABELS, plural } from '../data/words';

type Items = NonNullable<OneRun['items']>;

/** A run page begins with so many items. */
const FIRST = 20;
const RANGES = 50;

export function chosenItem(): number | undefined {
  const text = param('item');
  return text !== undefined && /^\d{1,5}$/.test(text) ? Number(text) : undefined;
}

/** The items of a run that fans out, failed ones first. */
export function ItemsOf({ items, isOpen }: { readonly items: Items; readonly isOpen: boolean }) {
  const { planned, succeeded, failed, lines, leftOut, notEnded = [], noted = [] } = items;
  const rows = [...noted.map(({ index, state, attempt }) => ({ index, state, attempts: attempt })), ...lines];
  const [all, setAll] = useState(false);
  const left = planned - succeeded - failed;
  const counts = [
    plural(planned, 'item'),
    ...(failed === 0 ? [] : [`${failed.toLocaleString('en')} failed`]),
    `${succeeded.toLocaleString('en')} succeeded`,
    ...(left === 0 ? [] : [`${left.toLocaleString('en')} ${isOpen ? 'to do' : 'not done'}`]),
  ];
  return (
    <section>
      <h2>Items</h2>
      <p class="muted">{counts.join(' · ')}</p>
      {notEnded.length > 0 && (
        <p>
          {isOpen ? 'Waiting, or begun in the last 20 s' : 'Not done'}: {listOf(notEnded)}
        </p>
      )}
      {rows.length > 0 && <Rows rows={all ? rows : rows.slice(0, FIRST)} />}
      {rows.length > FIRST && !all && (
        <button type="button" onClick={() => setAll(true)}>
          Show all {rows.length.toLocaleString('en')}
        </button>
      )}
      {leftOut > 0 && (
        <p class="muted">{plural(leftOut, 'more item')} ended too. The record of a run has room for 64 KB of items.</p>
      )}
    </section>
  );
}

/** `3, 7, 9 to 12`. */
function listOf(ranges: NonNullable<Items['notEnded']>): string {
  const shown = ranges.slice(0, RANGES).map(({ from, to }) => (from === to ? String(from) : `${from} to ${to}`));
  return [...shown, ...(ranges.length > RANGES ? ['…'] : [])].join(', ');
}

type Row = Omit<Items['lines'][number], 'state'> & { readonly state: keyof typeof OUTCOME_LABELS };

const COLUMNS = [['Item', 'i-item'], ['State'], ['Attempts', 'i-calls', 100], ['Took', 'r-took', 104]] as const;

function Rows({ rows }: { readonly rows: readonly Row[] }) {
  const chosen = chosenItem();
  return (
    <Table name="Items" kind="slim items" columns={COLUMNS}>
      {rows.map(({ index, state, attempts, durationMs, waitedMs, error }) => (
        <tr key={index} role="row">
          <td role="cell" class="i-item">
            <Link
              href={changed({ item: index === chosen ? undefined : String(index) })}
              class="job"
              current={index === chosen}
            >
              {index}
            </Link>
          </td>
          <td role="cell">
            <Badge label={OUTCOME_LABELS[state]} />
            {error !== undefined && (
              <span class="second foreign" title={error}>
                {error}
              </span>
            )}
          </td>
          <td role="cell" class="i-calls">
            {attempts}
          </td>
          <td role="cell" class="r-took">
            {durationMs === undefined ? '' : duration(durationMs)}
            {waitedMs !== undefined && <span class="second">waited {duration(waitedMs)}</span>}
            {attempts > 1 && <span class="second on-phone">{plural(attempts, 'attempt')}</span>}
          </td>
        </tr>
      ))}
    </Table>
  );
}
