import { execFileSync } from 'node:child_process';
import { HOSTILE } from '@recourse/test-support/console/console-tools.ts';
import { expect, test } from 'vitest';
import { toCallBody, toCurl, toExample } from '#src/page/curl.ts';
import { foldRefusals, roundsOf, type SessionCall } from '#src/page/session-calls.ts';
import { groupTools } from '#src/page/tool-groups.ts';

const RAN: Omit<SessionCall, 'step'> = {
  time: '2026-01-31T12:00:00Z',
  request_id: 'r',
  index: 0,
  id: null,
  tool: 'find',
  name: 'find',
  fingerprint: null,
  arguments: '{}',
  success: true,
  outcome: 'success',
  executed: 'yes',
  code: null,
  fault: null,
  message: '',
  duration_ms: 1,
  retries_left: null,
};
const REFUSED: Omit<SessionCall, 'step'> = {
  ...RAN,
  success: false,
  outcome: 'refused',
  executed: 'no',
  code: 'retry_budget_exhausted',
  fault: 'policy',
};

const foldedRows = (calls: readonly SessionCall[]) =>
  foldRefusals(calls).map((row) => [
    row.last.name,
    row.calls.length,
    row.times,
    roundsOf(row).toSorted((a, b) => a - b),
  ]);

test('refusals of one tool for one reason are one row, until a call of any tool is let through', () => {
  const loop = Array.from({ length: 53 }, (_, at): SessionCall => ({ ...REFUSED, step: at + 3 }));
  const other: SessionCall = { ...REFUSED, step: 4, tool: 'pay', name: 'pay' };
  const calls = [
    { ...RAN, step: 1 },
    ...loop.slice(0, 2),
    other,
    ...loop.slice(2),
    { ...RAN, step: 60 },
    { ...REFUSED, step: 61 },
  ];
  const rounds = loop.map(({ step }) => step);
  expect(foldedRows(calls)).toEqual([
    ['find', 1, 1, [1]],
    ['find', 53, 53, rounds],
    ['pay', 1, 1, [4]],
    ['find', 1, 1, [60]],
    ['find', 1, 1, [61]],
  ]);
  const another: SessionCall = { ...REFUSED, step: 5, code: 'loop_detected' };
  expect(foldRefusals([{ ...REFUSED, step: 4 }, another])).toHaveLength(2);
  // It may have taken effect: it is a call of its own.
  expect(foldRefusals([1, 2].map((step) => ({ ...REFUSED, step, executed: 'maybe' as const })))).toHaveLength(2);
});

test('repeats that the journal has counted are teeth as well, and none lies before the first round', () => {
  expect(foldedRows([{ ...REFUSED, step: 9, repeats: 4 }])).toEqual([['find', 1, 4, [6, 7, 8, 9]]]);
  expect(foldedRows([{ ...REFUSED, step: 2, repeats: 9 }])).toEqual([['find', 1, 9, [1, 2]]]);
  const [row] = foldRefusals([{ ...REFUSED, step: 9, repeats: 9 }]);
  expect(row && roundsOf(row, 7).toSorted()).toEqual([8, 9]);
  // All of them in one round: no tooth lies outside of it.
  expect(row && roundsOf(row, 12)).toEqual([9]);
});

test('a copied command gives the shell what was called, and nothing of it to run', () => {
  const name = `'; touch /tmp/x; '$(id)\`id\`!! ${HOSTILE}`;
  const sent = { [name]: `${name}\n\\'"\u2028é😀` };
  const command = toCurl(toCallBody('read', JSON.stringify(sent)), 'k', 'http://127.0.0.1/a\'b?"');
  expect(command).toMatch(/^[\x20-\x7e\n]*$/);
  // The shell's own reading, with a program in place of curl that prints its arguments.
  const script = `curl() { printf '%s\\0' "$@"; }\n${command}`;
  const words = execFileSync('sh', ['-c', script], { encoding: 'utf8', env: { RECOURSE_API_KEY: 'rk' } }).split('\0');
  expect(words.slice(0, -2)).toEqual([
    ...['-sS', 'http://127.0.0.1/a%27b?"', '-H', 'Authorization: Bearer rk'],
    ...['-H', 'Content-Type: application/json', '-d'],
  ]);
  expect(JSON.parse(words.at(-2) ?? '')).toEqual({ calls: [{ id: '1', name: 'read', arguments: sent }] });
  expect(toCurl('{}', '', 'http://h/')).not.toContain('RECOURSE_API_KEY');
});

test.each([
  ['{"a":12345678901234567890}', '"{\\"a\\":12345678901234567890}"'],
  ['{"a": 1}', '"{\\"a\\": 1}"'],
  ['not JSON', '"not JSON"'],
  ['{"a":1}', '{"a":1}'],
])('arguments are copied as they were sent: %s', (text, sent) => {
  expect(toCallBody('t', text)).toBe(`{"calls":[{"id":"1","name":"t","arguments":${sent}}]}`);
});

test('an example has what a schema requires, within its limits', () => {
  const schema = {
    type: 'object',
    required: ['title', 'copies', 'at', 'size', 'where', 'tags', 'maybe', 'node', '__proto__'],
    properties: {
      title: { type: 'string', minLength: 6 },
      copies: { type: 'integer', exclusiveMinimum: 3, maximum: 9 },
      at: { type: 'string', format: 'date-time' },
      size: { enum: ['small', 'large'] },
      where: { type: 'object', required: ['street'], properties: { street: { type: 'string', maxLength: 2 }, no: {} } },
      tags: { type: 'array', minItems: 1, items: { type: 'boolean' } },
      maybe: { anyOf: [{ type: 'null' }, { type: 'number', default: 7 }] },
      node: { $ref: '#/$defs/node' },
      left: { type: 'string' },
    },
    $defs: { node: { type: 'object', required: ['node'], properties: { node: { $ref: '#/$defs/node' } } } },
  };
  expect(toExample(schema)).toMatchObject({
    ...{ title: 'textxx', copies: 4, at: '2026-01-31T12:00:00Z', size: 'small', where: { street: 'te' } },
    ...{ tags: [true], maybe: 7, node: { node: {} } },
  });
  expect(toExample(schema)).not.toHaveProperty('left');
  expect(toExample({ type: 'object', properties: {}, examples: [{ a: 1 }] })).toEqual({ a: 1 });
  expect(toExample({})).toEqual({});
});

const tool = (name: string, source: string): Parameters<typeof groupTools>[0][number] => ({
  name,
  source,
  description: '',
  effects: 'read',
  input_schema: {},
  output_schema: null,
  available: true,
  unavailable_reason: null,
  limits: { timeout_ms: 1, retries: 1, concurrency: null, max_calls_per_session: null },
});

test('tools are grouped by where they come from, and what their names share is cut to whole words', () => {
  const groups = groupTools([
    tool('crm_getCustomer', 'crm'),
    tool('crm_getOrders', 'crm'),
    tool('pay', 'TOOLS_DIR/pay.ts'),
    tool('refund', 'TOOLS_DIR/pay.ts'),
    tool('docs_search', 'docs'),
    tool('a_', 'odd'),
    tool('a_b', 'odd'),
  ]);
  expect(groups.map(({ title, prefix, tools }) => [title, prefix, tools.length])).toEqual([
    ['Own files', '', 2],
    ['crm', 'crm_', 2],
    ['docs', '', 1],
    ['odd', '', 2],
  ]);
});
