const CALLS_AT_ONCE = 16;

/** Makes a call for each item, several at a time, and returns the results in the order of the items. */
export async function inParallel<Item, Result>(
  items: Iterable<Item>,
  call: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  const todo = [...items].entries();
  const worker = async (): Promise<void> => {
    for (const [index, item] of todo) results[index] = await call(item);
  };
  await Promise.all(Array.from({ length: CALLS_AT_ONCE }, worker));
  return results;
}
