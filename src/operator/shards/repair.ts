import { LAYOUT, type Layout, decodeLayout, encodeLayout, formOf, listHash } from '../../core/layout';
import { ForeignMetadataError, orForeign } from '../../core/metadata';
import type { LeaseStore, ListedControl } from '../../lease/store';
import { type Acting, type Recorded, operate } from '../audit';
import { OperatorError } from '../operator-error';
import { deploymentsOf } from '../views/deployments';

interface Account {
  readonly store: LeaseStore;
  readonly listed: ListedControl | undefined;
  readonly layout: Layout | 'foreign' | undefined;
}

/**
 * Replaces layouts that something else wrote, if it is certain what was there. A single account needs none. Of several,
 * all others must have settled on this list. The deployments of the last week must have as many accounts. Everything
 * else is a change of the list, for `shards --apply`. Returns the locations of the accounts that were repaired. Throws
 * `OperatorError` `LayoutUnclear`, `Contended`.
 */
export async function repairLayouts(store: LeaseStore): Promise<readonly string[]> {
  const accounts = await Promise.all((store.accounts ?? [store]).map((one) => seen(one)));
  const foreign = accounts.filter(({ layout }) => layout === 'foreign');
  if (foreign.length === 0) return [];
  const sound = soundLayout(accounts);
  await assertSameNumber(store, accounts.length);
  for (const account of foreign) await assertNothingMoves(account);
  for (const { store: account, listed } of foreign) {
    if (listed === undefined) continue;
    const done =
      sound === undefined
        ? await account.removeControl(LAYOUT, listed.etag)
        : await account.writeControl(LAYOUT, encodeLayout(sound), listed.etag);
    if (done !== 'refused') continue;
    throw new OperatorError('Contended', `the layout in ${account.location} was changed by others: try again`);
  }
  return foreign.map(({ store: { location } }) => location);
}

async function seen(store: LeaseStore): Promise<Account> {
  const { control } = await store.readControl(LAYOUT);
  const layout = control && orForeign(() => decodeLayout(control.metadata));
  return { store, listed: control, layout: layout instanceof ForeignMetadataError ? 'foreign' : layout };
}

/** The layout that all accounts had; undefined: a single account needs none. */
function soundLayout(accounts: readonly Account[]): Layout | undefined {
  if (accounts.length === 1) return undefined;
  const list = listHash(accounts.map(({ store }) => store.location));
  const others = accounts.flatMap(({ layout }) => (layout === 'foreign' ? [] : [layout]));
  const [first] = others;
  const fits = others.every((one) => one?.state === 'settled' && !one.left && one.list === list);
  if (first !== undefined && fits) return first;
  throw unclear('the other accounts have not settled on this list of accounts');
}

/** A list that lacks an account would take the layout for one that is not needed, or for that of fewer accounts. */
async function assertSameNumber(store: LeaseStore, here: number): Promise<void> {
  const { deployments } = deploymentsOf(await store.listPresences());
  const other = deployments.find(({ accounts = 1 }) => accounts !== here);
  if (other === undefined) return;
  const { name, accounts = 1 } = other;
  throw unclear(`deployment "${name}" distributes its jobs over ${accounts} account(s), but this list has ${here}`);
}

/** A row that moves, or has moved, shows that the list was being changed, or that the jobs are elsewhere. */
async function assertNothingMoves({ store }: Account): Promise<void> {
  const { jobs } = await store.list();
  const moving = [...jobs].find(([, { row }]) => row !== undefined && formOf(row.metadata) !== 'live');
  if (moving !== undefined) throw unclear(`the row of job "${moving[0]}" in ${store.location} moves or has moved`);
}

function unclear(why: string): OperatorError {
  return new OperatorError('LayoutUnclear', `the overwritten layout cannot be determined: ${why}`);
}

export function repairLayout(acting: Acting): Promise<Recorded<{ readonly repaired: readonly string[] }>> {
  return operate(acting, 'shards', 'layout', async () => {
    const repaired = await repairLayouts(acting.store);
    return { answer: { repaired }, after: { repaired } };
  });
}
