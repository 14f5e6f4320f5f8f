// The prints of a round go as one text of hexadecimal digits: an argument of a command for each costs more than all the rest.

const POSITION_BYTES = 2;
const PRINT_BYTES = 7;
const HIGH = 2 ** 32;

/** Bytes that become one text of hexadecimal digits. */
export type HexRecords = {
  /** Forgets what was added and not taken: whoever added it has failed. */
  readonly begin: () => void;
  /** Which of the round's tools, from 1. */
  readonly addPosition: (position: number) => void;
  readonly addByte: (byte: number) => void;
  /** 53 bits as 14 digits. */
  readonly addPrint: (print: number) => void;
  /** All that was added since the beginning. */
  readonly take: () => string;
};

const createHexRecords = (): HexRecords => {
  let bytes = Buffer.alloc(4096);
  let length = 0;
  const reserve = (more: number): void => {
    if (length + more <= bytes.length) return;
    const larger = Buffer.alloc(2 * bytes.length);
    bytes.copy(larger, 0, 0, length);
    bytes = larger;
  };
  return {
    begin: () => {
      length = 0;
    },
    addPosition: (position) => {
      reserve(POSITION_BYTES);
      bytes[length] = position >>> 8;
      bytes[length + 1] = position;
      length += POSITION_BYTES;
    },
    addByte: (byte) => {
      reserve(1);
      bytes[length] = byte;
      length += 1;
    },
    addPrint: (print) => {
      reserve(PRINT_BYTES);
      const high = Math.floor(print / HIGH);
      bytes[length] = high >>> 16;
      bytes[length + 1] = high >>> 8;
      bytes[length + 2] = high;
      bytes[length + 3] = print >>> 24;
      bytes[length + 4] = print >>> 16;
      bytes[length + 5] = print >>> 8;
      bytes[length + 6] = print;
      length += PRINT_BYTES;
    },
    take: () => bytes.toString('hex', 0, length),
  };
};

/** One for all: a text is begun and taken without a wait between. */
export const hexRecords: HexRecords = createHexRecords();

/** A print as its digits. */
export const toPrintText = (print: number): string => {
  hexRecords.begin();
  hexRecords.addPrint(print);
  return hexRecords.take();
};
