import fc from 'fast-check';
import { expect, test } from 'vitest';
import { HostMessage, readHostMessage, readPlainMessage } from '#src/host-messages.ts';

const success = (end: object) => ({ type: 'answer', nonce: 'n', end: { kind: 'success', message: '', ...end } });

test.each([
  ['a beginning', { type: 'began', nonce: 'n', more: 1 }, { type: 'began', nonce: 'n' }],
  [
    'a plain success',
    { ...success({ message: 'm', marks: [], warnings: [], more: 1 }), more: 1 },
    { type: 'answer', nonce: 'n', end: { kind: 'success', message: 'm', marks: [], warnings: [] } },
  ],
  [
    'a success with a mark',
    success({ marks: ['empty'], warnings: [] }),
    { type: 'answer', nonce: 'n', end: { kind: 'success', message: '', marks: ['empty'], warnings: [] } },
  ],
  ['a beginning of no call', { type: 'began' }, null],
  ['a success with a mark of its own', success({ marks: ['mine'], warnings: [] }), null],
  ['a success whose marks only look like a list', success({ marks: { length: 0 }, warnings: [] }), null],
  ['a success without warnings', success({ marks: [] }), null],
  ['a text beyond the limit', success({ message: 'x'.repeat(8001), marks: [], warnings: [] }), null],
  ['null', null, null],
  ['a list', ['began'], null],
])('%s is read as what it is', (_what, sent, read) => {
  expect(readHostMessage(JSON.stringify(sent))).toEqual(read);
});

test('what is no JSON is no message', () => {
  expect(readHostMessage('{"type":"began","nonce":"n"')).toBeNull();
});

test('what is read by hand is what the schema reads', () => {
  const text = fc.oneof(fc.string(), fc.constant('x'.repeat(8000)), fc.constant('x'.repeat(8001)), fc.jsonValue());
  const list = fc.oneof(fc.constant([]), fc.constantFrom(['empty'], ['mine'], {}, null, 'text'));
  const end = fc.record(
    { kind: fc.constantFrom('success', 'failure', 1), message: text, marks: list, warnings: list, code: text },
    { requiredKeys: [] },
  );
  const sent = fc.record(
    {
      type: fc.constantFrom('began', 'answer', 'loading', 'unusable', 0),
      nonce: text,
      end: fc.oneof(end, fc.jsonValue()),
    },
    { requiredKeys: [] },
  );
  let byHand = 0;
  fc.assert(
    fc.property(fc.oneof(sent, fc.jsonValue()), (value) => {
      const plain = readPlainMessage(value);
      if (plain === null) return;
      byHand += 1;
      expect(HostMessage.safeParse(value)).toEqual({ success: true, data: plain });
    }),
    { numRuns: 5000 },
  );
  expect(byHand).toBeGreaterThan(100);
});
