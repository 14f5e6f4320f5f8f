const MOST_PIECES = 1_024;

/**
 * Gathers pieces and holds a few of them at most: a piece is an object of its own, and keeps all that was read together
 * with it from the wire. Half a megabyte that came byte by byte took seventy megabytes.
 */
export const createGatheredBytes = () => {
  const blocks: Buffer[] = [];
  let pieces: Uint8Array[] = [];
  return {
    add: (piece: Uint8Array): void => {
      pieces.push(piece);
      if (pieces.length < MOST_PIECES) return;
      blocks.push(Buffer.concat(pieces));
      pieces = [];
    },
    /** All pieces so far, in one buffer of its own. */
    toBuffer: (): Buffer => Buffer.concat([...blocks, ...pieces]),
  };
};
