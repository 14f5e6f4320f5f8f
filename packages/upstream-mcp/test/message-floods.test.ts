import { expect, test } from 'vitest';
import { MessageReader } from '#src/message-reader.ts';

const startReader = () => {
  const reasons: string[] = [];
  const reader = new MessageReader((why) => reasons.push(why));
  const ask = (id: number, method: string) => reader.sent({ jsonrpc: '2.0', id, method });
  return { reader, reasons, ask };
};
const answerOf = (result: object): string => JSON.stringify({ jsonrpc: '2.0', id: 7, result });
const TOO_LARGE = {
  jsonrpc: '2.0',
  id: 7,
  error: { code: -32_000, message: '', data: { recourseStandIn: 'too_large' } },
};

test('an answer that would choke the SDK ends its own request as too large', () => {
  const { reader, ask } = startReader();
  ask(7, 'resources/list');
  expect(reader.read(answerOf({ resources: Array.from({ length: 6_000 }, () => ({})) }))).toEqual([TOO_LARGE]);
});

test('what the SDK does not read, a large answer or a long list of tools, is handed on', () => {
  const { reader, ask } = startReader();
  ask(7, 'tools/call');
  const rows = Array.from({ length: 100_000 }, (_, n) => n);
  expect(reader.read(answerOf({ rows }))).toMatchObject([{ id: 7, result: { content: [], answer: { rows } } }]);
});

test('what would take seconds to parse is not parsed, and strings do not count', () => {
  const { reader, ask, reasons } = startReader();
  ask(7, 'tools/call');
  expect(reader.read(answerOf({ rows: Array.from({ length: 200_001 }, () => 0) }))).toEqual([TOO_LARGE]);
  ask(7, 'tools/call');
  expect(reader.read(answerOf({ text: '[{"a":1},'.repeat(80_000) }))).toMatchObject([{ id: 7, result: {} }]);
  expect(reader.read(`{"result":${'['.repeat(300_000)}`)).toEqual([]);
  expect(reasons).toEqual(['it sent a message that is too large']);
});

test('a heavy notification is dropped, for nothing waits for it', () => {
  const { reader } = startReader();
  const params = { progressToken: 1, progress: 1, junk: Array.from({ length: 10_000 }, () => ({})) };
  expect(reader.read(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress', params }))).toEqual([]);
});
