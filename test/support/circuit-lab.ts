import { roomyMemory } from '@recourse/test-support/roomy-memory.ts';
import * as z from 'zod';
import type { FailureCode } from '#src/contract/failure.ts';
import { type CallOutcome, failed, toFailure } from '#src/executor/call-outcome.ts';
import { type CircuitPass, createCircuitBreakers } from '#src/executor/circuit-breakers.ts';
import { defineTool, type ToolDefinition } from '#src/tools/define-tool.ts';
import type { HostedTool, InlineTool, Tool } from '#src/tools/tool.ts';

type Arguments = Readonly<Record<string, unknown>>;
type Definition = Partial<ToolDefinition<z.ZodType>>;

/** A tool that is never run: tests say how its calls end. Its own time limit is 5 s. */
export const createTool = (name: string, definition: Definition = {}): InlineTool =>
  defineTool({
    name,
    description: 'For tests.',
    input: z.looseObject({}),
    effects: 'read',
    timeoutMs: 5000,
    run: () => null,
    ...definition,
  });

/** The same in a tool host: its own function is there and cannot be asked. */
export const createHostedTool = (name: string, definition: Definition = {}): HostedTool => ({
  ...createTool(name, definition),
  runsIn: 'host',
  file: { path: '/tools/one.ts', root: '/tools', sources: new Map() },
});

export const SUCCESS = {
  kind: 'success',
  valueJson: '1',
  message: '',
  executed: 'yes',
  marks: [],
  warnings: [],
} as const satisfies CallOutcome;

export const endOf = (code: FailureCode): CallOutcome => failed(toFailure(code, 'For tests.', null));

/** What ends are to a circuit. */
export const ENDS = { success: SUCCESS, fault: endOf('tool_exception'), neither: endOf('invalid_arguments') } as const;

type Asked = { readonly input?: Arguments; readonly batch?: WeakKey };

/** A batch of tests, as the executor names it. */
export const asBatch = (batch: WeakKey): Ended[2] =>
  Object.assign(Object(batch), { request: { requestId: 'r-1', tenant: 'anonymous' } });

type Ended = Parameters<Extract<CircuitPass, { kind: 'passed' }>['ended']>;
/** How a call that was begun ended. */
export type End = (outcome: Ended[0], limit: Ended[1]) => void;

/** Circuit breakers with a clock that stands still, and what their observer was told: `tool state`. */
export const createCircuitLab = ({ failures = 3, openMs = 10_000, memory = roomyMemory() } = {}) => {
  const changes: string[] = [];
  const clock = { nowMs: 0 };
  const breakers = createCircuitBreakers({
    memory,
    failures,
    openMs,
    observer: { circuitChanged: (tool, state) => void changes.push(`${tool} ${state}`) },
    now: () => clock.nowMs,
  });
  const begin = (tool: Tool, { input = {} }: Asked = {}): CircuitPass => breakers.begin(tool, input);
  const start = (tool: Tool, asked: Asked = {}): End => {
    const pass = begin(tool, asked);
    if (pass.kind === 'refused') throw new Error(`Refused for ${pass.retryAfterMs} ms.`);
    const { batch = {} } = asked;
    return (end, limit) => pass.ended(end, limit, asBatch(batch));
  };
  return {
    changes,
    clock,
    begin,
    start,
    refusal: (tool: Tool, input: Arguments = {}) => breakers.refusal(tool, input),
    list: breakers.list,
    close: breakers.close,
    /** Runs calls that end like this, one after the other, each of a batch of its own unless one is named. */
    run: async (tool: Tool, ends: readonly (keyof typeof ENDS)[], asked: Asked = {}): Promise<void> => {
      for (const end of ends) {
        start(tool, asked)(ENDS[end], 'own');
        await settled();
      }
    },
  };
};

/** When circuits have taken note of the ends that they were told. */
export const settled = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
