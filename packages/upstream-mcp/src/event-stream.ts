import { setImmediate as nextTurn } from 'node:timers/promises';
import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { LineReader, type LongLine } from './line-reader.ts';

type EventOptions = {
  /** Of one event: of what a stream sends between two blank lines. */
  readonly maxMessageBytes: number;
  /** Reads the data of an event as messages. */
  readonly read: (data: string) => readonly JSONRPCMessage[];
  /** Called for an event that is larger: what the stream ends with. May throw. */
  readonly onOversize: () => readonly JSONRPCMessage[];
  /** Counts one more line of all event streams of a connection. A stream ends where they are too many. */
  readonly isFlood: () => boolean;
};

/**
 * An event stream (WHATWG HTML, section 9.2.6) of messages as they were read, as long as no event is larger than the cap.
 * Other work has its turn after each event: the SDK takes all messages of a piece at once.
 */
export async function* capEvents(body: AsyncIterable<unknown>, options: EventOptions): AsyncGenerator<Uint8Array> {
  for await (const event of readEvents(body, options)) {
    if (event === 'too_large') return yield writeMessages(options.onOversize());
    yield writeEvent(event, options.read);
    await nextTurn();
  }
}

/** The lines of each event, without the blank one at its end. */
async function* readEvents(
  body: AsyncIterable<unknown>,
  { maxMessageBytes, isFlood }: EventOptions,
): AsyncGenerator<readonly string[] | 'too_large'> {
  let event: string[] = [];
  let length = 0;
  for await (const line of readLines(body, maxMessageBytes)) {
    if (isFlood()) return;
    length += typeof line === 'string' ? Buffer.byteLength(line) : Number.POSITIVE_INFINITY;
    if (length > maxMessageBytes) return yield 'too_large';
    if (typeof line === 'string' && line !== '') {
      event.push(line);
      continue;
    }
    yield event;
    event = [];
    length = 0;
  }
}

async function* readLines(body: AsyncIterable<unknown>, maxBytes: number): AsyncGenerator<string | LongLine> {
  const reader = new LineReader(maxBytes);
  const toLineFeeds = createLineFeeds();
  for await (const part of body) {
    if (part instanceof Uint8Array) yield* reader.read(toLineFeeds(part));
    // It need not end to be too long.
    if (reader.openBytes > maxBytes) yield { head: '', tail: '' };
  }
}

/** A line may end with a line feed, a carriage return, or both, also where the two come in different pieces. */
const createLineFeeds = () => {
  let endedWithReturn = false;
  return (part: Uint8Array): Buffer => {
    const text = Buffer.from(part).toString('latin1');
    const rest = endedWithReturn && text.startsWith('\n') ? text.slice(1) : text;
    endedWithReturn = text.endsWith('\r');
    return Buffer.from(rest.replace(/\r\n?/g, '\n'), 'latin1');
  };
};

/** What is no message is dropped: the SDK would take a third of a millisecond to say so. An empty one may have an id. */
const writeEvent = (lines: readonly string[], read: EventOptions['read']): Uint8Array => {
  const data = lines.filter(isData).map((line) => line.slice('data:'.length).replace(/^ /, ''));
  const isMessage = lines.every((line) => !line.startsWith('event:') || /^event: ?message$/.test(line));
  const text = isMessage ? data.join('\n') : '';
  const others = text === '' ? [...lines, ''] : lines.filter((line) => !isData(line));
  return Buffer.concat([
    Buffer.from(others.map((line) => `${line}\n`).join('')),
    writeMessages(text === '' ? [] : read(text)),
  ]);
};

const writeMessages = (messages: readonly JSONRPCMessage[]): Buffer =>
  Buffer.from(messages.map((message) => `data: ${JSON.stringify(message)}\n\n`).join(''));

const isData = (line: string): boolean => line === 'data' || line.startsWith('data:');
