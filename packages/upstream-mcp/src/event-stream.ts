import { setImmediate as nextTurn } from 'node:timers/promises';
import { createGatheredBytes } from '@recourse/toolkit-kit/egress/gathered-bytes';
import { JsonDensity } from './message-limits.ts';

type EventCap = {
  /** Of one event: of what a stream sends between two blank lines. */
  readonly maxMessageBytes: number;
  /** Reads the data of an event as messages; where there are none the event is handed on as it came. */
  readonly read: (data: string) => readonly object[];
  /** Called once an event is larger, or too dense to be parsed: what the stream ends with then. May throw. */
  readonly onOversize: () => string;
  /** Counts one more line of all event streams of a connection. A stream ends where they are too many. */
  readonly isFlood: () => boolean;
};

/** Of what was measured last: a part of an event, its end, or why the stream ends. */
type Verdict = 'part' | 'event' | 'oversize' | 'flood';

// Of an event stream, in one turn of the event loop.
const LINES_A_TURN = 50;
const PIECES_A_TURN = 50;
const [LINE_FEED, RETURN] = [10, 13] as const;

/**
 * An event stream of messages as they were read, as long as no event is larger than the cap. Other work has its turn
 * between events: the SDK takes all messages of a piece at once, a third of a millisecond for a bad one.
 */
export async function* capEvents(body: AsyncIterable<unknown>, cap: EventCap): AsyncGenerator<Uint8Array> {
  let event = createGatheredBytes();
  let pieces = 0;
  for await (const { piece, verdict, isLast } of toPieces(body, cap)) {
    if (verdict === 'flood') return;
    if (verdict === 'oversize') return yield Buffer.from(cap.onOversize());
    event.add(piece);
    if (verdict === 'event') {
      yield Buffer.from(toReadEvent(event.toBuffer().toString('utf8'), cap.read));
      event = createGatheredBytes();
    }
    pieces += 1;
    // What comes meanwhile is one piece, in however many it was sent.
    if (!isLast || pieces % PIECES_A_TURN === 0) await nextTurn();
  }
}

/** WHATWG HTML, section 9.2.6: fields of an event, of which `data` may have several lines. */
const toReadEvent = (event: string, read: EventCap['read']): string => {
  const lines = event.split(/\r\n|\r|\n/).filter((line) => line !== '');
  const data = lines.filter(isData).map((line) => line.slice('data:'.length).replace(/^ /, ''));
  const isMessage = lines.every((line) => !line.startsWith('event:') || /^event: ?message$/.test(line));
  const messages = isMessage && data.length > 0 ? read(data.join('\n')) : [];
  if (messages.length === 0) return event;
  const others = lines.filter((line) => !isData(line)).map((line) => `${line}\n`);
  return `${others.join('')}${messages.map((message) => `data: ${JSON.stringify(message)}\n\n`).join('')}`;
};

const isData = (line: string): boolean => line === 'data' || line.startsWith('data:');

async function* toPieces(body: AsyncIterable<unknown>, cap: EventCap) {
  const measure = createEventMeasure(cap);
  for await (const part of body) {
    for (let rest = part instanceof Uint8Array ? part : new Uint8Array(0); rest.length > 0; ) {
      const { to, verdict } = measure(rest);
      const piece = rest.subarray(0, to);
      rest = rest.subarray(to);
      yield { piece, verdict, isLast: rest.length === 0 };
    }
  }
}

/** What a byte is to its line. A line may end with both signs, which are then one end. */
const createLineEnds = (): ((byte: number) => 'inside' | 'end' | 'blank_end') => {
  let isEmpty = true;
  let wasReturn = false;
  return (byte) => {
    const isSecondSign = wasReturn && byte === LINE_FEED;
    wasReturn = byte === RETURN;
    if (isSecondSign) return 'inside';
    const isBlank = isEmpty;
    isEmpty = byte === LINE_FEED || byte === RETURN;
    if (!isEmpty) return 'inside';
    return isBlank ? 'blank_end' : 'end';
  };
};

/** Measures up to some lines of a part, or to the end of an event: the place after them. */
const createEventMeasure = ({ maxMessageBytes, isFlood }: EventCap) => {
  const readByte = createLineEnds();
  let density = new JsonDensity();
  let length = 0;
  /** The place after the next line end, or the end of the part; and whether an event ends there. */
  const readLine = (part: Uint8Array, from: number): { readonly to: number; readonly isEventOver: boolean } => {
    let end = readByte(part[from] ?? 0);
    let to = from + 1;
    for (; end === 'inside' && to < part.length; to += 1) end = readByte(part[to] ?? 0);
    length += to - from;
    density.read(part, from, to);
    return { to, isEventOver: end === 'blank_end' };
  };
  const judge = (isEventOver: boolean): Verdict => {
    if (isFlood()) return 'flood';
    if (!isEventOver) return length > maxMessageBytes || density.isTooDense ? 'oversize' : 'part';
    length = 0;
    density = new JsonDensity();
    return 'event';
  };
  return (part: Uint8Array): { readonly to: number; readonly verdict: Verdict } => {
    let to = 0;
    let verdict: Verdict = 'part';
    for (let lines = 0; lines < LINES_A_TURN && to < part.length && verdict === 'part'; lines += 1) {
      const line = readLine(part, to);
      to = line.to;
      verdict = judge(line.isEventOver);
    }
    return { to, verdict };
  };
};
