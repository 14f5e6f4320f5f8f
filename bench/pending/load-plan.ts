import * as z from 'zod';

/** A closed loop: each connection sends its next request when the last is answered, and a pause after that. */
export const LoadPlan = z.object({
  url: z.string(),
  /** The bytes of one request, sent over and over. */
  request: z.string(),
  connections: z.int().positive(),
  pauseMs: z.number().nonnegative().default(0),
  /** Before anything counts. */
  warmUpMs: z.number().nonnegative(),
  ms: z.number().positive(),
  /** Of whose processor time is read at the begin and the end of what counts. */
  pids: z.array(z.int().positive()),
});
export type LoadPlan = Readonly<z.input<typeof LoadPlan>>;

const Spread = z.object({ p50: z.number(), p99: z.number(), most: z.number() });
export type Spread = Readonly<z.infer<typeof Spread>>;

/** What was answered in the time that counts; the generator gives up at an answer that is not a success. */
export const LoadResult = z.object({
  answers: z.int().positive(),
  /** Calls that were refused because Redis was late, the warm-up's included. */
  away: z.int().nonnegative(),
  ms: z.number().positive(),
  /** From a request to its whole answer, in milliseconds. */
  took: Spread,
  /** From a request to the begin of its handler, and from the handler's end to the answer; null where it does not say. */
  untilBegun: Spread.nullable(),
  sinceEnded: Spread.nullable(),
  /** Processor time of each process, in nanoseconds, in the order of the plan. */
  cpuNanos: z.array(z.number().nonnegative()),
});
export type LoadResult = Readonly<z.infer<typeof LoadResult>>;
