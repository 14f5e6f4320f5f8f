import type { SessionView } from '../contract/session.ts';
import { isDefinedTool } from '../tools/define-tool.ts';
import type { InlineTool } from '../tools/tool.ts';
import { type BatchOptions, createRunBatch, type TestCall, toSessionKey } from './run-batch.ts';
import { createTestClock, type TestClock } from './test-clock.ts';
import { createTestExecutor } from './test-executor.ts';
import { createTestLog, type TestLogLine } from './test-log.ts';
import type { TestResult } from './test-result.ts';

/** Arguments as a model sends them: an object, or a text that holds one. They become JSON on their way, as in a request. */
export type TestArguments = NonNullable<TestCall['arguments']>;

/** What goes with one call. Times in milliseconds. */
export type CallOptions = Omit<BatchOptions, 'order' | 'onError'> & {
  /** The id that the model gave the call. */
  readonly id?: string | number | undefined;
  /** As `timeout_ms` of the call: may only shorten the tool's own limit. */
  readonly timeoutMs?: number | undefined;
};

/** The calls of one session. */
export type TestSession = {
  /** One round with one call. */
  readonly call: (tool: string, args?: TestArguments, options?: Omit<CallOptions, 'session'>) => Promise<TestResult>;
  /** One round: its calls in one batch. */
  readonly round: (
    calls: readonly TestCall[],
    options?: Omit<BatchOptions, 'session'>,
  ) => Promise<readonly TestResult[]>;
  /** The session as `GET /sessions/{id}` shows it, with the slices of the reducers that the tester was given. */
  readonly view: () => Promise<SessionView>;
};

/** Runs tools as a service with default settings does, in this process and without HTTP. */
export type Tester = {
  /**
   * One call in a batch of its own, with the result that a caller gets. It rejects only where the service answers no
   * results: with a RefusedBatchError; and with a TypeError where the arguments cannot be written as JSON.
   */
  readonly call: (tool: string, args?: TestArguments, options?: CallOptions) => Promise<TestResult>;
  /** Several calls in one batch: one result per call, in the order of the calls. Rejects as `call` does. */
  readonly batch: (calls: readonly TestCall[], options?: BatchOptions) => Promise<readonly TestResult[]>;
  /** Calls of one session, of the tenant of that name. */
  readonly session: (id: string, options?: { readonly tenant?: string | undefined }) => TestSession;
  readonly clock: TestClock;
  /** The lines that handlers have written by `context.log`, in their order. */
  readonly logs: readonly TestLogLine[];
  /** Ends what still runs, as a service that stops: later calls are `shutting_down`. */
  readonly close: () => Promise<void>;
};

export type TesterOptions = {
  /**
   * The moment at which the clock stands: only `clock.advance` moves it, and durations are exact. Left out: the clock runs
   * beside the real time.
   */
  readonly now?: Date | undefined;
};

/**
 * Makes a tester of what `defineTool` and `defineReducer` made. Throws a TypeError for anything else, and an Error where two
 * have one name. Each tester has sessions, circuits and keys of its own, so make one for each test.
 */
export const createTester = (tools: InlineTool | readonly InlineTool[], { now }: TesterOptions = {}): Tester => {
  const clock = createTestClock(now ?? null);
  const log = createTestLog();
  const executor = createTestExecutor(toList(tools), clock, log);
  const batch = createRunBatch(executor, log);
  const call = async (
    name: string,
    args: TestArguments = {},
    { id, timeoutMs, ...options }: CallOptions = {},
  ): Promise<TestResult> => {
    const [result] = await batch([{ id, name, arguments: args, timeout_ms: timeoutMs }], options);
    if (result === undefined) throw new Error('A batch of one call has no result.');
    return result;
  };
  return {
    call,
    batch,
    session: (id, { tenant } = {}) => ({
      call: (name, args, options) => call(name, args, { tenant, ...options, session: id }),
      round: (calls, options) => batch(calls, { tenant, ...options, session: id }),
      view: () => executor.readSession(toSessionKey(tenant, id), () => true),
    }),
    clock: { now: clock.now, advance: clock.advance },
    logs: log.lines,
    close: async () => {
      executor.drain();
      executor.endAll();
      await executor.whenIdle();
    },
  };
};

const toList = (tools: InlineTool | readonly InlineTool[]): readonly InlineTool[] => {
  const list: readonly unknown[] = Array.isArray(tools) ? tools : [tools];
  const defined = list.filter(isDefinedTool);
  const wrong = list.findIndex((tool) => !isDefinedTool(tool));
  if (wrong === -1) return defined;
  throw new TypeError(
    `createTester takes what defineTool or defineReducer made, or a list of such. Item ${wrong} is ${describe(list[wrong])}: pass the result of defineTool.`,
  );
};

const describe = (value: unknown): string => (value === null ? 'null' : `a value of type ${typeof value}`);
