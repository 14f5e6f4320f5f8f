/** One message between the service and a tool host: a small JSON head, and a body whose text is not parsed with it. */
export type Frame = { readonly head: string; readonly body: string };

const PREFIX_BYTES = 8;
// A hundred issues of the arguments, each with its four texts.
const MAX_HEAD_BYTES = 4_194_304;

/** The bytes of a frame: the lengths of head and body as 32-bit big-endian numbers, then both as UTF-8. */
export const encodeFrame = (head: string, body = ''): Buffer => {
  const headBytes = Buffer.byteLength(head);
  const bodyBytes = Buffer.byteLength(body);
  const bytes = Buffer.allocUnsafe(PREFIX_BYTES + headBytes + bodyBytes);
  bytes.writeUInt32BE(headBytes, 0);
  bytes.writeUInt32BE(bodyBytes, 4);
  bytes.write(head, PREFIX_BYTES, headBytes, 'utf8');
  if (bodyBytes > 0) bytes.write(body, PREFIX_BYTES + headBytes, bodyBytes, 'utf8');
  return bytes;
};

/**
 * Puts frames together from what a socket gives. Never holds more than one frame: a length beyond `maxBodyBytes` is a
 * fault before its first byte is kept, and after a fault nothing is read any more.
 */
export const createFrameReader = (options: {
  readonly maxBodyBytes: number;
  readonly onFrame: (frame: Frame) => void;
  readonly onFault: () => void;
}) => {
  let chunks: Buffer[] = [];
  let buffered = 0;
  let needed = PREFIX_BYTES;
  let broken = false;

  /** Takes whole frames off the front and gives the rest. */
  const takeFrames = (bytes: Buffer): Buffer => {
    let rest = bytes;
    needed = PREFIX_BYTES;
    while (rest.length >= PREFIX_BYTES) {
      const headBytes = rest.readUInt32BE(0);
      const bodyBytes = rest.readUInt32BE(4);
      if (headBytes > MAX_HEAD_BYTES || bodyBytes > options.maxBodyBytes) {
        broken = true;
        options.onFault();
        return EMPTY;
      }
      needed = PREFIX_BYTES + headBytes + bodyBytes;
      if (rest.length < needed) return rest;
      const bodyAt = PREFIX_BYTES + headBytes;
      const frame = { head: rest.toString('utf8', PREFIX_BYTES, bodyAt), body: rest.toString('utf8', bodyAt, needed) };
      rest = rest.subarray(needed);
      needed = PREFIX_BYTES;
      options.onFrame(frame);
    }
    return rest;
  };

  return {
    read: (chunk: Buffer): void => {
      if (broken) return;
      buffered += chunk.length;
      // Only put together once it is whole: a large frame comes in hundreds of chunks.
      if (buffered < needed) {
        chunks.push(chunk);
        return;
      }
      const rest = takeFrames(chunks.length === 0 ? chunk : Buffer.concat([...chunks, chunk]));
      if (rest.length > 0) chunks = [rest];
      else if (chunks.length > 0) chunks = [];
      buffered = rest.length;
    },
  };
};

const EMPTY = Buffer.alloc(0);
