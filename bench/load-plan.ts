import * as z from 'zod';
import { CALL_KINDS, MANNERS } from './bodies.ts';
import { FORMS } from './forms.ts';

/** One run of the load generator. */
export const LoadPlan = z.object({
  url: z.string(),
  kind: z.enum(CALL_KINDS),
  manner: z.enum(MANNERS).default('session'),
  /** Only `native` knows other kinds than `succeeding`. */
  form: z.enum(FORMS).default('native'),
  calls: z.int().positive(),
  connections: z.int().positive(),
  seconds: z.number().positive(),
});
export type LoadPlan = Readonly<z.infer<typeof LoadPlan>>;
/** The same as it is asked for. */
export type LoadRequest = Readonly<z.input<typeof LoadPlan>>;

/** What came of a run. `failures` counts every answer but 200, every broken connection and every time-out. */
export const LoadResult = z.object({
  answers: z.int().nonnegative(),
  failures: z.int().nonnegative(),
  /** How many answers had which status, and what else went wrong. */
  told: z.string(),
  /** Pieces of answers that tell of a warning, or where the status says nothing of a failure, and the first of these. */
  warned: z.int().nonnegative(),
  warning: z.string(),
  seconds: z.number().positive(),
  /** Latencies of the run, in milliseconds. */
  p50: z.number(),
  p99: z.number(),
});
export type LoadResult = Readonly<z.infer<typeof LoadResult>>;
