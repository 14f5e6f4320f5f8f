import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { assistant, bodyOf, chatCall, postTurn, TurnAnswer } from '@recourse/test-support/dialect-client.ts';
import { createActor, freshName } from '@recourse/test-support/keyed-client.ts';
import { startService } from '@recourse/test-support/start-service.ts';
import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';

const EXAMPLES = join(import.meta.dirname, '../../openapi/examples/formats');
const Golden = z.looseObject({ request: z.unknown() });

const FORMATS = globSync('*', { cwd: EXAMPLES }).sort();

const start = async () => {
  const actor = createActor('act', { effects: 'write' });
  const service = await startService({}, [actor.tool]);
  onTestFinished(service.stop);
  return { actor, service };
};

test('a message of any provider that is sent again runs once, with nothing but two parameters', async () => {
  const { actor, service } = await start();
  expect(FORMATS).toHaveLength(13);
  const ran: [string, readonly (string | undefined)[]][] = [];
  for (const format of FORMATS) {
    const text = readFileSync(join(EXAMPLES, format, 'one-call.json'), 'utf8').replaceAll('"echo"', '"act"');
    const { request } = Golden.parse(JSON.parse(text));
    const query = `?format=${format}&session_id=${freshName()}&idempotency=call_id`;
    const before = actor.asked.length;
    const first = TurnAnswer.parse(bodyOf(await postTurn(service, request, query)));
    const again = TurnAnswer.parse(bodyOf(await postTurn(service, request, query)));
    const codes = [...first.results, ...again.results].map(({ error, replayed }) => error?.code ?? String(replayed));
    expect(again.messages).toEqual(first.messages);
    expect(actor.asked.length - before).toBe(codes[0] === 'undefined' ? 1 : 0);
    ran.push([format, codes]);
  }
  // Gemini's API gives no ids unless it is asked for them.
  expect(ran).toEqual(
    FORMATS.map((format) => [format, format === 'gemini' ? Array(2).fill('invalid_call') : ['undefined', 'true']]),
  );
});

test('a call is the same in any format, and a repeated raw answer is the same messages', async () => {
  const { actor, service } = await start();
  const query = `session_id=${freshName()}&idempotency=call_id`;
  const turn = assistant(chatCall('call_a', 'act', { n: 1 }));
  const raw = bodyOf(await postTurn(service, turn, `?raw=true&${query}`));
  expect(bodyOf(await postTurn(service, turn, `?raw=true&${query}`))).toEqual(raw);
  const message = { role: 'assistant', content: [{ type: 'tool_use', id: 'call_a', name: 'act', input: { n: 1 } }] };
  const anthropic = TurnAnswer.parse(bodyOf(await postTurn(service, message, `?${query}`)));
  expect(anthropic.results.map(({ value, replayed }) => [value, replayed])).toEqual([[{ n: 1 }, true]]);
  expect(actor.asked).toEqual([{ n: 1 }]);
});

test('a streamed batch tells a result by its id, run or replayed, as its body would', async () => {
  const { actor, service } = await start();
  const query = `?session_id=${freshName()}&idempotency=call_id`;
  const body = { calls: [{ id: 'a', name: 'act', arguments: { n: 1 } }] };
  const Line = z.looseObject({
    event: z.string(),
    data: z.looseObject({ id: z.string().optional(), replayed: z.boolean().optional() }),
  });
  const stream = async () => {
    const answer = await postTurn(service, body, query, { accept: 'application/x-ndjson' });
    const lines = answer.body
      .trim()
      .split('\n')
      .map((line) => Line.parse(JSON.parse(line)));
    return lines.flatMap(({ event, data }) => (event === 'result' ? [[data.id, data.replayed]] : []));
  };
  expect(await stream()).toEqual([['a', undefined]]);
  expect(await stream()).toEqual([['a', true]]);
  expect(actor.asked).toHaveLength(1);
});
