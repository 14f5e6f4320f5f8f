import { type Round, UNKNOWN_TOOL } from '../../executor/session-store.ts';
import { type BudgetState, createClaim, dropEndedClaims, findJoinable, refresh, toolState } from './budget-state.ts';

// Not a tool: under this name stand, as claims that hold nothing, the named rounds that named an unknown tool.
const UNKNOWN_ROUNDS = '';

/**
 * A round that names only known tools clears the bucket of unknown names; a named round is known to do so only when
 * the next one begins. Changes `session`. This is rule 4 of the retry budget; unknown-names.lua is its twin.
 */
export const forgiveUnknownNames = (session: BudgetState, round: Round, now: number): void => {
  if (round.tools.length === 0) return;
  const knows = !round.tools.some((tool) => tool.name === UNKNOWN_TOOL);
  const name = round.roundId ?? '';
  const hasNamed = hasNamedUnknown(session, round, knows ? 'known' : 'unknown', now);
  const { knownRound } = session;
  session.knownRound = '';
  const unknown = session.tools.get(UNKNOWN_TOOL);
  if (unknown === undefined || unknown.failures === 0) return;
  if ((knownRound !== '' && knownRound !== name) || (knows && name === '')) refresh(unknown, '');
  if (!hasNamed) session.knownRound = name;
};

const hasNamedUnknown = (session: BudgetState, round: Round, names: 'known' | 'unknown', now: number): boolean => {
  if (round.roundId === null) return names === 'unknown';
  const rounds = toolState(session, UNKNOWN_ROUNDS);
  if (findJoinable(rounds, round, now) !== undefined) return true;
  if (names === 'known') return false;
  rounds.claims.push(createClaim(round, { retry: false, epoch: 0, running: 0 }, now));
  dropEndedClaims(rounds, now);
  return true;
};
