import { startRedisServer } from '@recourse/test-support/redis-server.ts';
import { startService } from '@recourse/test-support/start-service.ts';
import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { ToolCallsResponse } from '#src/contract/tool-result.ts';
import { defineTool } from '#src/tools/define-tool.ts';

const create = (name: string, effects: 'read' | 'write', background: 'never' | 'optional' | 'always') =>
  defineTool({ name, description: 'Answers.', effects, background, input: z.object({}), run: () => name });

const TOOLS = [
  create('look', 'read', 'never'),
  create('order', 'write', 'never'),
  create('report', 'read', 'optional'),
  create('export', 'write', 'always'),
];

test('while Redis is away a request that may be answered early runs the calls that never run in the background', async () => {
  const redis = await startRedisServer();
  onTestFinished(redis.stop);
  await redis.kill();
  const service = await startService({ REDIS_URL: redis.url }, TOOLS);
  onTestFinished(service.stop);
  const send = async (headers: Readonly<Record<string, string>>, id?: string) => {
    const answer = await fetch(`${service.url}/tool-calls`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ wait_ms: 0, calls: TOOLS.map(({ name }) => ({ name, id })) }),
    });
    // It would lead nowhere.
    expect(answer.headers.get('location')).toBeNull();
    const { results } = ToolCallsResponse.parse(await answer.json());
    const seen = results.map(({ value, error, warnings = [] }) => [
      error?.code ?? value,
      ...warnings.map(({ code }) => code),
    ]);
    return [answer.status, ...seen];
  };
  expect(await send({})).toEqual([
    200,
    ['look', 'results_not_recorded'],
    ['order', 'results_not_recorded'],
    ['store_unavailable'],
    ['store_unavailable'],
  ]);
  expect(await send({ 'idempotency-key': 'key-1' })).toEqual([
    200,
    ['look', 'idempotency_not_kept'],
    ['store_unavailable'],
    ['store_unavailable'],
    ['store_unavailable'],
  ]);
  expect(await send({ 'idempotency-key': 'key-2' }, 'same')).toEqual([
    200,
    ['look', 'duplicate_id', 'idempotency_not_kept'],
    ['store_unavailable', 'duplicate_id'],
    ['store_unavailable', 'duplicate_id'],
    ['store_unavailable', 'duplicate_id'],
  ]);
});
