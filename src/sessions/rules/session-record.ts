import type { SessionRecord, ToolRecord } from '../../executor/session-store.ts';
import { textBytes } from '../../memory/bounded-store.ts';
import { keepRepeats, repeatsAfter, type ToolRepeats, withoutFailures } from './loop-guard.ts';
import { expireReservations, openRetries, refresh, spentRetries } from './reservations.ts';
import { findTool, type SessionState } from './session-state.ts';

/**
 * Makes one tool fresh, or all of them and the session's lost retries with them (null). What runs goes on, and counts
 * when it ends. Changes `session`.
 */
export const resetSession = (session: SessionState, tool: string | null, now: number): void => {
  expireReservations(session, now);
  for (const [name, state] of session.tools) if (tool === null || tool === name) refresh(state);
  for (const [name, repeats] of session.repeats)
    if (tool === null || tool === name) keepRepeats(session.repeats, name, withoutFailures(repeats, 0));
  if (tool === null) session.lost = 0;
};

/** What a session remembers, without its journal. */
export const toSessionRecord = (session: SessionState, now: number): Omit<SessionRecord, 'mode' | 'journal'> => {
  expireReservations(session, now);
  const names = new Set([...session.tools.keys(), ...session.callsOf.keys(), ...session.repeats.keys()]);
  return {
    rounds: session.rounds,
    calls: session.calls,
    spent: spentRetries(session),
    tools: Array.from(names, (name) => toToolRecord(session, name, now))
      .filter(
        ({ failures, used, open, calls, streak }) => failures + used + open + calls + streak.failed + streak.same > 0,
      )
      .sort((one, other) => (one.name < other.name ? -1 : 1)),
  };
};

const toToolRecord = (session: SessionState, name: string, now: number): ToolRecord => {
  const tool = findTool(session, name);
  const hasFailed = tool.failures > 0;
  const ofTool = session.repeats.get(name);
  const streak = { failed: 0, same: 0 };
  for (const [, { failed, same }] of ofTool === undefined ? [] : repeatsAfter(ofTool)) {
    streak.failed = Math.max(streak.failed, failed);
    streak.same = Math.max(streak.same, same);
  }
  return {
    name,
    failures: tool.failures,
    used: tool.used,
    open: openRetries(tool),
    failedAgoMs: hasFailed ? Math.max(0, now - tool.failedAt) : null,
    lastError: hasFailed ? tool.lastError : '',
    calls: session.callsOf.get(name) ?? 0,
    streak,
  };
};

// Measured with --expose-gc on stores filled to their limit (store-weights.system.test.ts): with the maps around them, which
// are up to twice as large as what is in them.
const BYTES = {
  session: 700,
  tool: 330,
  reservation: 150,
  calls: 130,
  tools: 400,
  repeats: 24,
  callEnd: 125,
  namedRound: 130,
  // A hash of 53 bits is a number on the heap. A call that failed has no answer: the empty text is one for all.
  hash: 16,
} as const;

/** What a session takes of the heap, in bytes, without its journal. */
export const weighSession = ({ tools, repeats, callsOf, namedRounds, knownRound }: SessionState): number => {
  let bytes = BYTES.session + callsOf.size * BYTES.calls + textBytes(knownRound);
  for (const { id } of namedRounds) bytes += BYTES.namedRound + textBytes(id);
  for (const { lastError, reservations } of tools.values()) {
    bytes += BYTES.tool + textBytes(lastError);
    for (const { id, round } of reservations) bytes += BYTES.reservation + textBytes(id) + textBytes(round);
  }
  for (const ofTool of repeats.values()) bytes += weighRepeats(ofTool);
  return bytes;
};

const weighRepeats = (tool: ToolRepeats): number => {
  let bytes = BYTES.tools + (tool.packed ?? tool.before.size) * BYTES.repeats;
  for (const { answer } of tool.callEnds.values()) bytes += BYTES.callEnd + (answer === '' ? 0 : BYTES.hash);
  return bytes;
};
