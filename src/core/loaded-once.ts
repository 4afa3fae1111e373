/**
 * Loads a value at the first call, and for all later ones. What could not be loaded is loaded again at the next call: a
 * process that has no file handle left for a moment must not do without it until its end.
 */
export function loadedOnce<Value>(load: () => Promise<Value>): () => Promise<Value> {
  let loaded: Promise<Value> | undefined;
  return async () => {
    const loading = (loaded ??= load());
    try {
      return await loading;
    } catch (error) {
      if (loaded === loading) loaded = undefined;
      throw error;
    }
  };
}
