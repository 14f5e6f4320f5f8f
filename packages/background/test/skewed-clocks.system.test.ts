import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { freshName } from '@recourse/test-support/keyed-client.ts';
import { createPendingClient } from '@recourse/test-support/pending-client.ts';
import { startRedisServer } from '@recourse/test-support/redis-server.ts';
import { ROOT, startProcess } from '@recourse/test-support/start-process.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';

// Replicas whose machines disagree about the time by an hour each: all that ends does so by the clock of the store.

const HOUR_MS = 3_600_000;

const toTools = (ledger: string): string => `
  import { appendFileSync } from 'node:fs';
  import { setTimeout as pause } from 'node:timers/promises';
  import { defineTool, z } from 'recourse-server';
  const make = (name, rest, run) =>
    defineTool({ name, description: 'Writes a line.', effects: 'write', background: 'always', input: z.object({ line: z.string() }), run, ...rest });
  const write = ({ line }) => {
    appendFileSync(${JSON.stringify(ledger)}, line + '\\n');
    return line;
  };
  export const writeLine = make('write_line', { maxDurationMs: 60_000 }, write);
  export const endless = make('endless', { maxDurationMs: 1000, effects: 'read' }, (_input, { signal }) => pause(600_000, 'late', { signal }));
`;

const startReplicas = async () => {
  const redis = await startRedisServer();
  onTestFinished(redis.stop);
  const ledger = join(makeDirectory({ ledger: '' }).root, 'ledger');
  const tools = makeDirectory({ 'tools.ts': toTools(ledger) });
  const start = (role: 'api' | 'all', shiftMs: number) =>
    startProcess({
      by: 'node',
      environment: {
        REDIS_URL: redis.url,
        TOOLS_DIR: tools.root,
        ROLE: role,
        CLOCK_SHIFT_MS: String(shiftMs),
        NODE_OPTIONS: `--import ${join(ROOT, 'test/support/shifted-clock.ts')}`,
      },
    });
  // Whoever accepts a call, a worker with another clock runs it.
  const replicas = await Promise.all([start('api', 0), start('all', HOUR_MS), start('all', -HOUR_MS)]);
  return {
    replicas: replicas.map(({ url }) => createPendingClient(url)),
    lines: () => readFileSync(ledger, 'utf8').split('\n').filter(Boolean),
  };
};

const CALLS_OF_EACH = 6;

test('calls that one replica accepts run at, and are told by, others whose clocks are an hour ahead or behind', {
  timeout: timeLimit(90_000),
}, async () => {
  const { replicas, lines } = await startReplicas();
  const names = replicas.map(() => Array.from({ length: CALLS_OF_EACH }, freshName));
  const accepted = await Promise.all(
    replicas.flatMap(({ begin }, place) =>
      (names[place] ?? []).map(async (line) => {
        const key = { 'idempotency-key': freshName() };
        const body = { calls: [{ name: 'write_line', arguments: { line } }] };
        const { requestId } = await begin(body, { headers: key });
        return { line, key, body, requestId };
      }),
    ),
  );
  for (const { line, key, body, requestId } of accepted)
    for (const { finish, begin } of replicas) {
      expect((await finish(requestId)).results).toMatchObject([{ outcome: 'success', value: line }]);
      expect((await begin(body, { headers: key })).results).toMatchObject([{ value: line, replayed: true }]);
    }
  expect(lines().toSorted()).toEqual(names.flat().toSorted());
});

test('a call ends when its time is over by the clock of the store, whoever accepted it', {
  timeout: timeLimit(60_000),
}, async () => {
  const { replicas } = await startReplicas();
  const endAt = async ({ begin, finish }: (typeof replicas)[number]) => {
    const { requestId } = await begin({ calls: [{ name: 'endless', arguments: { line: freshName() } }] });
    return finish(requestId);
  };
  for (const answer of await Promise.all(replicas.map(endAt)))
    expect(answer).toMatchObject({ state: 'done', results: [{ error: { code: 'timeout' } }] });
});
