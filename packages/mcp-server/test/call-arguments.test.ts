import { post, postModern } from '@recourse/test-support/mcp-clients.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';

let service: RunningService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

test('arguments that no schema should see are the result of their call alone', async () => {
  const { url } = service;
  const call = (id: number, args: string): string =>
    `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"echo","arguments":${args}}}`;
  const deep = `${'{"a":'.repeat(200)}1${'}'.repeat(200)}`;
  const bodies = [
    call(1, '{"text":"x","__proto__":{"y":1}}'),
    call(2, deep),
    call(3, '{"text":12345678901234567890123}'),
  ];

  const answers = await Promise.all(
    [...bodies, call(4, '{"text":"fine"}')].map((body) =>
      fetch(`${url}/mcp`, { method: 'POST', headers: { 'content-type': 'application/json' }, body }),
    ),
  );
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  const text = (await Promise.all(answers.map((answer) => answer.text()))).join('\n');
  expect(text.match(/"isError":true/g)).toHaveLength(3);
  expect(text.match(/"code":"invalid_arguments","type"/g)).toHaveLength(3);
  expect(text).toContain('12345678901234567890123');
  expect(text).toContain('"structuredContent":{"text":"fine"}');
});

test.each([{}, { name: 7 }, { arguments: [1] }])(
  'what is no call of the protocol is an error of the protocol: %j',
  async (params) => {
    const { url } = service;

    const answer = await post(url, { jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    expect(answer).toMatchObject({ status: 200, messages: [{ id: 1, error: { code: -32602 } }] });
  },
);

test.each([
  [[1], 'must be a JSON object, got an array'],
  ['no JSON', 'are not valid JSON'],
  ['[1]', 'must be a JSON object'],
  [7, 'must be a JSON object'],
  [true, 'must be a JSON object'],
  [null, "Required parameter 'text' missing"],
])('arguments that are no object are judged as anywhere, and not by the protocol: %j', async (args, problem) => {
  const { url } = service;
  const params = { name: 'echo', arguments: args };

  const legacy = await post(url, { jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  const modern = await postModern(url, 'tools/call', params);
  for (const { status, messages } of [legacy, modern])
    expect({ status, messages }).toMatchObject({
      status: 200,
      messages: [
        {
          id: 1,
          result: {
            isError: true,
            content: [{ text: expect.stringContaining(problem) }],
            _meta: { 'recourse/result': { code: 'invalid_arguments', executed: 'no' } },
          },
        },
      ],
    });
});

test('a JSON text of an object is arguments, as with POST /tool-calls', async () => {
  const { url } = service;
  const call = (id: number | string, args: unknown) => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name: 'echo', arguments: args },
  });

  const calls = [call(1, '{"text":"one"}'), call('1', { text: 'two' }), call(2, [])];
  const answers = await Promise.all(calls.map((one) => post(url, one)));
  const messages = answers.flatMap((answer) => answer.messages);
  expect(messages.map(({ id, result }) => [id, result])).toMatchObject(
    expect.arrayContaining([
      [1, expect.objectContaining({ isError: false, structuredContent: { text: 'one' } })],
      ['1', expect.objectContaining({ isError: false, structuredContent: { text: 'two' } })],
      [2, expect.objectContaining({ isError: true })],
    ]),
  );
});
