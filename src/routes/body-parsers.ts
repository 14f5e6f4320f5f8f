import { isAscii, isUtf8 } from 'node:buffer';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { BatchBody } from '../executor/batch-request.ts';
import { createHttpProblem, ProblemError } from './problems.ts';
import { takeBody } from './request-memory.ts';

/** A parsed body together with its text: only the text tells how a number was written. */
export type JsonBody = BatchBody & {
  readonly value: unknown;
  /** What it has taken of the memory for requests; 0: too few to count. */
  readonly bytes: number;
};

export const isJsonBody = (body: unknown): body is JsonBody =>
  typeof body === 'object' && body !== null && 'source' in body && typeof body.source === 'string';

const MEDIA_TYPE = 'Send application/json in UTF-8, without Content-Encoding.';

/**
 * Takes application/json in UTF-8 and nothing else. Fastify's own parser would take text/plain, read UTF-16 and gzip
 * as UTF-8, turn invalid bytes into U+FFFD, and refuse a whole batch for one `__proto__`.
 */
export const addJsonBodyParser = (app: FastifyInstance): void => {
  const readInSlices = createLargeBodyQueue();
  app.removeAllContentTypeParsers();
  // With a callback: a promise a request would be the dearer part of it.
  const limit = app.initialConfig.bodyLimit ?? Number.POSITIVE_INFINITY;
  app.addContentTypeParser('application/json', (request, _payload, done: Done) =>
    readBytes(request.raw, limit, (problem, bytes) => {
      if (problem !== null) done(problem);
      else if (bytes.length < LARGE_BYTES) read(request, bytes, done);
      else readInSlices({ request, bytes: Buffer.from(bytes), done });
    }),
  );
};

/**
 * Reads the body of a request of at most `limit` bytes; problems are 413 for one that is longer, 400 for one that breaks off. Not
 * Fastify's own reading, which copies what came in one piece and takes its listeners off again: 4 % of a request of one call.
 * What it gives may be a part of what was read of the connection: whoever keeps it, copies it.
 */
const readBytes = (
  request: FastifyRequest['raw'],
  limit: number,
  done: (error: ProblemError | null, bytes: Buffer) => void,
): void => {
  if (Number(request.headers['content-length'] ?? 0) > limit) {
    done(createHttpProblem(413), NOTHING);
    return;
  }
  const chunks: Buffer[] = [];
  let length = 0;
  let isDone = false;
  const end = (problem: ProblemError | null): void => {
    if (isDone) return;
    isDone = true;
    const [first] = chunks;
    const bytes = chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks, length);
    chunks.length = 0;
    done(problem, bytes);
  };
  request.on('data', (chunk: Buffer) => {
    if (isDone) return;
    length += chunk.length;
    chunks.push(chunk);
    if (length > limit) end(createHttpProblem(413));
  });
  request.on('end', () => end(null));
  request.on('error', () => end(createHttpProblem(400)));
};

const NOTHING = Buffer.alloc(0);

type Done = (error: Error | null, body?: JsonBody) => void;

const read = (request: FastifyRequest, bytes: Buffer, done: Done): void => {
  try {
    done(null, parseBody(request, bytes));
  } catch (error) {
    done(error instanceof Error ? error : new Error('The body could not be read.', { cause: error }));
  }
};

// Read and its calls begun within a tenth of a millisecond; the largest may take a hundred.
const LARGE_BYTES = 16_384;

/**
 * Reads large bodies one after the other, and after each one gives the event loop as many turns as it took milliseconds, for as long
 * as it took at most. Not one turn: libuv 1.52 accepts one connection a turn (libuv#3696), so that new clients waited seconds.
 */
const createLargeBodyQueue = () => {
  const waiting: Parameters<typeof begin>[0][] = [];
  let isBusy = false;
  let turnsLeft = 0;
  let restEndsAt = 0;
  const begin = ({ request, bytes, done }: { request: FastifyRequest; bytes: Buffer; done: Done }): void => {
    setImmediate(next);
    const startedAt = performance.now();
    read(request, bytes, done);
    const endedAt = performance.now();
    turnsLeft = Math.ceil(endedAt - startedAt);
    restEndsAt = 2 * endedAt - startedAt;
  };
  const next = (): void => {
    turnsLeft -= 1;
    if (turnsLeft > 0 && performance.now() < restEndsAt) {
      setImmediate(next);
      return;
    }
    const body = waiting.shift();
    isBusy = body !== undefined;
    if (body === undefined) return;
    begin(body);
    body.request.hold?.release();
  };
  return (body: Parameters<typeof begin>[0]): void => {
    if (!isBusy) {
      isBusy = true;
      begin(body);
      return;
    }
    // It is in memory while it waits, also where its client goes.
    body.request.hold?.retain();
    waiting.push(body);
  };
};

const parseBody = (request: FastifyRequest, bytes: Buffer): JsonBody => {
  checkEncoding(request.headers['content-type'] ?? '', request.headers['content-encoding']);
  const source = decode(bytes);
  const taken = takeBody(request.hold, source, request.headers['content-length']);
  return { value: parse(source), source, bytes: taken };
};

const checkEncoding = (contentType: string, contentEncoding: string | undefined): void => {
  if (contentType === 'application/json' && contentEncoding === undefined) return;
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(contentType)?.[1] ?? 'utf-8';
  if (!/^utf-?8$/i.test(charset) || !/^(identity)?$/i.test(contentEncoding ?? ''))
    throw new ProblemError(415, 'unsupported_media_type', MEDIA_TYPE);
};

const BYTE_ORDER_MARK = 0xfeff;

const decode = (bytes: Buffer): string => {
  // As nearly all bodies are; it is read in half of the time.
  if (isAscii(bytes)) return bytes.toString('latin1');
  if (!isUtf8(bytes)) throw new ProblemError(400, 'invalid_utf8', 'The body is not valid UTF-8.');
  const text = bytes.toString('utf8');
  return text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text;
};

const parse = (source: string): unknown => {
  if (source.trim() === '')
    throw new ProblemError(400, 'invalid_json', 'The body is empty. Send a JSON object with calls.');
  try {
    return JSON.parse(source);
  } catch (error) {
    const problem = error instanceof Error ? error.message.slice(0, 200) : 'not JSON';
    throw new ProblemError(400, 'invalid_json', `The body is not valid JSON: ${problem}.`);
  }
};

/** Requests to these routes need no body. Clients that send one, or announce an empty one as JSON, are answered all the same. */
export const ignoreBodies = (routes: FastifyInstance): void => {
  routes.removeAllContentTypeParsers();
  routes.addContentTypeParser('*', (_request, payload, done) => {
    payload.resume();
    done(null);
  });
};
