import { createActor, fail, startLab } from '@recourse/test-support/keyed-client.ts';
import { createLoopSession, useLoopLab } from '@recourse/test-support/loop-lab.ts';
import { describe, expect, test } from 'vitest';
import { toCanonicalText, toDigest } from '#src/json/canonical-text.ts';

const startLoopLab = useLoopLab();

const MANY = { retries: 50 } as const;

describe.each(['memory', 'redis'] as const)('which calls are the same on %s', (store) => {
  const start = (actors: Parameters<typeof startLoopLab>[1], more: Readonly<Record<string, string>> = {}) =>
    startLoopLab(store, actors, more);

  test.each([
    ['the order of members', '{"b":[1,{"d":2,"c":3}],"a":1}', '{"a":1,"b":[1,{"c":3,"d":2}]}'],
    ['the writing of numbers', '{"a":100,"b":0.5,"c":0}', '{"a":1e2,"b":5e-1,"c":-0}'],
    ['blanks, and how a text is escaped', '{"a":"é"}', ' { "a" : "\\u00e9" } '],
  ])('%s does not make another call', async (_what, one, other) => {
    const tool = createActor('test', MANY, fail);
    const lab = await start([tool]);
    const { codes } = createLoopSession(lab);
    const call = (text: string) => ({ name: 'test', arguments: text });
    expect(await codes(call(one))).toEqual(['tool_exception']);
    expect(await codes({ name: 'test', arguments: JSON.parse(other) })).toEqual(['tool_exception']);
    expect(await codes(call(other))).toEqual(['loop_detected']);
    expect(await codes(call(one))).toEqual(['loop_detected']);
  });

  test.each([
    ['null for absent', {}, { a: null }],
    ['another order of items', { a: [1, 2] }, { a: [2, 1] }],
    ['a text for a number', { a: 1 }, { a: '1' }],
    ['another form of the same letter', { a: 'é' }, { a: 'e\u0301' }],
  ])('%s is another call', async (_what, one, other) => {
    const tool = createActor('test', MANY, fail);
    const lab = await start([tool]);
    const { codes } = createLoopSession(lab);
    for (const given of [one, one, other, other]) await codes({ name: 'test', arguments: given });
    expect(tool.asked).toHaveLength(4);
    expect(await codes({ name: 'test', arguments: other })).toEqual(['loop_detected']);
    expect(await codes({ name: 'test', arguments: one })).toEqual(['tool_exception']);
  });

  test('arguments that are no JSON are told apart by their text', async () => {
    const tool = createActor('test', MANY);
    const lab = await start([tool]);
    const { codes } = createLoopSession(lab);
    const call = (text: string) => ({ name: 'test', arguments: text });
    expect(await codes(call('{"a":'))).toEqual(['invalid_arguments']);
    expect(await codes(call('{"a":'))).toEqual(['invalid_arguments']);
    expect(await codes(call('{"a":'))).toEqual(['loop_detected']);
    expect(await codes(call('{"a": '))).toEqual(['invalid_arguments']);
    expect(tool.asked).toEqual([]);
  });
});

test('fingerprints are those of RFC 8785, in either order of members, and the journal shows them', async () => {
  const [bash, tasks, calc] = [createActor('bash'), createActor('list_tasks'), createActor('calc')];
  const { post, session } = await startLab([bash, tasks, calc]);
  const calls = [
    ['bash', '{"command":"ls -la","cwd":"/tmp"}'],
    ['bash', '{"cwd":"/tmp","command":"ls -la"}'],
    ['list_tasks', '{}'],
    ['calc', '{"value":-0}'],
  ].map(([name, text]) => ({ name, arguments: text }));
  const expected = [
    'c3430466c9a1a7c11c8e23328fcf3057189c44d86839527ac6e61bb4574410d4',
    'c3430466c9a1a7c11c8e23328fcf3057189c44d86839527ac6e61bb4574410d4',
    'b84a3e324e9dc95335f72cfee5e5898465349be72cb1348fe7927c49c8d65d92',
    '2c0292f2f8e9099f2879c189b8bd0d61fdc24dea98f06ec1d96f17f8ccb86f7d',
  ];
  await post({ session_id: 's', calls });
  expect((await session('s')).calls.map(({ fingerprint }) => fingerprint)).toEqual(expected);
  expect(toDigest(`list_tasks\n${toCanonicalText({})}`)).toBe(expected[2]);
});
