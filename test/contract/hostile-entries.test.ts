import { answerAmongGood, answerOne } from '@recourse/test-support/check-answer.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { defineTool } from '#src/tools/define-tool.ts';

const ran: unknown[] = [];

const count = defineTool({
  name: 'count',
  description: 'Counts how often it ran.',
  effects: 'write',
  input: z.looseObject({}),
  run: (input) => ran.push(input),
});

const inherited = defineTool({
  name: 'toString',
  description: 'Is called like a method of every object.',
  effects: 'read',
  input: z.object({}),
  run: () => 'really registered',
});

let service: RunningService;

beforeAll(async () => {
  service = await startService({}, [count, inherited]);
});

afterAll(async () => {
  expect(await service.metric('recourse_contract_violations_total')).toBe(0);
  await service.stop();
});

const CALL = 'Send each call as an object such as {"id": "call_1", "name": "echo", "arguments": {}}.';

test.each([
  ['42', 'The call is not an object.'],
  ['null', 'The call is not an object.'],
  ['"echo"', 'The call is not an object.'],
  ['true', 'The call is not an object.'],
  ['[]', 'The call is not an object.'],
  ['[{"name":"echo"}]', 'The call is not an object.'],
  ['{}', 'The call has no name.'],
  ['{"name":null}', 'The call has no name.'],
  ['{"name":5}', 'The call has no name.'],
  ['{"name":["echo"]}', 'The call has no name.'],
  ['{"name":{"toString":"echo"}}', 'The call has no name.'],
  ['{"__proto__":{"name":"echo"}}', 'The call has no name.'],
  ['{"function":{"name":"echo"}}', "The call has no 'name' but 'function'."],
  ['{"name":""}', 'The name of the call is blank.'],
  ['{"name":" \\n"}', 'The name of the call is blank.'],
  ['{"name":"count","timeout_ms":0}', 'timeout_ms must be a positive number of milliseconds.'],
  ['{"name":"count","timeout_ms":-1}', 'timeout_ms must be a positive number of milliseconds.'],
  ['{"name":"count","timeout_ms":"5"}', 'timeout_ms must be a positive number of milliseconds.'],
  ['{"name":"count","timeout_ms":{}}', 'timeout_ms must be a positive number of milliseconds.'],
])('the entry %s is an invalid call, alone', async (entry, problem) => {
  const [result] = await answerAmongGood(service, [entry]);
  expect(result).toMatchObject({
    outcome: 'retry',
    executed: 'no',
    value: null,
    message: `${problem} ${CALL}`,
    error: { code: 'invalid_call' },
    retry: null,
  });
});

const TOOLS = 'count, echo, fetch_url, list_files, read_file, search_files, toString, write_file';

test.each([
  ['read_file ', "Unknown tool: read_file . Did you mean 'read_file'?"],
  ['Read_File', "Unknown tool: Read_File. Did you mean 'read_file'?"],
  ['functions.read_file', "Unknown tool: functions.read_file. Did you mean 'read_file'?"],
  ['readfile', "Unknown tool: readfile. Did you mean 'read_file'?"],
  ['tostring', "Unknown tool: tostring. Did you mean 'toString'?"],
  ['read_file\n', "Unknown tool: read_file\ufffd. Did you mean 'read_file'?"],
  ['\u001b[31mecho\u202e', 'Unknown tool: \ufffd[31mecho\ufffd.'],
  ['__proto__', 'Unknown tool: __proto__.'],
  ['constructor', 'Unknown tool: constructor.'],
  ['hasOwnProperty', 'Unknown tool: hasOwnProperty.'],
  ['_unknown', 'Unknown tool: _unknown.'],
  ['weather', 'Unknown tool: weather.'],
  ['n'.repeat(512), `Unknown tool: ${'n'.repeat(79)}….`],
  ['\ud83d', 'Unknown tool: \ufffd.'],
])('no tool is called %j: the names there are, the nearest first', async (name, beginning) => {
  const result = await answerOne(service, { id: 'call_1', name });
  expect(result).toMatchObject({
    id: 'call_1',
    name: name.toWellFormed(),
    outcome: 'retry',
    executed: 'no',
    error: { code: 'unknown_tool' },
  });
  const [said, names] = result.message.split(' Available tools: ');
  expect(said).toBe(beginning);
  expect(names?.replace(/\.$/, '').split(', ').sort().join(', ')).toBe(TOOLS);
  expect(ran).toEqual([]);
});

test('a tool really registered as toString works', async () => {
  expect(await answerOne(service, { name: 'toString' })).toMatchObject({ success: true, value: 'really registered' });
});

test.each([
  '',
  'call_0',
  'a\r\nSet-Cookie: x',
  '\0',
  '\u001b[2J',
  '"},{"index":0,"',
  '</script>',
  'ü€😀',
  'x'.repeat(10_000),
  0,
  -1,
  1.5,
  9_007_199_254_740_991,
  1e-300,
])('the id %j is echoed as sent', async (id) => {
  expect((await answerOne(service, { id, name: 'echo', arguments: { text: 'x' } })).id).toBe(id);
});

test.each(['null', 'true', '[]', '{}', '["call_1"]', '1e400', '9007199254740993'])(
  'the id %s cannot be echoed as sent and becomes null',
  async (id) => {
    const [result] = await answerAmongGood(service, [`{"id":${id},"name":"echo","arguments":{"text":"x"}}`]);
    expect(result).toMatchObject({ id: null, success: true });
  },
);

test('a call without an id has the id null', async () => {
  expect((await answerOne(service, { name: 'echo', arguments: { text: 'x' } })).id).toBeNull();
});

const run = async (...entries: readonly string[]) => {
  ran.length = 0;
  return await answerAmongGood(service, entries);
};

test.each([
  ['word for word', '{"id":"a","name":"count","arguments":{"x":1,"y":[1,{"z":null}]}}'],
  ['in another order of keys', '{"id":"a","name":"count","arguments":{"y":[1,{"z":null}],"x":1}}'],
  ['as a string', '{"id":"a","name":"count","arguments":"{\\"x\\": 1.0, \\"y\\": [1, {\\"z\\": null}]}"}'],
])('the same call twice, %s: run once, the second result is a copy', async (_, second) => {
  const [one, two] = await run('{"id":"a","name":"count","arguments":{"x":1,"y":[1,{"z":null}]}}', second);
  expect(ran).toHaveLength(1);
  expect(one).toMatchObject({ success: true, value: 1 });
  expect(one).not.toHaveProperty('replayed');
  expect(two).toEqual({ ...one, index: 3, replayed: true });
});

test('a number as id may repeat a call as well, also zero', async () => {
  const [one, two, three] = await run(
    '{"id":0,"name":"count"}',
    '{"id":0,"name":"count"}',
    '{"id":"0","name":"count"}',
  );
  expect([one?.replayed, two?.replayed, three?.replayed]).toEqual([undefined, true, undefined]);
  expect(ran).toHaveLength(2);
});

test('the same broken call twice: one failure, and a copy of it', async () => {
  const [one, two] = await run(
    '{"id":"a","name":"count","arguments":"{"}',
    '{"id":"a","name":"count","arguments":"{"}',
  );
  expect(one?.error?.code).toBe('invalid_arguments');
  expect(two).toEqual({ ...one, index: 3, replayed: true });
});

const SHARED = {
  code: 'duplicate_id',
  message: 'Another call of this batch has the same id; distinguish the results by their index.',
};

test.each([
  ['other arguments', '{"id":"a","name":"count","arguments":{"x":2}}'],
  ['an array for an object', '{"id":"a","name":"count","arguments":{"x":[1]}}'],
  ['a text for a number', '{"id":"a","name":"count","arguments":{"x":"1"}}'],
  ['null for nothing', '{"id":"a","name":"count","arguments":{"x":1,"y":null}}'],
])('the same id with %s: both run, and both are warned', async (_, second) => {
  const [one, two] = await run('{"id":"a","name":"count","arguments":{"x":1}}', second);
  expect(ran).toHaveLength(2);
  expect([one?.warnings, two?.warnings]).toEqual([[SHARED], [SHARED]]);
});

test('the same id with another tool: both run', async () => {
  const [one, two] = await run('{"id":"a","name":"count"}', '{"id":"a","name":"toString"}');
  expect([one?.success, two?.success, ran.length]).toEqual([true, true, 1]);
  expect([one?.warnings, two?.warnings]).toEqual([[SHARED], [SHARED]]);
});

test.each(['""', 'null', '[]', '9007199254740993'])('calls without an id of their own (%s) are all run', async (id) => {
  const entry = `{"id":${id},"name":"count"}`;
  const results = await run(entry, entry, entry);
  expect(ran).toHaveLength(3);
  expect(results.map(({ replayed, warnings }) => [replayed, warnings])).toEqual(Array(3).fill([undefined, undefined]));
});

test('31 calls of one id whose arguments differ at their end are compared in no time', {
  timeout: timeLimit(10_000),
}, async () => {
  // Compared two by two, each pair would read both texts again, numbers and all.
  const filler = Array.from({ length: 1500 }, () => '1e21').join();
  const entries = Array.from(
    { length: 31 },
    (_, last) => `{"id":"a","name":"count","arguments":{"x":[${filler},${last}]}}`,
  );
  expect((await run(...entries)).every(({ success }) => success)).toBe(true);
  expect(ran).toHaveLength(31);
});
