const CALLS_AT_ONCE = 16;

/** The results in the order of the items, with so many calls side by side. */
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
