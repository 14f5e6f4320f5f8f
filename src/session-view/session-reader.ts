import type { JournalEntry, SessionRule, SessionTool, SessionView } from '../contract/session.ts';
import type { PendingCall } from '../contract/tool-result.ts';
import { UNKNOWN_NAMES } from '../executor/admit.ts';
import { toJournalEntries } from '../executor/journal-entries.ts';
import type { CallSpec } from '../executor/pending-calls.ts';
import {
  type SessionRecord,
  type SessionSettings,
  type SessionStore,
  type ToolRecord,
  UNKNOWN_TOOL,
} from '../executor/session-store.ts';
import type { Tool } from '../tools/tool.ts';
import type { RunReducer } from './create-run-reducer.ts';

export type SessionReaderOptions = {
  readonly sessions: Pick<SessionStore, 'read'>;
  readonly findTool: FindTool;
  /** The reducers that are registered now. */
  readonly reducers: () => readonly Tool[];
  readonly runReducer: RunReducer;
  /** The calls of a session that were accepted and have not ended, oldest first. Rejects with the store. */
  readonly pendingOf: (sessionKey: string) => Promise<readonly PendingOfSession[]>;
  /** How the rules stand that count by session. Rejects with the store. Left out: there are none. */
  readonly rulesOf?: (sessionKey: string, mayUse: MayUse) => Promise<readonly SessionRule[]>;
  readonly settings: Pick<SessionSettings, 'sessionRetries' | 'cooldownMs' | 'maxCalls' | 'maxRounds' | 'journal'>;
};

type MayUse = (tool: string) => boolean;

type PendingOfSession = {
  readonly spec: Pick<CallSpec, 'tool' | 'requestId' | 'index'>;
  readonly pending: PendingCall;
};

/**
 * What a service knows of a session, as far as its tools may be used by whoever asks; empty for one never seen. Rejects
 * as the store does when it cannot answer.
 */
export type ReadSession = (sessionKey: string, mayUse: (tool: string) => boolean) => Promise<SessionView>;

/**
 * Makes a session's view: 1 read the record  2 fold late results into their calls  3 leave out calls of tools that may
 * not be used: `_unknown` counts as one, for its texts list the names that another key may use  4 run the reducers over
 * the rest. Pending calls are those of such tools, too.
 */
export const createSessionReader =
  (options: SessionReaderOptions): ReadSession =>
  async (sessionKey, mayUse) => {
    const { settings } = options;
    const [record, pending, rules = []] = await Promise.all([
      options.sessions.read(sessionKey),
      options.pendingOf(sessionKey),
      options.rulesOf?.(sessionKey, mayUse),
    ]);
    // More lines are kept than calls: late results have lines of their own.
    const entries = settings.journal === 0 ? [] : toCalls(record.journal, settings.journal);
    const calls = toVisibleCalls(entries, mayUse);
    const tools = record.tools
      .filter(({ name }) => mayUse(name))
      .map((tool) => toSessionTool(tool, record.spent, options));
    // Without a journal every slice would say that nothing ever happened.
    const reducers = settings.journal === 0 ? [] : options.reducers();
    return {
      session: toTotals(record, settings),
      tools: tools.toSorted((one, other) => (one.name < other.name ? -1 : 1)),
      ...(await toSlices(reducers, calls, options.runReducer)),
      ...(rules.length === 0 ? {} : { rules: [...rules] }),
      ...toPendingView(pending, mayUse),
      calls: [...calls],
      ...(record.truncated === true ? { truncated: true } : {}),
    };
  };

/**
 * The last `most` calls of a journal. Where those were all refused, the last one that was not stands before them: what it says
 * is mostly why the others were.
 */
const toCalls = (lines: readonly string[], most: number): readonly JournalEntry[] => {
  const calls = toJournalEntries(lines);
  const last = calls.slice(-most);
  if (last.length === calls.length || !last.every(isRefused)) return last;
  const cause = calls.findLast((call) => !isRefused(call));
  return cause === undefined ? last : [cause, ...last.slice(1)];
};

const isRefused = ({ outcome }: JournalEntry): boolean => outcome === 'refused';

/** A request id may name results of other tools as well: whether those may be seen is decided where it is asked for. */
const toPendingView = (
  pending: readonly PendingOfSession[],
  mayUse: (tool: string) => boolean,
): Pick<SessionView, 'pending'> => {
  const shown = pending
    .filter(({ spec }) => mayUse(spec.tool))
    .map(({ spec: { tool, requestId, index }, pending: { call, state, since, expires_at } }) => ({
      ...{ call, tool, request_id: requestId, index, state, since, expires_at },
    }));
  return shown.length === 0 ? {} : { pending: shown };
};

const toTotals = (record: SessionRecord, settings: SessionReaderOptions['settings']): SessionView['session'] => ({
  mode: record.mode,
  ...(record.since === undefined ? {} : { since: record.since }),
  rounds: record.rounds,
  max_rounds: settings.maxRounds === 0 ? null : settings.maxRounds,
  calls: record.calls,
  max_calls: settings.maxCalls === 0 ? null : settings.maxCalls,
  retries_used: record.spent,
  retries_limit: settings.sessionRetries,
});

const toSlices = async (
  reducers: readonly Tool[],
  calls: readonly JournalEntry[],
  runReducer: RunReducer,
): Promise<Pick<SessionView, 'slices' | 'slice_errors'>> => {
  const slices: (readonly [string, unknown])[] = [];
  const problems: (readonly [string, string])[] = [];
  for (const reducer of reducers) {
    const end = await runReducer(reducer, calls);
    if (end.ok) slices.push([reducer.name, end.value]);
    else problems.push([reducer.name, end.problem]);
  }
  // A reducer may be called `__proto__`: fromEntries makes members of its own of such names.
  const whole = { slices: Object.fromEntries(slices) };
  return problems.length === 0 ? whole : { ...whole, slice_errors: Object.fromEntries(problems) };
};

type FindTool = (name: string) => Pick<Tool, 'retries' | 'maxCallsPerSession'> | undefined;

/** What a session remembers of one tool, beside what the tool declares now. `spent`: retries of the whole session. */
const toSessionTool = (
  record: ToolRecord,
  spent: number,
  { findTool, settings }: SessionReaderOptions,
): SessionTool => {
  const { name, failures, used, open, streak, calls } = record;
  const { retries, maxCalls } = name === UNKNOWN_TOOL ? UNKNOWN_NAMES : toLimits(findTool(name));
  return {
    name,
    failing: failures > 0,
    failures,
    used,
    running: open,
    limit: retries ?? used,
    exhausted: retries !== null && isExhausted(record, { retries, spent, settings }),
    last_error: failures > 0 ? record.lastError : '',
    streak: { failed: streak.failed, same_answer: streak.same },
    calls: maxCalls === null ? null : calls,
    max_calls: maxCalls,
  };
};

const toLimits = (tool: ReturnType<FindTool>) => ({
  retries: tool?.retries ?? null,
  maxCalls: tool?.maxCallsPerSession ?? null,
});

/**
 * Whether admitting would deny it: rules 1 and 5 of the retry budget. While its last retry runs nothing is exhausted
 * yet, and what has cooled down will be made fresh by the next round that asks.
 */
const isExhausted = (
  { failures, used, open, failedAgoMs }: ToolRecord,
  { retries, spent, settings }: Pick<SessionReaderOptions, 'settings'> & Readonly<Record<'retries' | 'spent', number>>,
): boolean => {
  const { sessionRetries, cooldownMs } = settings;
  if (failures === 0 || (used + open < retries && spent < sessionRetries)) return false;
  if (used < retries && open > 0) return false;
  return !(cooldownMs > 0 && failedAgoMs !== null && failedAgoMs >= cooldownMs);
};

/**
 * The calls that may be seen by who may use these tools: those of other tools are left out, and where a call was not
 * executed because one of those had failed, its message names none.
 */
const toVisibleCalls = (entries: readonly JournalEntry[], mayUse: (tool: string) => boolean): readonly JournalEntry[] =>
  entries
    .filter(({ tool, name }) => (tool === null ? name === null || mayUse(name) : mayUse(tool)))
    .map((entry) => (namesAnother(entry, mayUse) ? { ...entry, message: NAMELESS_TEXT } : entry));

const NAMELESS_TEXT = 'Not executed: a preceding call failed.';

// Long names were cut in the journal, and the end of the sentence with them.
const PRECEDING = /^Not executed: the preceding call to '(.*?)(?:' failed\.)?$/s;

const namesAnother = ({ code, message }: JournalEntry, mayUse: (tool: string) => boolean): boolean =>
  code === 'not_executed' && !mayUse(PRECEDING.exec(message)?.[1] ?? '');
