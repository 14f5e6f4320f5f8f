import * as z from 'zod';
import { CALL_KINDS, MANNERS, ROTATING_SESSIONS } from '../bodies.ts';

/** Batches on one connection, each sent when the last is answered. */
export const TimingPlan = z.object({
  url: z.string(),
  kind: z.enum(CALL_KINDS),
  manner: z.enum(MANNERS).default('session'),
  calls: z.int().positive(),
  /** Batches are of so many sessions in turn. */
  sessions: z.int().positive().default(ROTATING_SESSIONS),
  seconds: z.number().positive(),
});
export type TimingPlan = Readonly<z.infer<typeof TimingPlan>>;
/** The same as it is asked for. */
export type TimingRequest = Readonly<z.input<typeof TimingPlan>>;

/** Times from sending a batch to its whole answer, in milliseconds. */
export const Timing = z.object({
  answers: z.int().positive(),
  p50: z.number(),
  p99: z.number(),
  /** Answers in which a result carries a warning or was refused because the store was away, and one of these answers. */
  warned: z.int().nonnegative(),
  warning: z.string(),
});
export type Timing = Readonly<z.infer<typeof Timing>>;
