import type { Round, SessionSettings } from '../../executor/session-store.ts';
import type { SessionState } from './session-state.ts';

/** Which round of its session a batch is: a new one, one more batch of a named one, or one too many. */
export type CountedRound = { readonly kind: 'begun' | 'joined' | 'refused'; readonly step: number };

// A session has not more named rounds under way at once.
const MAX_NAMED_ROUNDS = 16;

/**
 * Counts a round, a named one once: its name is good for one lease from its first batch. A round too many is not
 * counted. Changes `session`. count-round.lua is the twin.
 */
export const countRound = (
  session: SessionState,
  { roundId, leaseMs }: Round,
  { maxRounds }: SessionSettings,
  now: number,
): CountedRound => {
  session.namedRounds = session.namedRounds.filter(({ joinUntil }) => joinUntil > now);
  const joined = session.namedRounds.find(({ id }) => id === roundId);
  if (joined !== undefined) return { kind: 'joined', step: joined.step };
  const step = session.rounds + 1;
  if (maxRounds > 0 && step > maxRounds) return { kind: 'refused', step };
  session.rounds = step;
  if (roundId !== null) {
    const named = { id: roundId, step, joinUntil: now + leaseMs };
    session.namedRounds = [...session.namedRounds, named].slice(-MAX_NAMED_ROUNDS);
  }
  return { kind: 'begun', step };
};
