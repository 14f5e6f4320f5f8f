import { expect, onTestFinished } from 'vitest';
import * as z from 'zod';
import type { ToolResult } from '#src/contract/tool-result.ts';
import { defineTool } from '#src/tools/define-tool.ts';
import { RetryableToolError } from '#src/tools/tool-errors.ts';
import { type RunningService, startService } from './start-service.ts';
import { timeLimit } from './time-limit.ts';

/** Reconnecting waits up to a second between attempts, and a store that is away is asked again once a second. */
export const RECOVERY = { timeout: timeLimit(15_000), interval: 20 };

/** The whole service with a tool that fails and counts. Gone with its test. */
export type CountingService = {
  readonly service: RunningService;
  /**
   * One batch with one call of `failing`, which has three retries, in a session of its own unless one is named. No two
   * calls are the same.
   */
  readonly fail: (session?: string) => Promise<ToolResult>;
  /** How often the tool has run. */
  readonly runs: () => number;
  /** Resolves when a batch is counted in Redis; its result. */
  readonly served: (session?: string) => Promise<ToolResult>;
  /** Why the store failed how often, from the metrics. */
  readonly errors: () => Promise<Readonly<Record<string, number>>>;
  /** What `GET /ready` says. */
  readonly readiness: () => Promise<unknown>;
};

const ERRORS = /^recourse_session_store_errors_total\{.*reason="(\w+)".*\} (\d+)$/gm;

const readErrors = async (url: string): Promise<Readonly<Record<string, number>>> => {
  const text = await (await fetch(`${url}/metrics`)).text();
  const counts: Record<string, number> = {};
  for (const [, reason = '', count] of text.matchAll(ERRORS)) counts[reason] = (counts[reason] ?? 0) + Number(count);
  return counts;
};

const readReadiness = async (url: string): Promise<unknown> => {
  const answer = await fetch(`${url}/ready`);
  const body: unknown = await answer.json();
  return { status: answer.status, body };
};

/** Starts it with these settings. It may not have reached Redis yet. */
export const startCountingService = async (environment: Readonly<Record<string, string>>): Promise<CountingService> => {
  let ran = 0;
  const failing = defineTool({
    name: 'failing',
    description: 'Fails.',
    effects: 'read',
    retries: 3,
    input: z.object({ attempt: z.int() }),
    run: () => {
      ran += 1;
      // The model's fault, or so many failures would open the tool's breaker.
      throw new RetryableToolError('no');
    },
  });
  const service = await startService(environment, [failing]);
  onTestFinished(service.stop);
  let attempt = 0;
  const fail = async (session?: string): Promise<ToolResult> => {
    attempt += 1;
    const calls = [{ name: 'failing', arguments: { attempt } }];
    const [result] = await service.call(calls, { session_id: session ?? `own ${attempt}` });
    if (result === undefined) throw new Error('There is no result.');
    return result;
  };
  return {
    service,
    fail,
    runs: () => ran,
    served: async (session) => {
      // A call that finds Redis not reached yet is counted as well: not in the session that is looked at.
      if (session !== undefined) await servedBy(() => fail());
      return servedBy(() => fail(session));
    },
    errors: () => readErrors(service.url),
    readiness: () => readReadiness(service.url),
  };
};

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

const timed = async (act: () => Promise<unknown>): Promise<number> => {
  const startedAt = performance.now();
  await act();
  return performance.now() - startedAt;
};

/** What an outage adds to batches, in milliseconds. */
export type AddedLatency = {
  /** The slowest batch until one was counted outside Redis. */
  readonly first: number;
  /** Half of those after it were at most this much later than usual. */
  readonly later: number;
};

/** Breaks something between batches, one after the other, and tells how late they were. None may fail. */
export const measureOutage = async (
  { fail, served }: Pick<CountingService, 'fail' | 'served'>,
  breakIt: () => Promise<unknown>,
): Promise<AddedLatency> => {
  await served();
  const usual: number[] = [];
  for (let batch = 0; batch < 50; batch += 1) usual.push(await timed(fail));
  await breakIt();
  const first: number[] = [];
  // A server that is back between two batches has cost nothing.
  for (let mode = 'redis'; mode === 'redis' && first.length < 50; ) {
    const startedAt = performance.now();
    mode = (await fail()).retry?.mode ?? 'none';
    first.push(performance.now() - startedAt);
  }
  const later: number[] = [];
  for (let batch = 0; batch < 200; batch += 1) later.push(await timed(fail));
  return { first: Math.max(...first) - median(usual), later: median(later) - median(usual) };
};

/** The first result of a batch that was counted in Redis, after as many tries as that takes. */
export const servedBy = async (fail: () => Promise<ToolResult>): Promise<ToolResult> => {
  const counted: ToolResult[] = [];
  const isCounted = async (): Promise<boolean> => {
    const result = await fail();
    if (result.retry?.mode === 'redis') counted.push(result);
    return counted.length > 0;
  };
  await expect.poll(isCounted, RECOVERY).toBe(true);
  const [first] = counted;
  if (first === undefined) throw new Error('No batch was counted in Redis.');
  return first;
};
