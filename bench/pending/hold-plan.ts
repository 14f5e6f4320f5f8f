import * as z from 'zod';

/** Long polls and streams that one process opens and keeps open, and what it is asked of them. */
export const HoldPlan = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('open'), url: z.string(), polls: z.array(z.string()), streams: z.array(z.string()) }),
  z.object({ kind: z.literal('count') }),
]);
export type HoldPlan = Readonly<z.infer<typeof HoldPlan>>;

export const HoldResult = z.object({
  /** Connections that are open now. */
  polls: z.int().nonnegative(),
  streams: z.int().nonnegative(),
  /** Polls that were answered that their calls are still pending, and asked again. */
  pollsAgain: z.int().nonnegative(),
  /** Signs of life of streams. */
  heartbeats: z.int().nonnegative(),
  /** What should not be: other answers, connections that broke. */
  complaints: z.array(z.string()),
});
export type HoldResult = Readonly<z.infer<typeof HoldResult>>;
