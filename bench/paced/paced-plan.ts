import * as z from 'zod';
import { LanePlan } from '../slices/slice-plan.ts';

/** Batches at moments that do not depend on the answers. */
export const PacedPlan = z.object({
  url: z.string(),
  /** What is sent in turn: of each load as often as its weight says. */
  loads: z.array(z.object({ lane: LanePlan, weight: z.int().positive() })).min(1),
  /** More than can be sent: a batch leaves as soon as a connection is free, as in a closed loop. */
  ratePerSecond: z.number().positive(),
  seconds: z.number().positive(),
  connections: z.int().positive(),
  /** How long the last batches may wait for their answers. */
  lastMs: z.number().nonnegative(),
});
export type PacedPlan = Readonly<z.input<typeof PacedPlan>>;

/** What came of the batches; times in milliseconds. */
export const PacedResult = z.object({
  /** Sent, and due but never sent, because every connection was waiting. */
  sent: z.int(),
  unsent: z.int(),
  /** Answers that were right, warned or not, and came before the time was over. */
  answeredInTime: z.int(),
  /**
   * How many batches came to what: `right`, as its load gives reason for; `warned`, the same with a warning; what went
   * wrong.
   */
  outcomes: z.record(z.string(), z.int()),
  /** From the moment a batch was due to its whole answer, of all that are right or warned. */
  p50: z.number(),
  p99: z.number(),
  p999: z.number(),
  /** How long after its moment a batch was sent. */
  latenessP50: z.number(),
  latenessP99: z.number(),
  /** Connections that were left at the end. */
  connections: z.int(),
});
export type PacedResult = Readonly<z.infer<typeof PacedResult>>;

/** Everything that was not to be, by what it was. */
export const toOthers = (
  { outcomes }: PacedResult,
  expected: readonly string[],
): readonly (readonly [string, number])[] => Object.entries(outcomes).filter(([what]) => !expected.includes(what));

export const showOthers = (others: readonly (readonly [string, number])[]): string =>
  others.map(([what, count]) => `${count} ${what}`).join(', ') || '0';
