import { type RowStore, StoreUnavailableError } from '../lease/store';

type Facts = Pick<RowStore, 'location' | 'limits'>;
type AnyMethod = (...args: readonly unknown[]) => Promise<unknown>;

/**
 * A store whose adapter is loaded at the first call: an app that uses another one neither reads nor installs it.
 *
 * @param load its errors count as storage that cannot be reached
 */
export function deferred<Store extends Facts>(
  facts: Facts,
  methods: readonly (keyof Store & string)[],
  load: () => Promise<Store>,
): Store {
  let loaded: Promise<Store> | undefined;
  const store = async (): Promise<Store> => {
    try {
      return await (loaded ??= load());
    } catch (cause) {
      loaded = undefined;
      const problem = cause instanceof Error ? (cause.message.split('\n', 1)[0] ?? '') : String(cause);
      throw new StoreUnavailableError(
        `${facts.location}: the adapter of this store cannot be loaded: ${problem}. A deployed package has it only if it ` +
          'was made with "npm run package -- --store NAME".',
        { cause },
      );
    }
  };
  const calls = methods.map((name): [string, AnyMethod] => [
    name,
    async (...args) => ((await store())[name] as AnyMethod)(...args),
  ]);
  return { ...facts, ...Object.fromEntries(calls) } as Facts & Record<string, AnyMethod> as Store;
}
