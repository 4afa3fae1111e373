import { type CallOptions, StoreDeniedError } from '../../lease/store';
import type { Exchange } from './agents';
import type { Ask, Cluster } from './ask';
import { create, tree } from './wire';

/**
 * The version of the keys. A later one must leave them usable for the release before it, because the instances of both
 * run side by side.
 */
const VERSION = '1';

/**
 * Makes the node for sessions, and then the key by which all other calls see that the container exists.
 *
 * A session of an agent's own node ends with that agent. This node is not a machine: it is only in the catalog, has no
 * checks, and stays.
 */
export async function prepareLayout(
  ask: Ask,
  { exchange, layout, node, container }: Pick<Cluster, 'layout' | 'node' | 'exchange'> & { readonly container: string },
  options: CallOptions | undefined,
): Promise<void> {
  const question = { what: `create ${container}`, kind: 'container', options } as const;
  const isThere = await ask(question, async (calls) => {
    const { found } = await calls.transactAnyway(tree(layout));
    return found?.length === 1;
  });
  try {
    await ask(question, async (calls, signal) => {
      await register(exchange, node, signal);
      if (!isThere) await calls.transactAnyway(create(layout, VERSION));
    });
  } catch (error) {
    // The right to create is missing where there is nothing to create.
    if (!isThere || !(error instanceof StoreDeniedError)) throw error;
  }
}

async function register(exchange: Exchange, node: string, signal: AbortSignal): Promise<void> {
  const path = `/v1/catalog/node/${node}`;
  const { json } = await exchange({ method: 'GET', path, signal }, 404);
  if (json !== null) return;
  const body = { Node: node, Address: '127.0.0.1', NodeMeta: { 'external-node': 'true', 'external-probe': 'false' } };
  await exchange({ method: 'PUT', path: '/v1/catalog/register', body, signal });
}

/** Whether the container exists, and the agent's time. */
export async function lookForLayout(ask: Ask, layout: string) {
  const question = { what: 'look for the layout', kind: 'listing', options: undefined } as const;
  const { date, found } = await ask(question, (calls) => calls.transactAnyway(tree(layout)));
  return { isThere: found?.length === 1, date };
}
