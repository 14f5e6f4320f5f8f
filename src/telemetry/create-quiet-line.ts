// Whatever goes on failing is one story, not one line each time.
const LOG_EVERY_MS = 10_000;

/** Writes a line at most every ten seconds; the next one says how many were left out in between. */
export const createQuietLine = <Fields extends Readonly<Record<string, unknown>>>({
  write,
  now,
}: {
  readonly write: (fields: Fields & { readonly equal_lines_left_out?: number }) => void;
  /** Milliseconds. */
  readonly now: () => number;
}): ((toFields: () => Fields) => void) => {
  let writtenAt = Number.NEGATIVE_INFINITY;
  let leftOut = 0;
  return (toFields) => {
    if (now() - writtenAt < LOG_EVERY_MS) {
      leftOut += 1;
      return;
    }
    const before = leftOut > 0 ? { equal_lines_left_out: leftOut } : {};
    writtenAt = now();
    leftOut = 0;
    write({ ...toFields(), ...before });
  };
};
