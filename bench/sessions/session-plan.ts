import * as z from 'zod';
import { PROFILES } from './profiles.ts';

/** Sessions to be made by posting all their rounds, several sessions at a time. */
export const SessionPlan = z.object({
  url: z.string(),
  profile: z.enum(PROFILES),
  sessions: z.int().positive(),
  connections: z.int().positive(),
});
export type SessionPlan = Readonly<z.infer<typeof SessionPlan>>;

/** What came of it. */
export const SessionsMade = z.object({ batches: z.int().nonnegative(), failedCalls: z.int().nonnegative() });
export type SessionsMade = Readonly<z.infer<typeof SessionsMade>>;
