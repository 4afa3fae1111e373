/** Waits for all, and then rejects with the first error if there is one: nothing is left running unseen. */
export async function allSettledOrThrow<T>(promises: readonly Promise<T>[]): Promise<readonly T[]> {
  await Promise.allSettled(promises);
  return Promise.all(promises);
}
