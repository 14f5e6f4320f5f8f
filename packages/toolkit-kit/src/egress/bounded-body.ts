import { addAbortSignal, pipeline, type Readable, Transform } from 'node:stream';
import { constants, createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';
import { codeOf } from './error-code.ts';
import { createGatheredBytes } from './gathered-bytes.ts';

/** The beginning of a body, decompressed. `cut` says why the rest is missing. */
export type BoundedBody = { readonly bytes: Uint8Array; readonly cut: 'size' | 'time' | null };

/** The body came in a form that cannot be read: a coding we do not know, or broken compressed data. */
export class UnreadableBodyError extends Error {
  override readonly name: string = 'UnreadableBodyError';
}

/** What to send as Accept-Encoding: codings whose decoders work in bounded memory. */
export const ACCEPT_ENCODING = 'gzip, br, zstd';

// The window RFC 9659 allows on the web (8 MB); the decoder's own limit is 128 MB for each body.
const ZSTD_LARGEST_WINDOW_LOG = 23;

const DECODERS = new Map<string, () => Transform | null>([
  ['', () => null],
  ['identity', () => null],
  ['gzip', () => createGunzip()],
  ['x-gzip', () => createGunzip()],
  ['deflate', () => createInflate()],
  ['br', () => createBrotliDecompress()],
  ['zstd', () => createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: ZSTD_LARGEST_WINDOW_LOG } })],
]);

// Compressed text is not larger than the text, but the streams read ahead of the decoder, some hundred kilobytes. Without
// this bound an endless body that decompresses to nothing would run until the deadline.
const WIRE_ALLOWANCE_BYTES = 1_048_576;

/**
 * Reads a body up to `maxBytes` decompressed bytes and until `signal` aborts, then closes it: what has arrived by then
 * is the answer. Memory stays within `maxBytes` and a few buffers, whatever the body expands to. (undici's
 * `maxResponseSize`, 8.12, counts compressed bytes: 1 MB let 200 MB through.) Throws an UnreadableBodyError, and
 * what the connection throws when it breaks.
 */
export const readBoundedBody = async (
  body: Readable,
  limits: { readonly encoding: string; readonly maxBytes: number; readonly signal: AbortSignal },
): Promise<BoundedBody> => {
  const { encoding, maxBytes, signal } = limits;
  const gathered = createGatheredBytes();
  let held = 0;
  try {
    for await (const chunk of openDecoded(body, encoding, maxBytes + WIRE_ALLOWANCE_BYTES, signal)) {
      gathered.add(chunk);
      held += chunk.byteLength;
      if (held > maxBytes) break;
    }
  } catch (thrown) {
    if (!signal.aborted) throw classifyReadError(thrown);
    return { bytes: gathered.toBuffer(), cut: 'time' };
  } finally {
    discardBody(body);
  }
  return { bytes: gathered.toBuffer().subarray(0, maxBytes), cut: held > maxBytes ? 'size' : null };
};

/** Closes a body that nobody reads, and its connection. The error this makes of an unread rest is expected. */
export const discardBody = (body: Readable): void => {
  body.on('error', () => undefined).destroy();
};

const openDecoded = (
  body: Readable,
  encoding: string,
  maxWireBytes: number,
  signal: AbortSignal,
): AsyncIterable<Uint8Array> => {
  const createDecoder = DECODERS.get(encoding.trim().toLowerCase());
  if (createDecoder === undefined) throw new UnreadableBodyError(`content coding ${encoding}`);
  addAbortSignal(signal, body);
  const decoder = createDecoder();
  if (decoder === null) return body;
  // The loop that reads the decoder hears its errors; the callback only keeps them from being thrown twice.
  return pipeline(body, createMeter(maxWireBytes), decoder, () => undefined);
};

const createMeter = (maxWireBytes: number): Transform => {
  let passed = 0;
  return new Transform({
    transform: (chunk: Uint8Array, _encoding, done) => {
      passed += chunk.byteLength;
      if (passed > maxWireBytes) done(new UnreadableBodyError('compressed data larger than its content'));
      else done(null, chunk);
    },
  });
};

const ZLIB_CODE = /^(Z_|ERR__|ERR_BROTLI|ERR_ZLIB|ZSTD_)/;

const classifyReadError = (thrown: unknown): unknown =>
  ZLIB_CODE.test(codeOf(thrown)) ? new UnreadableBodyError('broken compressed data', { cause: thrown }) : thrown;
