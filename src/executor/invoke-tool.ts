import type { Issue } from '../contract/tool-result.ts';
import { type AnyAsyncGenerator, isAsyncGenerator } from '../tools/async-generator.ts';
import type { InlineTool, Prepared, ToolContext } from '../tools/tool.ts';
import { isToldValue } from '../tools/tool-values.ts';
import { type RunOutcome, type RunTerms, raceDeadline } from './deadline.ts';

/**
 * Checks the arguments, runs the handler and checks its output under one deadline. Never throws or rejects: this is
 * the only place where tool code is caught. A handler that answers at once costs no promise and no timer; one that
 * goes on after its deadline is left running, and `late` tells its real end (null where its process was killed).
 */
export const invokeTool = (
  tool: InlineTool,
  input: Readonly<Record<string, unknown>>,
  terms: RunTerms,
): RunOutcome | Promise<RunOutcome> => {
  try {
    const prepared = tool.prepare(input);
    if (prepared instanceof Promise) return raceDeadline(continueLater(tool, prepared, terms.context), tool, terms);
    if (!prepared.ok) return { kind: 'invalid_arguments', issues: prepared.issues };
    return start(tool, prepared.invocation.run, terms);
  } catch (thrown) {
    return toPrepareFailure(thrown);
  }
};

/** The tool as it is asked whether it takes arguments: it checks them, and its handler is not run. */
export const toCheckingTool = (tool: InlineTool): InlineTool =>
  toReadingTool(tool, (prepared) => (prepared.ok ? VALID : prepared));

/** The tool as it is asked what a call would do: its value is what its `preview` says, and its handler is not run. */
export const toPreviewingTool = (tool: InlineTool): InlineTool =>
  toReadingTool(tool, (prepared) => {
    if (!prepared.ok) return prepared;
    const { preview = () => null } = prepared.invocation;
    return { ok: true, invocation: { run: preview } };
  });

/** The tool as one that only reads, with something else in the place of its handler. */
export const toReadingTool = (tool: InlineTool, change: (prepared: Prepared) => Prepared): InlineTool => ({
  ...tool,
  effects: 'read',
  checkOutput: null,
  extractError: null,
  prepare: (input) => {
    const prepared = tool.prepare(input);
    return prepared instanceof Promise ? prepared.then(change) : change(prepared);
  },
});

const VALID: Prepared = { ok: true, invocation: { run: () => null } };

type Handler = (context: ToolContext) => unknown;

const start = (tool: InlineTool, run: Handler, terms: RunTerms): RunOutcome | Promise<RunOutcome> => {
  try {
    const returned = run(terms.context);
    const kind = classifyReturned(returned);
    if (kind === 'unreadable') return UNREADABLE;
    if (isAsyncGenerator(returned)) return raceDeadline(runGenerator(tool, returned, terms.context), tool, terms);
    if (kind === 'promise') return raceDeadline(finishLater(tool, returned, terms.context), tool, terms);
    const checked = checkOutput(tool, returned);
    return checked instanceof Promise ? raceDeadline(checked, tool, terms) : checked;
  } catch (thrown) {
    return { kind: 'threw', thrown };
  }
};

const UNREADABLE: RunOutcome = {
  kind: 'invalid_output',
  issues: [{ path: '', expected: 'a value', received: 'none', message: 'it cannot be read' }],
};

const continueLater = async (
  tool: InlineTool,
  preparing: ReturnType<InlineTool['prepare']>,
  context: ToolContext,
): Promise<RunOutcome> => {
  try {
    const prepared = await preparing;
    if (!prepared.ok) return { kind: 'invalid_arguments', issues: prepared.issues };
    return await runToEnd(tool, prepared.invocation.run, context);
  } catch (thrown) {
    return toPrepareFailure(thrown);
  }
};

const runToEnd = async (tool: InlineTool, run: Handler, context: ToolContext): Promise<RunOutcome> => {
  try {
    return await finishLater(tool, run(context), context);
  } catch (thrown) {
    return { kind: 'threw', thrown };
  }
};

const finishLater = async (tool: InlineTool, returned: unknown, context: ToolContext): Promise<RunOutcome> => {
  try {
    const value = await returned;
    return isAsyncGenerator(value) ? await runGenerator(tool, value, context) : await checkOutput(tool, value);
  } catch (thrown) {
    return { kind: 'threw', thrown };
  }
};

// A generator that never waits would else keep timers, and so its own deadline, from their turn.
const STEPS_A_SLICE = 16;

/**
 * What an `async function*` yields are parts, what it returns is its value. It runs to its end whether anybody watches or
 * not; a call that is cut off ends it at its next `yield`, where its `finally` blocks run.
 */
const runGenerator = async (
  tool: InlineTool,
  generator: AnyAsyncGenerator,
  context: ToolContext,
): Promise<RunOutcome> => {
  try {
    for (let steps = 1; ; steps += 1) {
      const { done, value } = await generator.next();
      if (done === true) return await checkOutput(tool, value ?? null);
      if (context.signal.aborted) {
        await generator.return(undefined);
        return { kind: 'threw', thrown: context.signal.reason };
      }
      context.part(value);
      if (steps % STEPS_A_SLICE === 0) await new Promise((resolve) => setImmediate(resolve));
    }
  } catch (thrown) {
    return { kind: 'threw', thrown };
  }
};

const checkOutput = (tool: InlineTool, value: unknown): RunOutcome | Promise<RunOutcome> => {
  const declared = tool.extractError?.(toPayload(value));
  if (declared !== undefined && declared !== null) return { kind: 'threw', thrown: declared };
  if (tool.checkOutput === null) return { kind: 'returned', value };
  const toOutcome = (issues: readonly Issue[]): RunOutcome =>
    issues.length === 0 ? { kind: 'returned', value } : { kind: 'invalid_output', issues };
  const issues = tool.checkOutput(toPayload(value));
  // Where the call ends before the check does, nobody is left who would hear of a rejection.
  return issues instanceof Promise ? issues.then(toOutcome, toThrown) : toOutcome(issues);
};

const toThrown = (thrown: unknown): RunOutcome => ({ kind: 'threw', thrown });

// A refinement or transformation that throws says "these arguments I cannot take" (hostile input 23).
const toPrepareFailure = (thrown: unknown): RunOutcome => ({
  kind: 'invalid_arguments',
  issues: [
    { path: '', expected: 'arguments that can be checked', received: 'others', message: toCheckProblem(thrown) },
  ],
});

const toCheckProblem = (thrown: unknown): string => {
  const text = thrown instanceof Error ? thrown.message : '';
  return text === '' ? 'they could not be checked' : `they could not be checked: ${text}`;
};

const toPayload = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && isToldValue(value) ? value.value : value;

// Even asking may throw: on a revoked proxy, or where `then` is a getter.
const classifyReturned = (value: unknown): 'promise' | 'value' | 'unreadable' => {
  if ((typeof value !== 'object' || value === null) && typeof value !== 'function') return 'value';
  try {
    return 'then' in value && typeof value.then === 'function' ? 'promise' : 'value';
  } catch (_hostile) {
    return 'unreadable';
  }
};
