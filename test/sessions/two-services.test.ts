import { statSync } from 'node:fs';
import { join } from 'node:path';
import { redisForTests } from '@recourse/test-support/redis-server.ts';
import { startProcess } from '@recourse/test-support/start-process.ts';
import { callService } from '@recourse/test-support/start-service.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { expect, onTestFinished, test } from 'vitest';
import type { ToolResult } from '#src/contract/tool-result.ts';

/** A tool that leaves one byte behind each time it runs, in whatever process, and fails by the model's fault. */
const toToolFile = (count: string): string => `
  import { appendFileSync } from 'node:fs';
  import { setTimeout as pause } from 'node:timers/promises';
  import { defineTool, RetryableToolError } from 'recourse-server';
  export const failing = defineTool({
    name: 'failing',
    description: 'Fails, a little later.',
    effects: 'read',
    retries: 3,
    input: { type: 'object', additionalProperties: true },
    run: async () => {
      appendFileSync(${JSON.stringify(count)}, '.');
      await pause(5);
      throw new RetryableToolError('no');
    },
  });
`;

const startReplicas = async () => {
  const redis = await redisForTests();
  onTestFinished(redis.stop);
  const [desk, tools] = [makeDirectory({ count: '' }), makeDirectory()];
  const count = join(desk.root, 'count');
  tools.write('failing.ts', toToolFile(count));
  const environment = { REDIS_URL: redis.url, TOOLS_DIR: tools.root, TOOL_HOSTS_MAX: '4', LOG_LEVEL: 'info' };
  const replicas = await Promise.all([1, 2].map(() => startProcess({ by: 'node', environment })));
  let attempt = 0;
  const fail = async (url: string, session: string): Promise<ToolResult> => {
    // Never the same call twice: that would be a loop, and the budget is not asked.
    attempt += 1;
    const calls = [{ name: 'failing', arguments: { attempt } }];
    const [result] = await callService(url, calls, { session_id: session });
    if (result === undefined) throw new Error('There is no result.');
    return result;
  };
  return { urls: replicas.map(({ url }) => url), fail, ran: () => statSync(count).size };
};

test('two processes on one Redis share one budget: of fifty failing batches at once exactly three run', async () => {
  const { urls, fail, ran } = await startReplicas();
  const burst = async (session: string) => {
    const before = ran();
    const results: ToolResult[] = [];
    for (const url of urls.slice(0, 1)) results.push(await fail(url, session));
    const batches = Array.from({ length: 25 }, () => urls.map((url) => fail(url, session))).flat();
    results.push(...(await Promise.all(batches)));
    for (const url of urls) results.push(await fail(url, session));
    return { results, ran: ran() - before };
  };
  const play = (time: number) => burst(`burst ${process.pid} ${time}`);
  let played = await play(0);
  // Where Redis got no processor for 50 ms a process counted by itself, which is another story: play again.
  for (let time = 1; time <= 20 && played.results.some(({ retry }) => retry?.mode !== 'redis'); time += 1)
    played = await play(time);
  const { results } = played;
  expect(new Set(results.map(({ retry }) => retry?.mode))).toEqual(new Set(['redis']));
  expect(played.ran).toBe(1 + 3);
  const codes = results.map(({ error }) => error?.code);
  expect(codes.filter((code) => code === 'retry_requested')).toHaveLength(1 + 3);
  expect(codes.filter((code) => code === 'retry_budget_exhausted')).toHaveLength(47 + 2);
  const last = results.at(-1);
  expect(last).toMatchObject({ outcome: 'refused', retry: { allowed: false, used: 3, remaining: 0 } });
  expect(last?.message).toMatch(/^Tool 'failing' failed 4 times in a row and is blocked for this session\./);
});
