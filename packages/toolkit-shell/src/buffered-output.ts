/** What was kept of a stream, as text. */
export type BufferedText = {
  readonly text: string;
  /** Bytes that were cut out of the middle. */
  readonly cutBytes: number;
  readonly lines: number;
};

/** The beginning and the end of a stream of any length, in memory that does not grow with it. */
export type BufferedOutput = {
  readonly add: (chunk: Buffer) => void;
  readonly totalBytes: () => number;
  readonly toKept: () => BufferedText;
};

const NEWLINE = 0x0a;
// What JSON escapes to six characters, and terminals take for commands. Tab, newline and carriage return stay.
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this looks for.
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;
const REPLACEMENT = '\ufffd';
// A character of UTF-8 has at most three bytes beyond its first.
const MOST_FURTHER_BYTES = 3;

/** Keeps `limitBytes`: half of it from the beginning, the rest from the end. */
export const createBufferedOutput = (limitBytes: number): BufferedOutput => {
  const head = Buffer.alloc(Math.floor(limitBytes / 2));
  const tail = Buffer.alloc(limitBytes - head.length);
  let total = 0;
  let newlines = 0;
  let lastByte = NEWLINE;

  const addToTail = (rest: Buffer, offset: number): void => {
    const last = rest.subarray(Math.max(0, rest.length - tail.length));
    const at = (offset + rest.length - last.length) % tail.length;
    const written = last.copy(tail, at);
    last.copy(tail, 0, written);
  };

  const add = (chunk: Buffer): void => {
    const toHead = total < head.length ? chunk.copy(head, total) : 0;
    // The end of the stream begins where its first part is full.
    if (toHead < chunk.length) addToTail(chunk.subarray(toHead), total + toHead - head.length);
    total += chunk.length;
    newlines += countNewlines(chunk);
    lastByte = chunk.at(-1) ?? lastByte;
  };

  const toTail = (): Buffer => {
    const given = total - head.length;
    if (given <= tail.length) return tail.subarray(0, Math.max(0, given));
    const at = given % tail.length;
    return Buffer.concat([tail.subarray(at), tail.subarray(0, at)]);
  };

  return {
    add,
    totalBytes: () => total,
    toKept: () => {
      const cutBytes = Math.max(0, total - limitBytes);
      const lines = newlines + (lastByte === NEWLINE ? 0 : 1);
      const first = head.subarray(0, Math.min(total, head.length));
      if (cutBytes === 0) return { text: toText(Buffer.concat([first, toTail()])), cutBytes, lines };
      const text = `${toText(withoutBrokenEnd(first))}\n[… ${cutBytes} bytes cut …]\n${toText(withoutBrokenStart(toTail()))}`;
      return { text, cutBytes, lines };
    },
  };
};

const countNewlines = (chunk: Buffer): number => {
  let count = 0;
  for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, at + 1)) count += 1;
  return count;
};

/** Bytes that are no UTF-8, and control characters, become U+FFFD: `\0` too. */
const toText = (bytes: Buffer): string => bytes.toString().replace(CONTROL, REPLACEMENT);

const isFurther = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;

const withoutBrokenStart = (bytes: Buffer): Buffer => {
  let at = 0;
  while (at < MOST_FURTHER_BYTES && isFurther(bytes[at])) at += 1;
  return bytes.subarray(at);
};

const withoutBrokenEnd = (bytes: Buffer): Buffer => {
  let at = bytes.length - 1;
  while (at > bytes.length - 1 - MOST_FURTHER_BYTES && isFurther(bytes[at])) at -= 1;
  const first = bytes[at] ?? 0;
  const wanted = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
  return at + wanted > bytes.length ? bytes.subarray(0, at) : bytes;
};
