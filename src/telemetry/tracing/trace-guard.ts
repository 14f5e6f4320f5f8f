/** Makes of something that traces something that cannot disturb what it traces. */
export type TraceGuard = <Given extends readonly unknown[], Result>(
  work: (...given: Given) => Result,
  otherwise: Result,
) => (...given: Given) => Result;

/** What throws is told of, and gives `otherwise`. */
export const createTraceGuard =
  (failed: (error: unknown) => void): TraceGuard =>
  (work, otherwise) =>
  (...given) => {
    try {
      return work(...given);
    } catch (error) {
      failed(error);
      return otherwise;
    }
  };
