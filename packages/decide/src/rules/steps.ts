// Steps wait only where a store does: memory answers at once, and a call that rules decide of then costs no promise.

/** A value, or a promise of it where it has to be waited for. */
export type Soon<Value> = Value | Promise<Value>;

/** Yields what it waits for; undefined: nothing. */
export type Steps<Result> = Generator<Promise<unknown> | undefined, Result, void>;

/** Runs steps to their end: at once where none of them waits. */
export const take = <Result>(steps: Steps<Result>): Soon<Result> => {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (step.value !== undefined) return step.value.then(() => take(steps));
  }
};

/** A promise of all that has to be waited for; undefined: nothing has. */
export const allOf = (values: readonly Soon<unknown>[]): Promise<unknown> | undefined => {
  for (const value of values) if (value instanceof Promise) return Promise.all(values);
  return undefined;
};
