import { type McpLab, servers, startMcpLab } from '@recourse/test-support/mcp-servers/mcp-lab.ts';
import { ToolCallsResponse } from 'recourse-server/internal/contract/tool-result.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';

let lab: McpLab;
beforeAll(async () => {
  lab = await startMcpLab(servers.scripted(), { maxResultBytes: 1_048_576 });
});
afterAll(() => lab[Symbol.asyncDispose]());

test('text is the value of a call', async () => {
  expect(await lab.call('lab_echo', { text: 'hello' })).toMatchObject({
    success: true,
    executed: 'yes',
    value: 'hello',
  });
});

test('structured content is the value where there is some', async () => {
  expect(await lab.call('lab_structured')).toMatchObject({ success: true, value: { n: 1 }, message: '' });
});

test('an answer without content is an empty success', async () => {
  expect(await lab.call('lab_nothing')).toMatchObject({
    success: true,
    empty: true,
    value: null,
    message: 'The tool answered without content.',
  });
});

test('other parts are described in their order, and data is kept as far as it fits', async () => {
  const { value } = await lab.call('lab_parts');
  expect(value).toEqual({
    content: [
      { type: 'text', text: 'a picture' },
      { type: 'image', mimeType: 'image/png', uri: null, bytes: 5, data: 'aGVsbG8=' },
      { type: 'resource_link', mimeType: null, bytes: null, uri: 'file:///a.txt', name: 'a.txt' },
      { type: 'resource', mimeType: 'x/y', uri: 'file:///b.bin', bytes: 3_000_000 },
    ],
  });
});

test('parts beside structured content are its content, in plain base64, where it has none of its own', async () => {
  expect(await lab.call('lab_structured_parts')).toMatchObject({
    value: { n: 1, content: [{ type: 'image', mimeType: 'image/png', uri: null, bytes: 5, data: 'aGVsbG8=' }] },
    message: '',
  });
  expect(await lab.call('lab_structured_twice')).toMatchObject({
    value: {
      content: [
        { type: 'image', mimeType: 'image/png', data: 'aGVsbG8=' },
        { type: 'text', text: 'twice' },
      ],
    },
    message: '',
  });
  expect(await lab.call('lab_structured_otherwise')).toMatchObject({
    value: { content: 'of its own' },
    message: 'The answer has further parts that are not shown: image image/png.',
  });
});

test('isError is a failure that the model reads as the server wrote it', async () => {
  expect(await lab.call('lab_fail')).toMatchObject({
    success: false,
    outcome: 'retry',
    executed: 'yes',
    message: 'The disk is full. Delete something first.',
    error: { code: 'retry_requested' },
  });
});

test('isError of a write tool says that something may have happened', async () => {
  expect(await lab.call('lab_fail_writing')).toMatchObject({
    outcome: 'retry',
    executed: 'maybe',
    message: 'Half of it was written. This was attempt 1 of 2; one retry is left.',
    error: { code: 'retry_requested' },
  });
});

test('error -32602 asks for a better call, and never says of a write that nothing happened', async () => {
  expect(await lab.call('lab_bad_params')).toMatchObject({
    outcome: 'retry',
    message: 'The path must be absolute.',
    error: { code: 'retry_requested' },
  });
  expect(await lab.call('lab_bad_params_writing')).toMatchObject({ outcome: 'retry', executed: 'maybe' });
});

test('another protocol error ends the matter', async () => {
  expect(await lab.call('lab_odd_error')).toMatchObject({
    outcome: 'failed',
    message:
      "The MCP server 'lab' answered with error -32050: The moon is in the wrong phase. Use another tool, or say what could not be done.",
    error: { code: 'tool_failed' },
  });
});

test('arguments are checked before the server hears of them, against a schema of draft 07 too', async () => {
  expect(await lab.call('lab_echo', { text: 5 })).toMatchObject({
    executed: 'no',
    error: { code: 'invalid_arguments' },
  });
  expect(await lab.call('lab_echo', { text: 'a', pair: ['x', 1] })).toMatchObject({
    error: { code: 'invalid_arguments' },
  });
  expect(await lab.call('lab_echo', { text: 'a', pair: [1, 'x'] })).toMatchObject({ success: true });
  // Its tuples are shown in the words of the current draft.
  expect(lab.tool('lab_echo').inputSchema['$schema']).toBe('https://json-schema.org/draft/2020-12/schema');
});

test('progress of the server reaches whoever watches', async () => {
  const updates: unknown[] = [];
  const prepared = await lab.tool('lab_progress').prepare({});
  if (!prepared.ok) throw new Error('refused');
  const nothing = () => undefined;
  await prepared.invocation.run({
    signal: new AbortController().signal,
    session: null,
    callId: null,
    log: { debug: nothing, info: nothing, warn: nothing, error: nothing },
    progress: (update) => void updates.push(update),
    part: () => undefined,
    effects: 'read',
    retriesLeft: 0,
    timeoutMs: 30_000,
    isLastAttempt: true,
    idempotencyKey: 'k#0',
    effectId: 'e_0123456789abcdefghijkl',
    traceparent: null,
    tenant: null,
    caller: null,
  });
  expect(updates).toEqual([1, 2, 3].map((progress) => ({ progress, total: 3, message: undefined })));
});

test('the key of a repeated call goes to the server', async () => {
  const service = await lab.service();
  const answer = await fetch(`${service.url}/tool-calls`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'idempotency-key': 'a-key-of-16-signs',
      traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
    },
    body: JSON.stringify({ calls: [{ id: 'a', name: 'lab_meta' }] }),
  });
  const { results } = ToolCallsResponse.parse(await answer.json());
  const meta = JSON.parse(String(results[0]?.value));
  expect(meta['recourse/idempotency_key']).toBe('a-key-of-16-signs#0');
  expect(meta['progressToken']).toEqual(expect.any(Number));
});

test('only the basics of the environment reach a server', async () => {
  const { value } = await lab.call('lab_environment');
  const names = String(value).split(',');
  expect(names).toContain('PATH');
  expect(names.filter((name) => /VITEST|NODE_COMPILE_CACHE|TEST/.test(name))).toEqual([]);
});

test('effects come from the annotations, and what is not declared is a write', () => {
  const effects = Object.fromEntries(lab.latest().tools.map(({ name, effects: effect }) => [name, effect]));
  expect(effects).toMatchObject({ lab_echo: 'read', lab_set: 'idempotent', lab_count_and_wait: 'write' });
});

test('names are made fit, and two tools that come to one name are both unavailable', () => {
  const names = lab.latest().tools.map(({ name }) => name);
  expect(names).toContain('lab_two_words');
  expect(names.filter((name) => name.startsWith('lab_xx'))).toEqual([`lab_${'x'.repeat(51)}_${'c08cb880'}`]);
  expect(lab.latest().unavailable.map(({ facts, reason }) => [facts.name, reason])).toEqual([
    ['lab_same_name', "the server's tools 'same/name' and 'same name' map to the same name"],
    ['lab_same_name', "the server's tools 'same/name' and 'same name' map to the same name"],
    [
      'lab_broken',
      "it cannot be declared: Tool 'lab_broken': input is not a usable schema. can't resolve reference #/nowhere from id #",
    ],
    ['lab_wrong_header', "its x-mcp-header is not valid: at 'a' the type is not string, integer or boolean"],
  ]);
});

test('a tool that its server does not know any more asks for another one, and the list is read again', async () => {
  const other = await startMcpLab(servers.scripted(), { timing: { refreshGapMs: 0 } });
  await using _end = other;
  await other.call('lab_forget_silently');
  expect(await other.call('lab_echo', { text: 'a' })).toMatchObject({
    outcome: 'retry',
    message:
      "The MCP server 'lab' no longer has the tool 'echo'. The list of tools was reloaded: use one of the tools available now.",
  });
  expect(other.latest().tools.map(({ name }) => name)).not.toContain('lab_echo');
});

test('a text of digits reaches a server that asks for an integer as bare digits, on stdio, and a default is filled in beside it', async () => {
  const { value } = await lab.call('lab_spelled', { id: '8123456789012345679', rows: [{ id: '-9007199254740993' }] });
  expect(value).toContain('"arguments":{"id":8123456789012345679,"rows":[{"id":-9007199254740993,"n":5}]}');
  expect(await lab.call('lab_spelled', { id: '12' })).toMatchObject({
    message: expect.stringContaining('id: expected an integer, got the string "12"'),
    error: { code: 'invalid_arguments' },
  });
});

test('a number that lost digits is refused with the advice to send a text, which works', async () => {
  expect((await lab.call('lab_spelled', { id: 2 ** 60 })).message).toContain('exactly: send it as a string.');
  expect((await lab.call('lab_spelled', { id: String(2n ** 60n) })).value).toContain('{"id":1152921504606846976}');
});
