import { codesOf, createActor, fail, startLab } from '@recourse/test-support/keyed-client.ts';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { defineTool } from '#src/tools/define-tool.ts';

test('arguments are shown without secrets and without what the schema marks as sensitive, and cut', async () => {
  const login = defineTool({
    name: 'login',
    description: 'Takes secrets.',
    effects: 'read',
    input: z.looseObject({
      user: z.string().optional(),
      password: z.string().meta({ sensitive: true }).optional(),
      inner: z.looseObject({ pin: z.number().meta({ sensitive: true }) }).optional(),
      list: z.array(z.object({ token: z.string().meta({ sensitive: true }) })).optional(),
    }),
    run: () => fail(),
  });
  const { post, session } = await startLab([{ tool: login }]);
  const given = [
    { user: 'bob', password: 'hunter2', inner: { pin: 1234 }, list: [{ token: 'tok' }] },
    { user: 'https://bob:hunter2@db.example.com/ sk-abcdefghijklmnopqrstuv' },
    { user: 'x'.repeat(5000) },
    '{"password":"hunter2"',
    JSON.stringify({ password: 'hunter2' }),
  ];
  await post({ session_id: 's', calls: given.map((one) => ({ name: 'login', arguments: one })) });
  const { calls } = await session('s');
  expect(calls[0]?.arguments).toBe(
    '{"inner":{"pin":"(hidden)"},"list":[{"token":"(hidden)"}],"password":"(hidden)","user":"bob"}',
  );
  expect(calls[1]?.arguments).toBe('{"user":"https://[redacted]@db.example.com/ [redacted key]"}');
  expect(calls[2]?.arguments).toHaveLength(200);
  expect(calls[3]?.arguments).toBe('(hidden)');
  expect(calls[4]?.arguments).toBe('{"password":"(hidden)"}');
  expect(JSON.stringify(calls)).not.toContain('hunter2');
});

const SECRET = z.string().meta({ sensitive: true });

test.each([
  ['may be null', z.looseObject({ it: SECRET.nullable() }), { it: 'hunter2' }],
  ['stands in a union', z.looseObject({ it: z.union([SECRET, z.number()]) }), { it: 'hunter2' }],
  ['stands in a record', z.looseObject({ it: z.record(z.string(), SECRET) }), { it: { any: 'hunter2' } }],
  ['stands in a tuple', z.looseObject({ it: z.tuple([z.number(), SECRET]) }), { it: [1, 'hunter2'] }],
  [
    'has a name in the schema',
    z.looseObject({ it: z.string().meta({ id: 'Secret', sensitive: true }) }),
    { it: 'hunter2' },
  ],
  ['is what all unknown members are', z.object({}).catchall(SECRET), { any: 'hunter2' }],
  [
    'stands in one of two kinds of arguments',
    z.union([z.object({ it: SECRET }), z.object({ n: z.number() })]),
    { it: 'hunter2' },
  ],
  [
    'stands in an intersection',
    z.looseObject({ a: z.string() }).and(z.looseObject({ it: SECRET })),
    { a: 'b', it: 'hunter2' },
  ],
  ['has a default', z.looseObject({ it: SECRET.default('x') }), { it: 'hunter2' }],
])('a sensitive value that %s is not shown', async (_where, input, given) => {
  const tool = defineTool({ name: 'login', description: 'Takes a secret.', effects: 'read', input, run: () => 'in' });
  const { post, session } = await startLab([{ tool }]);
  expect(codesOf(await post({ session_id: 's', calls: [{ name: 'login', arguments: given }] }))).toEqual(['ok']);
  expect(JSON.stringify((await session('s')).calls)).not.toContain('hunter2');
});

test('a sensitive value that may be null is hidden from what is said of bad arguments, too', async () => {
  const input = z.looseObject({
    it: SECRET.regex(/^\d+$/).nullable(),
    n: z.string().meta({ sensitive: true }).nullable(),
  });
  const tool = defineTool({ name: 'login', description: 'Takes a secret.', effects: 'read', input, run: () => 'in' });
  const { post } = await startLab([{ tool }]);
  const answer = await post([{ name: 'login', arguments: { it: 'hunter2', n: 987654321 } }]);
  expect(codesOf(answer)).toEqual(['invalid_arguments']);
  expect(answer.text).not.toMatch(/hunter2|987654321/);
});

test('a secret behind so many others that it is cut through is not shown in part', async () => {
  const look = createActor('look');
  const { post, session } = await startLab([look]);
  const given = { a: `Bearer ${'x'.repeat(740)}`, b: `https://bob:hunter2${'y'.repeat(200)}@db.example.com/` };
  await post({ session_id: 's', calls: [{ name: 'look', arguments: given }] });
  expect((await session('s')).calls[0]?.arguments).not.toContain('hunter2');
});

test('messages are entered without secrets and at most 500 characters long', async () => {
  const bad = createActor('bad', {}, () => {
    throw new Error(`https://bob:hunter2@db.example.com/ ${'x'.repeat(3000)}`);
  });
  const { post, session } = await startLab([bad]);
  await post({ session_id: 's', calls: [{ name: 'bad' }] });
  const message = (await session('s')).calls[0]?.message;
  expect(message).toMatch(/^Error: https:\/\/\[redacted\]@db\.example\.com\/ x+…$/);
  expect(message).toHaveLength(500);
});
