import { defineTool } from 'recourse-server/internal/tools/define-tool.ts';
import type { InlineTool, ToolContext } from 'recourse-server/internal/tools/tool.ts';
import { EffectIdPlace } from 'recourse-server/internal/tools/tool-override.ts';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { placeEffectId } from '#src/effect-id-place.ts';

const EFFECT_ID = 'e_0123456789abcdefghijkl';

/** A tool that gives back what its handler got; `upstream`: as tools of servers have one. */
const toolOf = (input: Readonly<Record<string, unknown>>): InlineTool =>
  defineTool({
    ...{ name: 'pay', description: '', effects: 'write', input, run: (given) => given },
    upstream: { name: 'mcp:bank', concurrency: 1 },
  });

const place = (input: Readonly<Record<string, unknown>>, argument: string): InlineTool => {
  const placed = placeEffectId(toolOf(input), { argument });
  if (typeof placed === 'string' || placed.runsIn === 'host') throw new Error(String(placed));
  return placed;
};

const send = async (tool: InlineTool, input: Readonly<Record<string, unknown>>): Promise<unknown> => {
  const prepared = await tool.prepare(input);
  // Nothing else of it is read here.
  const context: Partial<ToolContext> = { effectId: EFFECT_ID };
  return prepared.ok ? prepared.invocation.run(Object.assign(context)) : prepared.issues;
};

const REFERENCE = { type: 'string', maxLength: 3 };
const PAYMENT = {
  type: 'object',
  properties: { amount: { type: 'number' }, reference: REFERENCE },
  required: ['amount', 'reference'],
  additionalProperties: false,
};

test('an argument is no part of the schema any more, and is filled in after the check, whatever the schema said of it', async () => {
  const tool = place({ $schema: 'https://json-schema.org/draft/2020-12/schema', ...PAYMENT }, '/reference');
  expect(tool.inputSchema).toEqual({
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: { amount: { type: 'number' } },
    required: ['amount'],
    additionalProperties: false,
  });
  expect(tool.exampleArguments).toBe('{"amount": 1}');
  const input = Object.freeze({ amount: 5 });
  expect(await send(tool, input)).toEqual({ amount: 5, reference: EFFECT_ID });
  expect(await send(tool, { amount: 'x' })).toMatchObject([
    { path: 'amount', message: 'expected a number, got the string "x"' },
  ]);
});

test('a caller that sends it is told that the service fills it in, beside what else is wrong', async () => {
  const issue = {
    ...{ path: 'reference', expected: 'nothing', received: 'a string (hidden)' },
    message: 'the service fills it in: leave it out',
  };
  const tool = place(PAYMENT, '/reference');
  expect(await send(tool, { amount: 5, reference: 'mine' })).toEqual([issue]);
  expect(await send(tool, { reference: 'mine' })).toMatchObject([issue, { path: 'amount' }]);
  expect(await send(tool, { amount: 5, reference: null })).toMatchObject([{ ...issue, received: 'null' }]);
});

test('a member of objects within each other is reached, through references too, and others of the same definition keep theirs', async () => {
  const schema = {
    type: 'object',
    properties: { order: { $ref: '#/$defs/Order', description: 'The order.' }, earlier: { $ref: '#/$defs/Order' } },
    additionalProperties: false,
    $defs: { Order: { type: 'object', properties: { 'pay/ment': { $ref: '#/$defs/Payment' } } }, Payment: PAYMENT },
  };
  const tool = place(schema, '/order/pay~1ment/reference');
  const { reference: _taken, ...properties } = PAYMENT.properties;
  expect(tool.inputSchema).toEqual({
    ...schema,
    properties: {
      ...schema.properties,
      order: {
        ...{ type: 'object', description: 'The order.' },
        properties: { 'pay/ment': { ...PAYMENT, properties, required: ['amount'] } },
      },
    },
  });
  const input = {
    order: { id: 1, 'pay/ment': { amount: 5 } },
    earlier: { 'pay/ment': { amount: 1, reference: 'abc' } },
  };
  expect(await send(tool, input)).toEqual({
    ...input,
    order: { id: 1, 'pay/ment': { amount: 5, reference: EFFECT_ID } },
  });
  expect(await send(tool, {})).toEqual({ order: { 'pay/ment': { reference: EFFECT_ID } } });
  expect(await send(tool, { order: { 'pay/ment': { amount: 5, reference: 'x' } } })).toMatchObject([
    { path: 'order.pay/ment.reference', message: 'the service fills it in: leave it out' },
  ]);
});

test('what the schema admits without naming it is filled in and refused alike', async () => {
  const tool = place({ type: 'object', required: ['__proto__'], additionalProperties: true }, '/__proto__');
  expect(tool.inputSchema).toEqual({ type: 'object', properties: {}, additionalProperties: true });
  const sent = await send(tool, { a: 1 });
  expect(JSON.stringify(sent)).toBe(`{"a":1,"__proto__":"${EFFECT_ID}"}`);
  expect(await send(tool, JSON.parse('{"__proto__":{}}'))).toMatchObject([{ path: '__proto__' }]);
  const meta = place({ type: 'object', properties: { meta: { type: ['object', 'null'] } } }, '/meta/reference');
  expect(await send(meta, { meta: null })).toMatchObject([
    { path: 'meta', expected: 'an object', message: 'must be an object: the service fills in a member of it' },
  ]);
  expect(await send(meta, { meta: 5 })).toHaveLength(1);
});

const within = (lines: unknown) => ({ type: 'object', properties: { lines }, additionalProperties: false });

test.each([
  [
    PAYMENT,
    '/referense',
    "the schema has no 'referense' and admits no others. Name one that it has: amount, reference.",
  ],
  [
    within({ type: 'array', items: PAYMENT }),
    '/lines/0/reference',
    "what is above '0' is no object but of type array.",
  ],
  [within({ items: PAYMENT }), '/lines/reference', "what is above 'reference' is no object but of type array."],
  [within({ type: 'string' }), '/lines/reference', "what is above 'reference' is no object but of type string."],
  [
    within({ $ref: 'https://example.com/a' }),
    '/lines/reference',
    "the reference above 'reference' cannot be followed.",
  ],
  [within({ $ref: '#/$defs/A' }), '/lines/reference', "the reference above 'reference' cannot be followed."],
  [
    { ...PAYMENT, anyOf: [{ required: ['reference'] }] },
    '/reference',
    "anyOf of the schema decides about 'reference', too.",
  ],
  [{ ...PAYMENT, allOf: [{ $ref: '#/$defs/A' }], $defs: { A: {} } }, '/reference', 'allOf of the schema decides about'],
  [{ ...PAYMENT, minProperties: 2 }, '/reference', 'minProperties of the schema decides about'],
  [
    { ...PAYMENT, properties: { ...PAYMENT.properties, other: { $ref: '#/properties/reference' } } },
    '/reference',
    'the schema cannot be compiled without it: other parts of it may refer to it.',
  ],
])('a place that the schema does not have as a plain member is told: %j %s', (input, argument, problem) => {
  const declared = { ...toolOf({ type: 'object' }), inputSchema: input };
  expect(placeEffectId(declared, { argument })).toContain(`argument ${argument}: ${problem}`);
});

test('a tool that is written in code reads its effect id there, and only imports send headers', () => {
  const written = defineTool({
    ...{ name: 'pay', description: '', effects: 'write', run: () => 1 },
    input: z.object({ reference: z.string() }),
  });
  const inCode = 'it is written in code: use context.effectId in its code, and remove effectId here.';
  expect(placeEffectId(written, { argument: '/reference' })).toBe(inCode);
  expect(placeEffectId(written, { header: 'Idempotency-Key' })).toBe(inCode);
  const file = { path: '/tools/pay.ts', root: '/tools', sources: new Map<string, string>() };
  expect(placeEffectId({ ...toolOf(PAYMENT), runsIn: 'host', file }, { argument: '/reference' })).toBe(inCode);
  expect(placeEffectId(toolOf(PAYMENT), { header: 'Idempotency-Key' })).toBe(
    'only operations of OpenAPI imports send headers: name an argument.',
  );
});

test.each([
  [{ argument: '/a/~0b~1' }, null],
  [{ header: 'Idempotency-Key' }, null],
  [{}, 'must have either argument or header'],
  [{ argument: '/a', header: 'x-a' }, 'must have either argument or header'],
  [{ argument: 'reference' }, 'must be a JSON Pointer into the arguments, such as /reference'],
  [{ argument: '' }, 'must be a JSON Pointer into the arguments, such as /reference'],
  [{ argument: '/a~2' }, 'must be a JSON Pointer into the arguments, such as /reference'],
  [{ header: 'a b' }, 'must be the name of a header'],
  [{ header: 'Content-Length' }, 'is a header that only the client itself writes: name another'],
  [{ header: 'HOST' }, 'is a header that only the client itself writes: name another'],
  [{ header: 'authorization' }, 'is a header that only the client itself writes: name another'],
  [{ header: 'Proxy-Authorization' }, 'is a header that only the client itself writes: name another'],
])('the configuration file says one place: %j', (said, problem) => {
  expect(EffectIdPlace.safeParse(said).error?.issues[0]?.message ?? null).toBe(problem);
});
