/** Loads a value once. After a failure, such as no free file handle, the next call loads it again. */
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
