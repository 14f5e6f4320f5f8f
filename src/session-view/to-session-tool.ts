import type { SessionTool } from '../contract/session.ts';
import { UNKNOWN_NAMES } from '../executor/admit.ts';
import { type SessionRecord, type SessionSettings, type ToolRecord, UNKNOWN_TOOL } from '../executor/session-store.ts';
import type { Tool } from '../tools/tool.ts';

const UNKNOWN = { retries: UNKNOWN_NAMES.retries, maxCallsPerSession: UNKNOWN_NAMES.maxCalls };

export type FindTool = (name: string) => Pick<Tool, 'retries' | 'maxCallsPerSession'> | undefined;

export type ToolViewTerms = {
  readonly findTool: FindTool;
  readonly settings: Pick<SessionSettings, 'sessionRetries' | 'cooldownMs'>;
  /** Retries of the whole session: failed, running or lost. */
  readonly spent: SessionRecord['spent'];
};

/** What a session remembers of one tool, beside what the tool declares now. */
export const toSessionTool = (record: ToolRecord, terms: ToolViewTerms): SessionTool => {
  const { name, failures, used, open, streak, calls } = record;
  const declared = name === UNKNOWN_TOOL ? UNKNOWN : terms.findTool(name);
  const maxCalls = declared?.maxCallsPerSession ?? null;
  return {
    name,
    failing: failures > 0,
    failures,
    used,
    running: open,
    limit: declared?.retries ?? used,
    exhausted: declared !== undefined && isExhausted(record, declared.retries, terms),
    last_error: failures > 0 ? record.lastError : '',
    streak: { failed: streak.failed, same_answer: streak.same },
    calls: maxCalls === null ? null : calls,
    max_calls: maxCalls,
  };
};

/**
 * Whether admitting would deny it: rules 1 and 5 of the retry budget. While its last retry runs nothing is exhausted
 * yet, and what has cooled down will be made fresh by the next round that asks.
 */
const isExhausted = (record: ToolRecord, retries: number, { settings, spent }: ToolViewTerms): boolean => {
  const { failures, used, open } = record;
  if (failures === 0 || (used + open < retries && spent < settings.sessionRetries)) return false;
  if (used < retries && open > 0) return false;
  return !hasCooled(record, settings);
};

const hasCooled = ({ failedAgoMs }: ToolRecord, { cooldownMs }: ToolViewTerms['settings']): boolean =>
  cooldownMs > 0 && failedAgoMs !== null && failedAgoMs >= cooldownMs;
