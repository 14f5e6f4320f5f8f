import * as z from 'zod';

/** Batches of one call at moments that do not depend on the answers. */
export const PacedPlan = z.object({
  url: z.string(),
  kind: z.enum(['sleeping', 'sleeping_long']),
  ratePerSecond: z.number().positive(),
  seconds: z.number().positive(),
  deadlineMs: z.number().positive(),
  connections: z.int().positive(),
});
export type PacedPlan = Readonly<z.infer<typeof PacedPlan>>;

/** What came of the batches. Times in milliseconds, from the moment a batch was sent. */
export const PacedResult = z.object({
  /** Sent, and due but never sent, because every connection was waiting. */
  sent: z.int(),
  unsent: z.int(),
  /** Successes that came before the time was over, and all of them. */
  successesInTime: z.int(),
  successes: z.int(),
  /** 503 before the batch was read. */
  refused: z.int(),
  /** Answered as `overloaded`. */
  overloaded: z.int(),
  /** Everything else, by what it was. */
  others: z.record(z.string(), z.int()),
  successP50: z.number(),
  successP99: z.number(),
  /** How long after its moment a batch was sent. */
  latenessP50: z.number(),
  latenessP99: z.number(),
  /** Connections that were left at the end. */
  connections: z.int(),
});
export type PacedResult = Readonly<z.infer<typeof PacedResult>>;
