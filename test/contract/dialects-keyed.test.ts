import { expectProblem } from '@recourse/test-support/check-answer.ts';
import { assistant, bodyOf, chatCall, postTurn, TurnAnswer } from '@recourse/test-support/dialect-client.ts';
import { createActor, freshName } from '@recourse/test-support/keyed-client.ts';
import { startService } from '@recourse/test-support/start-service.ts';
import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';

const start = async () => {
  const actor = createActor('act', { effects: 'write' });
  const service = await startService({}, [actor.tool]);
  onTestFinished(service.stop);
  return { actor, service };
};

const TURN = assistant(chatCall('call_a', 'act', { n: 1 }), chatCall('call_b', 'act', { n: 2 }));

test('a turn sent again with its key is answered with the same messages, raw or not, and runs once', async () => {
  const { actor, service } = await start();
  const headers = { 'idempotency-key': freshName() };
  const first = TurnAnswer.parse(bodyOf(await postTurn(service, TURN, '', headers)));
  const again = await postTurn(service, TURN, '', headers);
  const raw = await postTurn(service, TURN, '?raw=true', headers);
  expect(actor.asked).toEqual([{ n: 1 }, { n: 2 }]);
  expect(first.messages).toEqual([
    { role: 'tool', tool_call_id: 'call_a', content: expect.stringMatching(/^\{"n":1\}/) },
    { role: 'tool', tool_call_id: 'call_b', content: expect.stringMatching(/^\{"n":2\}/) },
  ]);
  const replayed = TurnAnswer.parse(bodyOf(again));
  expect(replayed.results.map((result) => result.replayed)).toEqual([true, true]);
  expect(replayed.messages).toEqual(first.messages);
  expect(bodyOf(raw)).toEqual(first.messages);
  expect([again, raw].map((answer) => answer.headers.get('idempotent-replayed'))).toEqual(['true', 'true']);
});

test('the results of a turn are kept under its request id like those of any batch', async () => {
  const { service } = await start();
  const headers = { 'idempotency-key': freshName(), 'x-request-id': 'a-turn-of-the-test' };
  const first = TurnAnswer.parse(bodyOf(await postTurn(service, TURN, '', headers)));
  const kept: unknown = await (await fetch(`${service.url}/tool-calls/a-turn-of-the-test`)).json();
  const withoutMarks = z.looseObject({ results: z.array(z.looseObject({ id: z.string(), value: z.unknown() })) });
  expect(withoutMarks.parse(kept).results.map(({ id, value }) => [id, value])).toEqual(
    first.results.map(({ id, value }) => [id, value]),
  );
});

test('another turn with the same key, and the same one while it runs, are problems', async () => {
  const { actor, service } = await start();
  const headers = { 'idempotency-key': freshName() };
  const { promise, resolve } = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  actor.act(async () => {
    begun.resolve();
    await promise;
    return 'done';
  });
  const first = postTurn(service, TURN, '', headers);
  await begun.promise;
  const meanwhile = await postTurn(service, TURN, '?raw=true', headers);
  expect([meanwhile.status, meanwhile.headers.get('content-type')]).toEqual([
    409,
    'application/problem+json; charset=utf-8',
  ]);
  resolve();
  expect((await first).status).toBe(200);
  expectProblem(await postTurn(service, assistant(chatCall('call_a', 'act', { n: 3 })), '?raw=true', headers), {
    status: 422,
    title: 'Unprocessable Entity',
    code: 'idempotency_key_reused',
    detail:
      'This Idempotency-Key was already used with a different body. Nothing has run; use a new key for a new batch.',
  });
});

test('the native envelope with the same calls is the same batch', async () => {
  const { actor, service } = await start();
  const headers = { 'idempotency-key': freshName() };
  await postTurn(service, TURN, '', headers);
  const calls = [
    { id: 'call_a', name: 'act', arguments: { n: 1 } },
    { id: 'call_b', name: 'act', arguments: { n: 2 } },
  ];
  const native = await postTurn(service, { calls }, '', headers);
  expect([native.status, native.headers.get('idempotent-replayed')]).toEqual([200, 'true']);
  expect(actor.asked).toHaveLength(2);
});
