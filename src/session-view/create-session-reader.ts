import type { JournalEntry, SessionView } from '../contract/session.ts';
import { toJournalEntries } from '../executor/journal/journal-lines.ts';
import type { SessionRecord, SessionSettings, SessionStore } from '../executor/session-store.ts';
import type { Tool } from '../tools/tool.ts';
import type { RunReducer } from './create-run-reducer.ts';
import { type FindTool, toSessionTool } from './to-session-tool.ts';
import { toVisibleCalls } from './visible-calls.ts';

export type SessionReaderOptions = {
  readonly sessions: Pick<SessionStore, 'read'>;
  readonly findTool: FindTool;
  /** The reducers that are registered now. */
  readonly reducers: () => readonly Tool[];
  readonly runReducer: RunReducer;
  readonly settings: Pick<SessionSettings, 'sessionRetries' | 'cooldownMs' | 'maxCalls' | 'maxRounds' | 'journal'>;
};

/**
 * What a service knows of a session, as far as its tools may be used by whoever asks; empty for one never seen. Rejects
 * as the store does when it cannot answer.
 */
export type ReadSession = (sessionKey: string, mayUse: (tool: string) => boolean) => Promise<SessionView>;

/**
 * Makes a session's view: 1 read the record  2 fold late results into their calls  3 leave out calls of tools that may
 * not be used: `_unknown` counts as one, for its texts list the names that another key may use  4 run the reducers over
 * the rest.
 */
export const createSessionReader =
  (options: SessionReaderOptions): ReadSession =>
  async (sessionKey, mayUse) => {
    const { findTool, settings } = options;
    const record = await options.sessions.read(sessionKey);
    // More lines are kept than calls: late results have lines of their own.
    const entries = settings.journal === 0 ? [] : toJournalEntries(record.journal).slice(-settings.journal);
    const calls = toVisibleCalls(entries, mayUse);
    const tools = record.tools
      .filter(({ name }) => mayUse(name))
      .map((tool) => toSessionTool(tool, { findTool, settings, spent: record.spent }));
    // Without a journal every slice would say that nothing ever happened.
    const reducers = settings.journal === 0 ? [] : options.reducers();
    return {
      session: toTotals(record, settings),
      tools: tools.toSorted((one, other) => (one.name < other.name ? -1 : 1)),
      ...(await toSlices(reducers, calls, options.runReducer)),
      calls: [...calls],
      ...(record.truncated === true ? { truncated: true } : {}),
    };
  };

const toTotals = (record: SessionRecord, settings: SessionReaderOptions['settings']): SessionView['session'] => ({
  mode: record.mode,
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
