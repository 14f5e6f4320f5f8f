import { toolThat } from '@recourse/test-support/misbehaving-tools.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, vi } from 'vitest';
import type { ToolResult } from '#src/contract/tool-result.ts';
import type { Tool } from '#src/tools/tool.ts';

export const start = async (
  environment: Readonly<Record<string, string>>,
  tools: readonly Tool[],
): Promise<RunningService> => {
  const service = await startService(environment, tools);
  onTestFinished(async () => {
    expect(await service.metric('recourse_contract_violations_total')).toBe(0);
    await service.stop();
  });
  return service;
};

type Gated = {
  readonly tool: Tool;
  /** How many handlers have begun. */
  readonly begun: () => number;
  /** Ends the handler that has run longest. */
  readonly release: () => void;
};

/** A tool whose handlers end when the test says so. */
export const createGated = (name: string, rest: { readonly concurrency?: number } = {}): Gated => {
  const open: (() => void)[] = [];
  let begun = 0;
  const run = (): Promise<void> => {
    begun += 1;
    return new Promise((resolve) => open.push(resolve));
  };
  const release = (): void => open.shift()?.();
  onTestFinished(() => {
    for (const end of open) end();
  });
  return { tool: toolThat(name, run, rest), begun: () => begun, release };
};

export const toBody = (names: readonly string[], envelope: Readonly<Record<string, unknown>> = {}): string =>
  JSON.stringify({
    ...envelope,
    calls: names.map((name) => ({ name, arguments: name === 'echo' ? { text: 'x' } : {} })),
  });

export const until = (condition: () => unknown): Promise<unknown> =>
  vi.waitFor(async () => expect(await condition()).toBe(true), { timeout: timeLimit(10_000), interval: 10 });

export const whenQueued = (service: RunningService, count: number): Promise<unknown> =>
  until(async () => (await service.metric('recourse_calls_queued{pool="inline"}')) === count);

export const toFacts = ({ success, outcome, executed, message, error, retry }: ToolResult) => ({
  success,
  outcome,
  executed,
  message,
  code: error?.code,
  retry,
});

export const NO_SLOT = {
  success: false,
  outcome: 'refused',
  executed: 'no',
  message: "Not executed: no slot became free before the batch's deadline. Send fewer calls at once, or try later.",
  code: 'overloaded',
  retry: null,
};
