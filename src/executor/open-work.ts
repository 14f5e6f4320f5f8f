/** Counts what has begun and not ended, for whoever must wait until nothing is open. */
export type OpenWork = {
  readonly begin: () => void;
  readonly end: () => void;
  /** Resolves as soon as nothing is open. */
  readonly whenNone: () => Promise<void>;
};

export const createOpenWork = (): OpenWork => {
  let open = 0;
  const waiting: (() => void)[] = [];
  return {
    begin: () => {
      open += 1;
    },
    end: () => {
      open -= 1;
      if (open === 0) for (const resolve of waiting.splice(0)) resolve();
    },
    whenNone: () => (open === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
  };
};
