import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { ToolCallsRequest } from '#src/contract/tool-call.ts';
import { readPlainEnvelope } from '#src/routes/read-message.ts';

const calls = fc.oneof(
  fc.array(fc.jsonValue(), { maxLength: 3 }),
  fc.constantFrom(1024, 1025).map((length) => Array.from({ length }, () => null)),
  fc.jsonValue(),
);
const text = fc.oneof(
  fc.string({ maxLength: 70 }),
  fc.constantFrom('', 'a'.repeat(64), 'a'.repeat(65), 'é', '\n', 'x'.repeat(256), 'x'.repeat(257), '😀'.repeat(256)),
);
const odd = fc.constantFrom<unknown>(null, true, 0, -1, 1.5, Number.MAX_VALUE, Number.POSITIVE_INFINITY, [], {});
const body = fc.record(
  {
    calls,
    session_id: fc.oneof(text, odd),
    round_id: fc.oneof(text, odd),
    order: fc.oneof(fc.constantFrom('parallel', 'sequential', 'Parallel'), odd),
    on_error: fc.oneof(fc.constantFrom('continue', 'stop', 'halt'), odd),
    deadline_ms: fc.oneof(fc.double(), odd),
    note: fc.jsonValue(),
  },
  { requiredKeys: [] },
);

test('an envelope that is read without its schema is one that the schema accepts, and is read as the schema reads it', () => {
  let read = 0;
  const property = fc.property(body, (members) => {
    const envelope = readPlainEnvelope(members);
    if (envelope === null) return;
    read += 1;
    // What the schema keeps of members that it does not know is of no use to anybody.
    const { note: _note, ...expected } = ToolCallsRequest.parse(members);
    expect(withoutAbsent(envelope)).toEqual(withoutAbsent(expected));
  });
  // Always the same envelopes: some fifty of them are plain.
  void fc.assert(property, { numRuns: 5000, seed: 20_260_722 });
  expect(read).toBeGreaterThan(30);
});

const withoutAbsent = (envelope: object): object =>
  Object.fromEntries(Object.entries(envelope).filter(([, value]) => value !== undefined));

test('the common envelopes need no schema', () => {
  const defaults = { session_id: undefined, round_id: undefined, order: 'parallel', on_error: 'continue' };
  expect(readPlainEnvelope({ calls: [1] })).toEqual({ ...defaults, calls: [1], deadline_ms: undefined });
  const whole = { order: 'sequential', on_error: 'stop', deadline_ms: 1.5 };
  const named = { session_id: 's'.repeat(256), round_id: 'r'.repeat(64), calls: [] };
  expect(readPlainEnvelope({ ...named, ...whole, note: 1 })).toEqual({ ...named, ...whole });
  const nulls = { session_id: null, round_id: null, deadline_ms: null };
  expect(readPlainEnvelope({ calls: [], ...nulls })).toEqual({ ...defaults, ...nulls, calls: [] });
});

test('what may be wrong, or of another format, is left to the schema', () => {
  const others = [
    { calls: [], format: 'native' },
    { calls: [], raw: true },
    { calls: {} },
    { calls: Array.from({ length: 1025 }, () => 1) },
    { calls: [], order: null },
    { calls: [], on_error: 'halt' },
    { calls: [], session_id: '' },
    { calls: [], session_id: 7 },
    { calls: [], session_id: '😀'.repeat(256) },
    { calls: [], round_id: 'é' },
    { calls: [], round_id: '' },
    { calls: [], deadline_ms: 0 },
    { calls: [], deadline_ms: Number.POSITIVE_INFINITY },
    {},
  ];
  expect(others.map(readPlainEnvelope)).toEqual(others.map(() => null));
});
