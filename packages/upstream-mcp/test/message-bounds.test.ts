import { expect, test } from 'vitest';
import { capEvents } from '#src/event-stream.ts';
import { readWhole } from '#src/http-transport.ts';
import { identifyOversize } from '#src/message-limits.ts';
import { createMessageLines } from '#src/stdio-transport.ts';

const read = (chunks: readonly string[], maxLineBytes: number): readonly string[] => {
  const told: string[] = [];
  const take = createMessageLines(
    { maxLineBytes, content: 'message', maxSkippedBytes: 60 },
    {
      onLine: (line) => void told.push(line),
      onOversize: ({ head, tail }) => void told.push(`too large: ${head} … ${tail}`),
      onEndless: () => void told.push('endless'),
    },
  );
  for (const chunk of chunks) take(Buffer.from(chunk));
  return told;
};

test('lines come whole, however they are cut into chunks', () => {
  expect(read(['{"a":1}\n{"b"', ':2}\r\n', '\n', 'rest'], 20)).toEqual(['{"a":1}', '{"b":2}', '']);
  expect(read([...'one\ntwo\n'], 20)).toEqual(['one', 'two']);
});

test('a line over the cap is skipped, the next one is read, and one without end is told once', () => {
  expect(read(['0123456789', 'abc\nshort\n'], 10)).toEqual(['too large: 0123456789abc … abc', 'short']);
  expect(read(['0123456789\n'], 10)).toEqual(['0123456789']);
  expect(read(['x'.repeat(50), 'x'.repeat(50), 'x\nlost\n'], 10)).toEqual(['endless']);
});

test.each([
  ['{"jsonrpc":"2.0","id":7,"result":{"content":[', '…"}]}}', 7],
  ['{"result":{"content":[{"id":4,', '…"}]},"jsonrpc":"2.0","id":8}', 8],
  ['{"id": 9, "result":', '}}', 9],
  ['{"method":"notifications/message","params":', '}}', 'no_answer'],
  ['{"result":{"rows":[', '{"name":"x","id":3}]}}', 'unknown'],
  ['{"result":{"row":', '{"name":"x","id":3}}', 'unknown'],
])('whose answer a line was that was not read: %s %s', (head, tail, id) => {
  expect(identifyOversize({ head, tail })).toBe(id);
});

async function* toBody(chunks: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield Buffer.from(chunk);
}

const gather = async (
  chunks: readonly string[],
  lastWords: string,
  read: (data: string) => readonly object[] = () => [],
): Promise<string> => {
  const cap = { maxMessageBytes: 30, onOversize: () => lastWords, isFlood: () => false, read };
  const parts: Uint8Array[] = [];
  for await (const part of capEvents(toBody(chunks), cap)) parts.push(part);
  return Buffer.concat(parts).toString();
};

test('an event stream may be as long as it likes, and each event no longer than the cap', async () => {
  const events = Array.from({ length: 20 }, (_, at) => `data: event ${at}\n\n`);
  expect(await gather(events, '')).toBe(events.join(''));
  expect(await gather(['data: 12345\r', '\n\r\n', 'data: 1234567\r\n\r', '\n'], '')).toContain('1234567');
  expect(await gather(['data: a\n\ndata: ', 'x'.repeat(40), 'y'], '!')).toBe('data: a\n\n!');
});

test('an event comes as the messages that its data was read as, however its lines end', async () => {
  const read = (data: string): readonly object[] => [{ data }];
  expect(await gather(['id: 7\r\ndata: a\r\n', 'data:b\r\n\r\n'], '', read)).toBe('id: 7\ndata: {"data":"a\\nb"}\n\n');
  expect(await gather(['event: message\ndata: a\n\n'], '', read)).toBe('event: message\ndata: {"data":"a"}\n\n');
  expect(await gather(['event: other\ndata: a\n\n', ': c\n\n'], '', read)).toBe('event: other\ndata: a\n\n: c\n\n');
});

test('any other body is measured as a whole', async () => {
  await expect(readWhole(toBody(['12345\n\n67890', '12345\n\n67890']), 20)).rejects.toThrow('the answer is too large');
});
