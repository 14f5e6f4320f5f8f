import type { SessionRecord, ToolRecord } from '../../executor/session-store.ts';
import { expireClaims, findTool, openRetries, spentRetries } from './budget-state.ts';
import { streaksAfter, type ToolStreaks } from './loop-guard.ts';
import type { SessionState } from './session-state.ts';

/** What is told of a session that was never seen. */
export const toEmptyRecord = (mode: SessionRecord['mode']): SessionRecord => ({
  mode,
  rounds: 0,
  calls: 0,
  spent: 0,
  tools: [],
  journal: [],
});

/** What a session remembers, without its journal. read.lua is the twin. */
export const toSessionRecord = (session: SessionState, now: number): Omit<SessionRecord, 'mode' | 'journal'> => {
  expireClaims(session, now);
  const names = new Set([...session.tools.keys(), ...session.callsOf.keys(), ...session.streaks.keys()]);
  return {
    rounds: session.rounds,
    calls: session.calls,
    spent: spentRetries(session),
    tools: toSortedRecords(Array.from(names, (name) => toToolRecord(session, name, now))),
  };
};

/** Those of which something is remembered, by name. */
export const toSortedRecords = (tools: readonly ToolRecord[]): readonly ToolRecord[] =>
  tools.filter(isRemembered).sort((one, other) => (one.name < other.name ? -1 : 1));

const isRemembered = ({ failures, used, open, calls, streak }: ToolRecord): boolean =>
  [failures, used, open, calls, streak.failed, streak.same].some((count) => count > 0);

const toToolRecord = (session: SessionState, name: string, now: number): ToolRecord => {
  const tool = findTool(session, name);
  const stands = tool.failures > 0;
  return {
    name,
    failures: tool.failures,
    used: tool.used,
    open: openRetries(tool),
    failedAgoMs: stands ? Math.max(0, now - tool.failedAt) : null,
    lastError: stands ? tool.lastError : '',
    calls: session.callsOf.get(name) ?? 0,
    streak: toHighest(session.streaks.get(name)),
  };
};

const toHighest = (tool: ToolStreaks | undefined): ToolRecord['streak'] => {
  const streaks = tool === undefined ? [] : [...streaksAfter(tool).values()];
  return {
    failed: Math.max(0, ...streaks.map(({ failed }) => failed)),
    same: Math.max(0, ...streaks.map(({ same }) => same)),
  };
};
