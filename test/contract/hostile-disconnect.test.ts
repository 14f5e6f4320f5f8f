import { expectResults } from '@recourse/test-support/check-answer.ts';
import { openConnection, sendRaw, toPostText } from '@recourse/test-support/raw-http.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { defineTool } from '#src/tools/define-tool.ts';
import type { Tool } from '#src/tools/tool.ts';

const rejections: unknown[] = [];
const onRejection = (reason: unknown): void => void rejections.push(reason);

beforeEach(() => {
  process.on('unhandledRejection', onRejection);
});

afterEach(() => {
  process.off('unhandledRejection', onRejection);
  expect(rejections).toEqual([]);
});

/** Tools that tell when they start and how they end, and a write that ends when it is let go. */
const createWatchedTools = () => {
  const events: string[] = [];
  const release = Promise.withResolvers<void>();
  const watched = (name: string, effects: 'read' | 'write', run: (signal: AbortSignal) => unknown): Tool =>
    defineTool({ name, description: 'Watched.', effects, input: z.object({}), run: (_, { signal }) => run(signal) });
  const tools = [
    watched('read_slowly', 'read', (signal) => {
      events.push('read started');
      return new Promise((_resolve, reject) =>
        signal.addEventListener('abort', () => {
          events.push(`read aborted: ${signal.reason.name}`);
          reject(signal.reason);
        }),
      );
    }),
    watched('write_slowly', 'write', async (signal) => {
      events.push('write started');
      await release.promise;
      events.push(signal.aborted ? 'write aborted' : 'write ended');
      return 'written';
    }),
    watched('read_later', 'read', () => events.push('read later')),
  ];
  return { events, tools, release: release.resolve };
};

const start = async (tools: readonly Tool[]): Promise<RunningService> => {
  const service = await startService({ BATCH_CONCURRENCY: '2' }, tools);
  onTestFinished(service.stop);
  return service;
};

const BATCH = JSON.stringify({
  calls: [{ name: 'read_slowly' }, { name: 'write_slowly' }, { name: 'read_later' }, { name: 'read_later' }],
});

const batchLineOf = (service: RunningService) => service.logLines().find(({ msg }) => msg === 'batch');

test('the client goes away: reads are aborted, writes run to their end, the rest never starts', async () => {
  const { events, tools, release } = createWatchedTools();
  const service = await start(tools);
  const connection = await openConnection(service.port);
  connection.write(toPostText(BATCH));
  await expect.poll(() => events).toEqual(['read started', 'write started']);
  connection.destroy();
  await expect.poll(() => events).toContain('read aborted: AbortError');
  expect(batchLineOf(service)).toBeUndefined();
  release();
  await expect.poll(() => batchLineOf(service)).toMatchObject({ calls: 4, failed: 3 });
  expect(events).toEqual(['read started', 'write started', 'read aborted: AbortError', 'write ended']);
  const failures = service.logLines().filter(({ msg }) => msg === 'tool call failed');
  expect(failures.map(({ tool, code, outcome, executed }) => [tool, code, outcome, executed])).toEqual([
    ['read_slowly', 'cancelled', 'retry', 'maybe'],
    ['read_later', 'cancelled', 'refused', 'no'],
  ]);
  expect(
    await service.metric(
      'recourse_tool_calls_total{tool="read_later",outcome="refused",code="cancelled",fault="caller"}',
    ),
  ).toBe(2);
  expect(await service.metric('recourse_contract_violations_total')).toBe(0);
  expect(await service.metric('recourse_calls_in_flight{pool="inline"}')).toBe(0);
  expectResults(await sendRaw(service.port, toPostText('{"calls":[{"name":"echo","arguments":{"text":"x"}}]}')), 1);
});

test('a client that ends only its side is gone too: Node closes the connection, nothing is left running', async () => {
  const { events, tools, release } = createWatchedTools();
  const service = await start(tools);
  using connection = await openConnection(service.port);
  connection.write(toPostText(BATCH));
  await expect.poll(() => events).toHaveLength(2);
  connection.finish();
  await expect.poll(() => events).toContain('read aborted: AbortError');
  release();
  await expect.poll(() => batchLineOf(service)).toMatchObject({ calls: 4, failed: 3 });
  expect(events).not.toContain('read later');
});

test('clients that go away in the middle of a body leave nothing behind', async () => {
  const { events, tools } = createWatchedTools();
  const service = await start(tools);
  for (let client = 0; client < 20; client += 1) {
    const connection = await openConnection(service.port);
    connection.write(toPostText(BATCH).slice(0, -1 - client));
    connection.destroy();
  }
  expectResults(await sendRaw(service.port, toPostText('{"calls":[{"name":"echo","arguments":{"text":"x"}}]}')), 1);
  expect(events).toEqual([]);
});

test('a check of the output that fails after its call has ended is no rejection that nobody handles', async () => {
  const release = Promise.withResolvers<void>();
  const failed = Promise.withResolvers<void>();
  const output = z.unknown().refine(async () => {
    await release.promise;
    setImmediate(failed.resolve);
    throw new Error('The check cannot go on.');
  });
  const tool = defineTool({
    name: 'checks_slowly',
    description: '',
    effects: 'read',
    input: z.object({}),
    output,
    timeoutMs: 50,
    run: () => 1,
  });
  const service = await start([tool]);
  const [result] = expectResults(await sendRaw(service.port, toPostText('{"calls":[{"name":"checks_slowly"}]}')), 1);
  expect(result).toMatchObject({ success: false, executed: 'maybe', error: { code: 'timeout' } });
  release.resolve();
  await failed.promise;
});
