import * as z from 'zod';
import { CALL_KINDS } from '../bodies.ts';

/** Batches on one connection, each sent when the last is answered. */
export const TimingPlan = z.object({
  url: z.string(),
  kind: z.enum(CALL_KINDS),
  calls: z.int().positive(),
  seconds: z.number().positive(),
});
export type TimingPlan = Readonly<z.infer<typeof TimingPlan>>;

/** Times from sending a batch to its whole answer, in milliseconds. */
export const Timing = z.object({ answers: z.int().positive(), p50: z.number(), p99: z.number() });
export type Timing = Readonly<z.infer<typeof Timing>>;
