import { isDefinedTool } from '../tools/define-tool.ts';
import type { InlineTool } from '../tools/tool.ts';
import { createRunBatch, toSessionKey } from './run-batch.ts';
import { createTestClock } from './test-clock.ts';
import { createTestExecutor } from './test-executor.ts';
import { createTestLog } from './test-log.ts';
import type { CallOptions, TestArguments, Tester, TesterOptions, TestResult } from './tester.ts';

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
