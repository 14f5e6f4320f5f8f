import { setImmediate as nextTurn } from 'node:timers/promises';
import { createGatheredBytes } from '../gathered-bytes.ts';
import { createJsonDensity } from './json-density.ts';
import type { LineRate } from './line-rate.ts';
import { toHttpError } from './upstream-http-error.ts';

export type BodyCap = {
  /** Of one message: of the whole body, or of what an event stream sends between two blank lines. */
  readonly maxMessageBytes: number;
  readonly form: 'whole' | 'events';
  /** Asked once a message is larger, or too dense to be parsed: what the stream ends with then; null = it ends with an error. */
  readonly onOversize: () => string | null;
  /** Counts the lines of all event streams of a connection. A stream ends where they are too many. */
  readonly rate: LineRate;
};

// Of an event stream, in one turn of the event loop.
const LINES_A_TURN = 50;
const PIECES_A_TURN = 50;
const [LINE_FEED, RETURN] = [10, 13] as const;

/**
 * A body as it comes, as long as no message in it is larger than the cap. Events come a few lines at a time, and other
 * work has its turn between them: the SDK takes all messages of a piece at once, a third of a millisecond for a bad one.
 */
export async function* capBody(body: AsyncIterable<unknown>, cap: BodyCap): AsyncGenerator<Uint8Array> {
  if (cap.form === 'whole') yield await readWhole(body, cap);
  else yield* readEvents(body, cap);
}

const readWhole = async (body: AsyncIterable<unknown>, cap: BodyCap): Promise<Uint8Array> => {
  const density = createJsonDensity();
  const gathered = createGatheredBytes();
  let length = 0;
  for await (const part of body) {
    if (!(part instanceof Uint8Array)) continue;
    length += part.length;
    density.read(part, 0, part.length);
    if (length > cap.maxMessageBytes || density.isTooDense()) return Buffer.from(toLastWords(cap));
    gathered.add(part);
  }
  return gathered.toBuffer();
};

async function* readEvents(body: AsyncIterable<unknown>, cap: BodyCap): AsyncGenerator<Uint8Array> {
  const measure = createEventMeasure(cap);
  let pieces = 0;
  for await (const { piece, isLast } of toPieces(body, measure)) {
    if (piece === 'flood') return;
    if (piece === 'oversize') return yield Buffer.from(toLastWords(cap));
    yield piece;
    pieces += 1;
    // What comes meanwhile is one piece, in however many it was sent.
    if (!isLast || pieces % PIECES_A_TURN === 0) await nextTurn();
  }
}

type Piece = { readonly piece: Uint8Array | 'flood' | 'oversize'; readonly isLast: boolean };

async function* toPieces(body: AsyncIterable<unknown>, measure: Measure): AsyncGenerator<Piece> {
  for await (const part of body) {
    for (let rest = toBytes(part); rest.length > 0; ) {
      const { to, verdict } = measure(rest);
      const piece = verdict === 'fine' ? rest.subarray(0, to) : verdict;
      rest = rest.subarray(to);
      yield { piece, isLast: rest.length === 0 };
    }
  }
}

const toBytes = (part: unknown): Uint8Array => (part instanceof Uint8Array ? part : new Uint8Array(0));

const toLastWords = ({ onOversize }: BodyCap): string => {
  const lastWords = onOversize();
  if (lastWords === null) throw toHttpError({ kind: 'too_large' });
  return lastWords;
};

type Measured = { readonly to: number; readonly verdict: 'fine' | 'oversize' | 'flood' };
type Measure = (part: Uint8Array) => Measured;

/** Measures up to some lines of a part, event by event. */
const createEventMeasure = ({ maxMessageBytes, rate }: BodyCap): Measure => {
  const density = createJsonDensity();
  let length = 0;
  let isLineEmpty = true;
  // A line may end with both signs, which are then one end.
  let wasReturn = false;
  const endLine = (): void => {
    if (isLineEmpty) {
      length = 0;
      density.reset();
    }
    isLineEmpty = true;
  };
  /** Whether this byte ends a line: the second sign of an end does not end another one. */
  const endsLine = (byte: number | undefined): boolean => {
    const isSecondSign = wasReturn && byte === LINE_FEED;
    wasReturn = byte === RETURN;
    const isEnd = !isSecondSign && (byte === LINE_FEED || byte === RETURN);
    if (!isEnd && !isSecondSign) isLineEmpty = false;
    return isEnd;
  };
  /** The place after the next line end, or the end of the part. */
  const readLine = (part: Uint8Array, from: number): number => {
    let at = from;
    while (at < part.length && !endsLine(part[at])) at += 1;
    const to = Math.min(part.length, at + 1);
    length += to - from;
    density.read(part, from, to);
    if (at < part.length) endLine();
    return to;
  };
  return (part) => {
    let to = 0;
    for (let lines = 0; lines < LINES_A_TURN && to < part.length; lines += 1) {
      to = readLine(part, to);
      if (length > maxMessageBytes || density.isTooDense()) return { to, verdict: 'oversize' };
      if (rate.add() === 'flood') return { to, verdict: 'flood' };
    }
    return { to, verdict: 'fine' };
  };
};
