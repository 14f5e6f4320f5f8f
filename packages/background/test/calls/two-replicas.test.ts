import { startHttpTarget } from '@recourse/test-support/http-target.ts';
import { redisForTests } from '@recourse/test-support/redis-server.ts';
import { startProcess } from '@recourse/test-support/start-process.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';

const Answer = z.object({
  results: z.array(z.object({ id: z.int(), outcome: z.literal('pending'), pending: z.object({ call: z.string() }) })),
});

const TOOL = `
  import { defineTool } from 'recourse-server';
  export const held = defineTool({
    name: 'held',
    description: 'Takes as long as its gate is shut.',
    effects: 'read',
    background: 'optional',
    input: { type: 'object', additionalProperties: true },
    run: async ({ gate }) => {
      await fetch(gate);
      return 'done';
    },
  });
`;

test('of the same call that forty batches of a session send at once, at two replicas, one runs', async () => {
  const redis = await redisForTests();
  onTestFinished(redis.stop);
  // Holds each run until the forty are answered: a run that ends before them answers the last ones with its result.
  const held: (() => void)[] = [];
  const gate = await startHttpTarget((response) => held.push(() => response.end()));
  const tools = makeDirectory({ 'held.ts': TOOL });
  const environment = { REDIS_URL: redis.url, TOOLS_DIR: tools.root };
  const replicas = await Promise.all([1, 2].map(() => startProcess({ by: 'node', environment })));
  const send = async (session: string, place: number) => {
    const url = replicas[place % 2]?.url;
    const answer = await fetch(`${url}/tool-calls`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', prefer: 'respond-async, wait=0' },
      body: JSON.stringify({
        session_id: session,
        calls: [{ id: place, name: 'held', arguments: { gate: gate.origin } }],
      }),
    });
    return Answer.parse(await answer.json()).results[0];
  };
  for (let round = 0; round < 5; round += 1) {
    const results = await Promise.all(Array.from({ length: 40 }, (_, place) => send(`s${round}`, place)));
    expect(new Set(results.map((result) => result?.pending.call)).size).toBe(1);
    expect(results.map((result) => result?.id)).toEqual(results.map((_, place) => place));
    await expect.poll(() => gate.requests, { timeout: timeLimit(10_000) }).toHaveLength(round + 1);
    for (const release of held.splice(0)) release();
  }
});

test('a call that one replica accepted is waited for, and read, at another', async () => {
  const redis = await redisForTests();
  onTestFinished(redis.stop);
  const runs: (() => void)[] = [];
  const gate = await startHttpTarget((response) => runs.push(() => response.end()));
  const tools = makeDirectory({ 'held.ts': TOOL });
  const environment = { REDIS_URL: redis.url, TOOLS_DIR: tools.root };
  const replicas = await Promise.all([1, 2].map(() => startProcess({ by: 'node', environment })));
  const [one, other] = replicas;
  if (one === undefined || other === undefined) throw new Error('There are two replicas.');
  const accepted = await fetch(`${one.url}/tool-calls`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', prefer: 'respond-async' },
    body: JSON.stringify({ calls: [{ id: 'a', name: 'held', arguments: { gate: gate.origin } }] }),
  });
  const first: unknown = await accepted.json();
  expect(first).toMatchObject({ results: [{ outcome: 'pending' }] });
  expect(accepted.status).toBe(202);
  // Only what this process keeps in its own memory is said to end with it.
  expect(JSON.stringify(first)).not.toContain('"mode":"memory"');
  await expect.poll(() => runs, { timeout: timeLimit(10_000) }).toHaveLength(1);
  const waiting = fetch(`${other.url}${accepted.headers.get('location')}?wait_ms=20000`);
  for (const release of runs) release();
  const waited = await waiting;
  expect(waited.status).toBe(200);
  expect(await waited.json()).toMatchObject({ results: [{ id: 'a', outcome: 'success', value: 'done' }] });
});
