import { type McpLab, startMcpLab } from '@recourse/test-support/mcp-servers/mcp-lab.ts';
import { rawProgram, readTool, resultText } from '@recourse/test-support/mcp-servers/raw-script.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';

type Case = {
  readonly schema: unknown;
  /** Arguments, and what the server gets of them; null where they are refused. */
  readonly calls: readonly (readonly [sent: object, received: object | null])[];
};

const asGiven = (args: object) => [args, args] as const;
const refused = (args: object) => [args, null] as const;
const of = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more });

const CASES: Readonly<Record<string, Case>> = {
  'null in the place of keywords': {
    schema: of(
      { a: { type: 'string', minLength: null, pattern: null, enum: null, description: null, default: null }, b: null },
      { required: null, additionalProperties: null, $defs: null, allOf: null, title: null },
    ),
    calls: [asGiven({}), asGiven({ a: 'x', b: 1 }), refused({ a: 1 })],
  },
  'properties that are null': { schema: of({}, { properties: null }), calls: [asGiven({})] },
  'no schema': { schema: null, calls: [asGiven({})] },
  'nothing in the place of a schema': { schema: undefined, calls: [asGiven({})] },
  'the id of draft 4': {
    schema: { ...of({ a: { id: '#a', type: 'string' }, id: { type: 'integer' } }), id: 'http://x.example/y#' },
    calls: [asGiven({ a: 'x', id: 5 }), refused({ id: 'x' })],
  },
  'null among alternatives': {
    schema: of({ a: { anyOf: [null, { type: 'string' }] } }),
    calls: [asGiven({ a: 'x' }), refused({ a: 1 })],
  },
  'the flags of draft 4': {
    schema: of({ n: { type: 'number', minimum: 0, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false } }),
    calls: [asGiven({ n: 9 }), refused({ n: 0 }), refused({ n: 10 })],
  },
  'a flag of draft 4 without a bound': { schema: of({ n: { exclusiveMaximum: true } }), calls: [asGiven({ n: 5 })] },
  'a list of one type': {
    schema: { ...of({ a: { type: ['string'] } }), type: ['object'] },
    calls: [refused({ a: 1 })],
  },
  'null beside the type': { schema: { ...of({}), type: ['object', 'null'] }, calls: [asGiven({})] },
  'types of no draft': {
    schema: of({ a: { type: 'any' }, b: { type: ['int', 'string'] } }),
    calls: [asGiven({ a: 1, b: 'x' }), refused({ b: true })],
  },
  'a flag for what is required': {
    schema: of({ a: { type: 'string', required: true } }),
    calls: [asGiven({ a: 'x' })],
  },
  'names that are listed twice': {
    schema: of({ a: {} }, { required: ['a', 'a'] }),
    calls: [asGiven({ a: 1 }), refused({})],
  },
  'an enum without words': { schema: of({ a: { enum: [] } }), calls: [asGiven({ a: 1 })] },
  'values of another type than the one beside them': {
    schema: of({
      a: { type: 'string', enum: [1, 2, '2'] },
      b: { type: ['integer', 'null'], enum: ['1', null], default: '1' },
      c: {
        type: 'array',
        items: {
          anyOf: [
            { type: 'boolean', const: 'true' },
            { type: 'string', const: 5 },
          ],
        },
      },
      d: { enum: [1, '2'] },
    }),
    calls: [
      asGiven({ a: '2', b: 1, c: [true, '5'], d: '2' }),
      asGiven({ b: null, d: 1 }),
      ...[{ a: 2 }, { a: '3' }, { b: '1' }, { c: [5] }, { d: 2 }].map(refused),
    ],
  },
  'a default of another type': {
    schema: of({ n: { type: 'integer', default: '5' } }, { required: ['n'] }),
    calls: [[{}, { n: 5 }]],
  },
  'bounds that are no numbers': { schema: of({ a: { minimum: '0', maxLength: -1 } }), calls: [asGiven({ a: -5 })] },
  'arguments named like keywords': {
    schema: of(
      { type: { type: 'string' }, required: { type: 'boolean' } },
      { dependentRequired: { type: ['required'] } },
    ),
    calls: [asGiven({ type: 'x', required: true }), refused({ type: 'x' })],
  },
  'patterns of Python': {
    schema: of({ a: { pattern: '^\\d{3}\\Z' }, b: { pattern: '\\A[a-z]+\\z' } }),
    calls: [asGiven({ a: '123', b: 'ab' }), refused({ a: '1234' }), refused({ b: '1' })],
  },
  'patterns that are none here': {
    schema: of({ a: { pattern: '(?P<year>\\d{4})' }, b: { pattern: '/^\\d+$/x' }, c: { pattern: '\\_' } }),
    calls: [asGiven({ a: 'x', b: 'x' }), refused({ c: 'x' }), asGiven({ c: '_' })],
  },
  'a default of a required argument': {
    schema: of({ scale: { type: 'string', enum: ['css', 'device'], default: 'css' } }, { required: ['scale'] }),
    calls: [[{}, { scale: 'css' }], asGiven({ scale: 'device' }), refused({ scale: 'px' })],
  },
  'defaults further down': {
    schema: of(
      { a: { items: { $ref: '#/$defs/one' } } },
      { $defs: { one: of({ n: { $ref: '#/$defs/n' } }, { required: ['n'] }), n: { type: 'integer', default: 5 } } },
    ),
    calls: [[{ a: [{}, { n: 1 }] }, { a: [{ n: 5 }, { n: 1 }] }], refused({ a: [{ n: 'x' }] })],
  },
  'defaults in definitions of draft 7': {
    schema: of(
      { a: { $ref: '#/definitions/one' } },
      { definitions: { one: of({ n: { type: 'integer', default: 5 } }, { required: ['n'] }) }, required: ['a'] },
    ),
    calls: [[{ a: {} }, { a: { n: 5 } }], refused({}), refused({ a: { n: 'x' } })],
  },
  'null as the default of what may be null': {
    schema: of(
      {
        a: { type: ['string', 'null'], default: null },
        b: { anyOf: [{ type: 'integer' }, { type: 'null' }], default: null },
      },
      { required: ['a', 'b'] },
    ),
    calls: [[{}, { a: null, b: null }], asGiven({ a: 'x', b: 1 })],
  },
  'null as the default of what may not': {
    schema: of({ a: { type: 'string', default: null } }, { required: ['a'] }),
    calls: [refused({})],
  },
  'a default that tells alternatives apart': {
    schema: of({}, { oneOf: [of({ k: { const: 'a', default: 'a' } }, { required: ['k'] })] }),
    calls: [refused({}), asGiven({ k: 'a' })],
  },
};

const NAMES = Object.keys(CASES).map((about, at) => [about, `t${at}`] as const);
let lab: McpLab;
beforeAll(async () => {
  const tools = NAMES.map(([about, name]) => readTool(name, { inputSchema: CASES[about]?.schema }));
  const calls = Object.fromEntries(
    NAMES.map(([, name]) => [name, resultText('{"content":[],"structuredContent":ARGS}')]),
  );
  lab = await startMcpLab(rawProgram({ tools, calls }));
});
afterAll(() => lab[Symbol.asyncDispose]());

test('a schema of an earlier draft, or of no draft, makes no tool unavailable', () => {
  expect(lab.latest().unavailable).toEqual([]);
});

test.each(NAMES)('with %s in its schema a tool takes what its server takes', async (about, name) => {
  for (const [sent, received] of CASES[about]?.calls ?? []) {
    const expected = received === null ? { error: { code: 'invalid_arguments' } } : { success: true, value: received };
    expect.soft(await lab.call(`lab_${name}`, { ...sent }), JSON.stringify(sent)).toMatchObject(expected);
  }
});
