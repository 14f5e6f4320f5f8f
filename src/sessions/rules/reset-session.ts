import { expireClaims, refresh } from './budget-state.ts';
import { keepStreaks, withoutFailures } from './loop-guard.ts';
import type { SessionState } from './session-state.ts';

/**
 * Makes one tool fresh, or all of them and the session's lost retries with them (null). What runs goes on, and counts
 * when it ends. Changes `session`. reset.lua is the twin.
 */
export const resetSession = (session: SessionState, tool: string | null, now: number): void => {
  expireClaims(session, now);
  for (const [name, state] of session.tools) if (isMeant(name, tool)) refresh(state, '');
  for (const [name, streaks] of session.streaks)
    if (isMeant(name, tool)) keepStreaks(session.streaks, name, withoutFailures(streaks, 0));
  if (tool === null) session.lost = 0;
};

const isMeant = (name: string, tool: string | null): boolean => tool === null || tool === name;
