import { toKeyEntry } from '@recourse/test-support/access-client.ts';
import { assistant, bodyOf, chatCall, postTurn, TurnAnswer } from '@recourse/test-support/dialect-client.ts';
import { createActor, freshName, startLab } from '@recourse/test-support/keyed-client.ts';
import { type RedisForTests, redisForTests } from '@recourse/test-support/redis-server.ts';
import { startService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { defineTool } from '#src/tools/define-tool.ts';

let redis: RedisForTests;
beforeAll(async () => {
  redis = await redisForTests();
});
afterAll(() => redis.stop());

const WRITE = { effects: 'write' } as const;
const TURN = assistant(chatCall('c', 'lab_poke_it', { n: 1, at: null }));
const NATIVE = { calls: [{ id: 'c', name: 'lab_poke.it', arguments: { n: 1, at: null } }] };

/** The tool as a replica knows it that was started with another version of its server. */
const CHANGED = {
  tool: defineTool({
    name: 'lab_poke.it',
    description: 'Pokes it.',
    effects: 'write',
    input: z.strictObject({ n: z.number(), at: z.string().optional() }),
    run: () => 'poked anew',
  }),
};

test('a repeated turn gets its stored answer from a replica that lacks the tool', async () => {
  const actor = createActor('lab_poke.it', WRITE);
  const one = await startLab([actor], { REDIS_URL: redis.url });
  const two = await startLab([], { REDIS_URL: redis.url });
  const headers = { 'idempotency-key': freshName() };
  const first = TurnAnswer.parse(bodyOf(await postTurn(one.service, TURN, '', headers)));
  expect(first.results).toMatchObject([{ name: 'lab_poke_it', value: { n: 1 } }]);
  for (const { service } of [one, two]) {
    const again = TurnAnswer.parse(bodyOf(await postTurn(service, TURN, '', headers)));
    expect(again.results).toMatchObject([{ name: 'lab_poke_it', value: { n: 1 }, replayed: true }]);
    expect(again.messages).toEqual(first.messages);
    expect(bodyOf(await postTurn(service, NATIVE, '', headers))).toMatchObject({
      results: [{ name: 'lab_poke.it', value: { n: 1 }, replayed: true }],
    });
  }
  expect(actor.asked).toHaveLength(1);
});

test('so it does from one whose tool has another schema', async () => {
  const actor = createActor('lab_poke.it', WRITE);
  const one = await startLab([actor], { REDIS_URL: redis.url });
  const two = await startLab([CHANGED], { REDIS_URL: redis.url });
  const headers = { 'idempotency-key': freshName() };
  await postTurn(one.service, TURN, '', headers);
  expect(bodyOf(await postTurn(two.service, TURN, '', headers))).toMatchObject({
    results: [{ name: 'lab_poke_it', value: { n: 1 }, replayed: true }],
  });
});

test('what ran late is kept for the name that it is asked by again', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const actor = createActor('lab_poke.it', { ...WRITE, timeoutMs: 50 }, async () => {
    await promise;
    return 'poked in the end';
  });
  const { service } = await startLab([actor], {});
  const requestId = `a-turn-${freshName()}`;
  const headers = { 'idempotency-key': freshName(), 'x-request-id': requestId };
  const first = TurnAnswer.parse(bodyOf(await postTurn(service, TURN, '', headers)));
  expect(first.results).toMatchObject([{ name: 'lab_poke_it', error: { code: 'timeout' } }]);
  resolve();
  const again = async () => TurnAnswer.parse(bodyOf(await postTurn(service, TURN, '', headers))).results;
  await expect
    .poll(again, { timeout: timeLimit(15_000) })
    .toMatchObject([{ name: 'lab_poke_it', value: 'poked in the end', replayed: true }]);
  // Kept by the name that rights go by.
  expect(await (await fetch(`${service.url}/tool-calls/${requestId}`)).json()).toMatchObject({
    results: [{ name: 'lab_poke.it', value: 'poked in the end' }],
  });
});

test('a stored answer is for keys that may use the tool that gave it, also where that has gone', async () => {
  const API_KEYS = [
    toKeyEntry('acme', 'full'),
    toKeyEntry('acme', 'exact', 'tools=lab_poke.*'),
    toKeyEntry('acme', 'other', 'tools=lab_poke_*'),
  ].join();
  const environment = { API_KEYS, REDIS_URL: redis.url };
  const one = await startService(environment, [createActor('lab_poke.it', WRITE).tool]);
  const two = await startService(environment, []);
  // A key that may use another tool of the same portable name learns nothing of this one.
  const three = await startService(environment, [createActor('lab_poke_it', WRITE).tool]);
  onTestFinished(async () => void (await Promise.all([one.stop(), two.stop(), three.stop()])));
  const sent = { 'idempotency-key': freshName(), 'x-request-id': `a-turn-${freshName()}` };
  const ask = async (service: { readonly url: string }, key: string, body: unknown) => {
    const answer = await postTurn(service, body, '', { ...sent, 'x-api-key': key });
    const { results } = z.object({ results: z.array(Answered) }).parse(bodyOf(answer));
    return results.map(({ error, replayed }) => [error?.code ?? 'ok', replayed ?? false]);
  };
  expect(await ask(one, 'full', TURN)).toEqual([['ok', false]]);
  for (const body of [TURN, NATIVE]) {
    expect(await ask(two, 'exact', body)).toEqual([['ok', true]]);
    expect(await ask(two, 'other', body)).toEqual([['unknown_tool', false]]);
  }
  expect(await ask(three, 'other', TURN)).toEqual([['not_authorized', false]]);
  const look = async (key: string) => {
    const answer = await fetch(`${two.url}/tool-calls/${sent['x-request-id']}`, { headers: { 'x-api-key': key } });
    return answer.status;
  };
  expect(await Promise.all(['full', 'exact', 'other'].map(look))).toEqual([200, 200, 404]);
});

const Answered = z.object({
  error: z.object({ code: z.string() }).nullable(),
  replayed: z.literal(true).optional(),
});
