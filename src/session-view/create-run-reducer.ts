import type { JournalEntry } from '../contract/session.ts';
import { CallContext } from '../executor/call-context.ts';
import type { Failure } from '../executor/call-outcome.ts';
import {
  type Cancellation,
  type Client,
  createCancellation,
  type RunHosted,
  type RunOutcome,
  type RunTerms,
} from '../executor/deadline.ts';
import { invokeTool } from '../executor/invoke-tool.ts';
import { toCallOutcome } from '../executor/outcome.ts';
import type { Redactor } from '../executor/redactor.ts';
import { parseJson } from '../json/parse-json.ts';
import type { Tool, ToolLog } from '../tools/tool.ts';

/** What a reducer made of a session's calls, proved to be JSON; or one line that says why there is nothing. */
export type ReducerEnd =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problem: string };

/** Runs one reducer over the calls, oldest first. Never rejects. */
export type RunReducer = (reducer: Tool, entries: readonly JournalEntry[]) => Promise<ReducerEnd>;

// A fold over a few hundred calls is done at once. Whoever reads a session waits for each of its reducers.
const TIME_LIMIT_MS = 1000;
const MAX_PROBLEM_LENGTH = 300;

/**
 * Runs reducers as tools are run, where tools run; what one logs goes nowhere, for each reading would log it again. Those
 * of a tools directory run one at a time in the whole service: people who read sessions must not take the tool hosts from
 * the calls that want them.
 */
export const createRunReducer = (options: {
  readonly runHosted: RunHosted;
  readonly maxResultBytes: number;
  readonly redactor: Redactor;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
}): RunReducer => {
  const inTurn = createTurns();
  const run: RunReducer = async (reducer, entries) => {
    const limit = createCancellation(TIME_LIMIT_MS, NOBODY, options);
    const ended = await runAnywhere(reducer, { entries: entries.map(freezeEntry) }, limit, options.runHosted);
    limit.close();
    const end = toCallOutcome(ended, reducer, { graceful: 'on', maxResultBytes: options.maxResultBytes });
    if (end.kind === 'failure') return { ok: false, problem: toProblem(end.failure, options.redactor) };
    const value = parseJson(options.redactor.value(end.valueJson, 'result'));
    return value.ok ? value : { ok: false, problem: `its slice is not JSON: ${value.problem}` };
  };
  return (reducer, entries) =>
    reducer.runsIn === 'service' ? run(reducer, entries) : inTurn(() => run(reducer, entries));
};

/** Lets one piece of work begin when the one before it has ended, however it ended. */
const createTurns = () => {
  let last: Promise<unknown> = Promise.resolve();
  return <Result>(work: () => Promise<Result>): Promise<Result> => {
    const turn = last.then(work, work);
    last = turn;
    return turn;
  };
};

// The reading is finished even if whoever asked for it has gone: it takes a second at most.
const NOBODY: Client = { isGone: () => false, whenGone: () => () => undefined };

const runAnywhere = (
  reducer: Tool,
  input: Readonly<Record<string, unknown>>,
  limit: Cancellation,
  runHosted: RunHosted,
): RunOutcome | Promise<RunOutcome> => {
  const context = new CallContext({
    requestId: '',
    tool: reducer.name,
    callId: null,
    session: null,
    effects: reducer.effects,
    retriesLeft: 0,
    timeoutMs: TIME_LIMIT_MS,
    createLog: () => SILENT_LOG,
  });
  const terms: RunTerms = { context, timeoutMs: TIME_LIMIT_MS, cancellation: limit };
  return reducer.runsIn === 'service'
    ? invokeTool(reducer, input, terms)
    : runHosted(reducer, input, { ...terms, graceful: 'on' });
};

const SILENT_LOG: ToolLog = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

// Shared with the other reducers and with the answer: one that writes into its input fails, and changes nothing.
const freezeEntry = (entry: JournalEntry): JournalEntry => {
  if (entry.late !== undefined) Object.freeze(entry.late);
  return Object.freeze(entry);
};

const toProblem = (failure: Failure, redactor: Redactor): string => {
  if (failure.code === 'timeout') return `it did not end within ${TIME_LIMIT_MS} ms`;
  return redactor.cut(failure.message.replace(/\s+/g, ' ').trim(), MAX_PROBLEM_LENGTH, 'result');
};
