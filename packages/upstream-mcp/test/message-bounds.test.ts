import { expect, test } from 'vitest';
import { capEvents } from '#src/event-stream.ts';
import { LineReader } from '#src/line-reader.ts';
import { identifyMessage } from '#src/message-reader.ts';

const read = (chunks: readonly string[], maxBytes: number): readonly unknown[] => {
  const reader = new LineReader(maxBytes);
  return chunks.flatMap((chunk) => reader.read(Buffer.from(chunk)));
};

test('lines come whole, however they are cut into chunks', () => {
  expect(read(['{"a":1}\n{"b"', ':2}\r\n', '\n', 'rest'], 20)).toEqual(['{"a":1}', '{"b":2}', '']);
  expect(read([...'one\ntwo\n'], 20)).toEqual(['one', 'two']);
});

test('of a line over the cap its edges are left, the next one is read, and the bytes of one without end are counted', () => {
  expect(read(['0123456789', 'abc\nshort\n'], 10)).toEqual([{ head: '0123456789abc', tail: 'abc' }, 'short']);
  expect(read(['0123456789\n'], 10)).toEqual(['0123456789']);
  const reader = new LineReader(10);
  for (let n = 0; n < 3; n += 1) expect(reader.read(Buffer.from('x'.repeat(50)))).toEqual([]);
  expect(reader.openBytes).toBe(150);
});

test.each([
  ['{"jsonrpc":"2.0","id":7,"result":{"content":[', '…"}]}}', 7],
  ['{"result":{"content":[{"id":4,', '…"}]},"jsonrpc":"2.0","id":8}', 8],
  ['{"id": 9, "result":', '}}', 9],
  ['{"method":"notifications/message","params":', '}}', 'no_answer'],
  ['{"result":{"rows":[', '{"name":"x","id":3}]}}', 'unknown'],
  ['{"result":{"row":', '{"name":"x","id":3}}', 'unknown'],
])('whose answer a line was that was not read: %s %s', (head, tail, id) => {
  expect(identifyMessage({ head, tail })).toBe(id);
});

async function* toBody(chunks: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield Buffer.from(chunk);
}

const NOTICE = { jsonrpc: '2.0', method: 'x' } as const;
const LAST = 'data: {"jsonrpc":"2.0","method":"x"}\n\n';

const gather = async (chunks: readonly string[], messages = 0): Promise<string> => {
  const read = () => Array.from({ length: messages }, () => NOTICE);
  const options = { maxMessageBytes: 30, onOversize: () => [NOTICE], isFlood: () => false, read };
  const parts: Uint8Array[] = [];
  for await (const part of capEvents(toBody(chunks), options)) parts.push(part);
  return Buffer.concat(parts).toString();
};

test('an event stream may be as long as it likes, and each event no longer than the cap', async () => {
  const events = Array.from({ length: 20 }, (_, at) => `event: ${at}\ndata: ${at}\n\n`);
  expect(await gather(events)).toBe(events.join(''));
  expect(await gather([': 12345\r', '\n\r\n', ': 1234567\r\n\r', '\n'])).toContain('1234567');
  expect(await gather([': a\n\ndata: ', 'x'.repeat(40), 'y'])).toBe(`: a\n\n${LAST}`);
  expect(await gather(['data: a\n'.repeat(5)])).toBe(LAST);
});

test('an event comes as the messages that its data was read as, however its lines end', async () => {
  expect(await gather(['id: 7\r\ndata: a\r\n', 'data:b\r\n\r\n'], 1)).toBe(`id: 7\n${LAST}`);
  expect(await gather(['event: message\ndata: a\n\n'], 2)).toBe(`event: message\n${LAST}${LAST}`);
  expect(await gather(['event: other\rdata: a\r\r', ': c\n\n'], 1)).toBe('event: other\ndata: a\n\n: c\n\n');
});
