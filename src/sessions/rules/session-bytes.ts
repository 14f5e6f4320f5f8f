import { textBytes } from '../../memory/text-bytes.ts';
import type { Claim, ToolState } from './budget-state.ts';
import type { ToolStreaks } from './loop-guard.ts';
import type { SessionState } from './session-state.ts';

// Measured with --expose-gc on stores filled to their limit (store-weights.test.ts): with the maps around them, which are
// up to twice as large as what is in them.
const BYTES = { session: 620, tool: 330, claim: 350, calls: 130, tools: 400, streak: 160, namedRound: 130 } as const;

/** What a session takes of the heap, in bytes, without its journal. */
export const toSessionBytes = ({ tools, streaks, callsOf, namedRounds, knownRound }: SessionState): number => {
  let bytes = BYTES.session + callsOf.size * BYTES.calls + textBytes(knownRound);
  for (const { id } of namedRounds) bytes += BYTES.namedRound + textBytes(id);
  for (const tool of tools.values()) bytes += toToolBytes(tool);
  for (const ofTool of streaks.values()) bytes += toStreakBytes(ofTool);
  return bytes;
};

const toToolBytes = ({ lastError, claims }: ToolState): number => {
  let bytes = BYTES.tool + textBytes(lastError);
  for (const claim of claims) bytes += toClaimBytes(claim);
  return bytes;
};

const toClaimBytes = ({ id, round, wipedBy }: Claim): number =>
  BYTES.claim + textBytes(id) + textBytes(round) + textBytes(wipedBy);

const toStreakBytes = ({ before, endings }: ToolStreaks): number =>
  BYTES.tools + (before.size + endings.size) * BYTES.streak;
