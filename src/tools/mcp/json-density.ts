/** How much a JSON text makes its parser do, counted before anything parses it. */
export type JsonDensity = {
  /** Counts the bytes from `from` up to `to`. A text may come in pieces. */
  readonly read: (bytes: Uint8Array, from: number, to: number) => void;
  readonly isTooDense: () => boolean;
  /** What follows is another text. */
  readonly reset: () => void;
};

// Values and names of members. An answer of the permitted size could hold eight million: parsing, checking and
// cutting those took thirteen seconds, in which the service answered nothing.
const MOST_PARTS = 200_000;
// Messages of one body. The SDK checks each of them, all in one turn of the event loop.
const MOST_MESSAGES = 100;

const [LINE_FEED, RETURN, QUOTE, COMMA, COLON, BACKSLASH] = [10, 13, 34, 44, 58, 92] as const;
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [91, 93, 123, 125] as const;

/** Counts commas, colons and opening brackets outside of strings. A line end ends a string: JSON holds none inside. */
export const createJsonDensity = (): JsonDensity => {
  let place: 'outside' | 'string' | 'escape' = 'outside';
  let parts = 0;
  let messages = 0;
  let depth = 0;
  let isList = false;
  const open = (byte: number): void => {
    if (depth === 0) isList = byte === OPEN_LIST;
    depth += 1;
    parts += 1;
  };
  const separate = (byte: number): void => {
    parts += 1;
    if (byte === COMMA && depth === 1 && isList) messages += 1;
  };
  const readOutside = (byte: number): void => {
    switch (byte) {
      case QUOTE:
        place = 'string';
        return;
      case COMMA:
      case COLON:
        separate(byte);
        return;
      case OPEN_LIST:
      case OPEN_OBJECT:
        open(byte);
        return;
      case CLOSE_LIST:
      case CLOSE_OBJECT:
        depth -= 1;
    }
  };
  const readInside = (byte: number): void => {
    if (byte === LINE_FEED || byte === RETURN) place = 'outside';
    else if (place === 'escape') place = 'string';
    else if (byte === BACKSLASH) place = 'escape';
    else if (byte === QUOTE) place = 'outside';
  };
  return {
    read: (bytes, from, to) => {
      for (let at = from; at < to; at += 1) {
        const byte = bytes[at] ?? 0;
        if (place === 'outside') readOutside(byte);
        else readInside(byte);
      }
    },
    isTooDense: () => parts > MOST_PARTS || messages > MOST_MESSAGES,
    reset: () => {
      place = 'outside';
      parts = 0;
      messages = 0;
      depth = 0;
      isList = false;
    },
  };
};
