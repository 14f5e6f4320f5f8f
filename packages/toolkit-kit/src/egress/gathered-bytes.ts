/** Bytes that come in pieces. */
type GatheredBytes = {
  readonly add: (piece: Uint8Array) => void;
  /** All pieces so far, in one buffer of its own. */
  readonly toBuffer: () => Buffer;
};

const MOST_PIECES = 1_024;

/**
 * Gathers pieces and holds a few of them at most: a piece is an object of its own, and keeps all that was read together
 * with it from the wire. Half a megabyte that came byte by byte took seventy megabytes.
 */
export const createGatheredBytes = (): GatheredBytes => {
  const blocks: Buffer[] = [];
  let pieces: Uint8Array[] = [];
  return {
    add: (piece) => {
      pieces.push(piece);
      if (pieces.length < MOST_PIECES) return;
      blocks.push(Buffer.concat(pieces));
      pieces = [];
    },
    toBuffer: () => Buffer.concat([...blocks, ...pieces]),
  };
};
