import { createGatheredBytes } from '../gathered-bytes.ts';
import { createJsonDensity } from './json-density.ts';

/** A line that was not kept: its beginning and its end, by which one may see whose answer it was. */
export type OversizeLine = { readonly head: string; readonly tail: string };

export type LineEvents = {
  readonly onLine: (line: string) => void;
  readonly onOversize: (line: OversizeLine) => void;
  /** A line has no end that anybody would wait for; nothing is told after this. */
  readonly onEndless: () => void;
};

export type LineLimits = {
  /** A longer line is skipped. */
  readonly maxLineBytes: number;
  /** `message`: a line too dense to be parsed is skipped as well. */
  readonly content: 'message' | 'text';
  /** More than this is not even skipped. */
  readonly maxSkippedBytes: number;
};

const KEPT_BYTES = 256;
const NEWLINE = 10;
const NOTHING = Buffer.alloc(0);

/** Cuts a stream into lines and keeps at most one line of `maxLineBytes` in memory, whatever comes. */
export const createMessageLines = (limits: LineLimits, events: LineEvents): ((chunk: Buffer) => void) => {
  let kept = createGatheredBytes();
  let length = 0;
  let head = '';
  let tail = NOTHING;
  let isEndless = false;
  const density = createJsonDensity();
  const isTooDense = (line: Buffer): boolean => {
    if (limits.content === 'text') return false;
    density.reset();
    density.read(line, 0, line.length);
    return density.isTooDense();
  };
  const isSkipping = (): boolean => length > limits.maxLineBytes;
  const add = (part: Buffer): void => {
    const wasSkipping = isSkipping();
    length += part.length;
    if (!wasSkipping && !isSkipping()) {
      kept.add(part);
      return;
    }
    if (!wasSkipping) {
      kept.add(part);
      head = toText(kept.toBuffer().subarray(0, KEPT_BYTES));
      kept = createGatheredBytes();
    }
    tail = Buffer.concat([tail, part.subarray(-KEPT_BYTES)]).subarray(-KEPT_BYTES);
  };
  const endKept = (line: Buffer): void => {
    if (!isTooDense(line)) events.onLine(line.toString('utf8').trimEnd());
    else events.onOversize({ head: toText(line.subarray(0, KEPT_BYTES)), tail: toText(line.subarray(-KEPT_BYTES)) });
  };
  const endLine = (): void => {
    if (isSkipping()) events.onOversize({ head, tail: tail.toString('utf8') });
    else endKept(kept.toBuffer());
    kept = createGatheredBytes();
    length = 0;
    tail = NOTHING;
  };
  const take = (part: Buffer, place: number): void => {
    if (isEndless) return;
    if (place > 0) endLine();
    add(part);
    isEndless = length > limits.maxSkippedBytes;
    if (isEndless) events.onEndless();
  };
  return (chunk) => toParts(chunk).forEach(take);
};

const toText = (bytes: Buffer): string => bytes.toString('utf8');

/** What lies before, between and after the line ends of a chunk. */
const toParts = (chunk: Buffer): readonly Buffer[] => {
  const parts: Buffer[] = [];
  let from = 0;
  for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, from)) {
    parts.push(chunk.subarray(from, end));
    from = end + 1;
  }
  return [...parts, chunk.subarray(from)];
};
