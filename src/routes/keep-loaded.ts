/** Loads with the first call and keeps what came. A load that rejects is forgotten: the next call tries again. */
export const keepLoaded = <Value>(load: () => Promise<Value>): (() => Promise<Value>) => {
  let loading: Promise<Value> | undefined;
  const forget = (error: unknown): never => {
    loading = undefined;
    throw error;
  };
  return () => {
    loading ??= load().then(undefined, forget);
    return loading;
  };
};
