import type { CallOptions } from '../../lease/store';
import type { Ask } from './ask';
import { get, isAbsent, put } from './wire';

/**
 * The version of the keys. A later one must leave them usable for the release before it, because the instances of both
 * run side by side.
 */
const VERSION = '1';

/** Makes the key by which all other calls see that the container exists. */
export async function prepareLayout(
  ask: Ask,
  { layout, container }: { readonly layout: string; readonly container: string },
  options: CallOptions | undefined,
): Promise<void> {
  const transaction = { compare: [isAbsent(layout)], success: [put(layout, VERSION)] };
  await ask.transactAnyway({ what: `create ${container}`, kind: 'container', options }, transaction);
}

/** Whether the container exists, and the member's time. */
export async function lookForLayout(ask: Ask, layout: string) {
  const question = { what: 'look for the layout', kind: 'listing', options: undefined } as const;
  const { date, found } = await ask.transactAnyway(question, { success: [get(layout)] });
  return { isThere: found[0]?.kvs.length === 1, date };
}
