import type { IncomingMessage } from 'node:http';
import { ProblemError, wordsOf } from './problems.ts';

type Done = (error: ProblemError | null, bytes: Buffer) => void;

/**
 * Reads the body of a request of at most `limit` bytes; problems are 413 for one that is longer, 400 for one that breaks off. Not
 * Fastify's own reading, which copies what came in one piece and takes its listeners off again: 4 % of a request of one call.
 * What it gives may be a part of what was read of the connection: whoever keeps it, copies it.
 */
export const readBytes = (request: IncomingMessage, limit: number, done: Done): void => {
  if (Number(request.headers['content-length'] ?? 0) > limit) {
    done(problemOf(413), NOTHING);
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
    if (length > limit) end(problemOf(413));
  });
  request.on('end', () => end(null));
  request.on('error', () => end(problemOf(400)));
};

const NOTHING = Buffer.alloc(0);

const problemOf = (status: number): ProblemError => new ProblemError(status, ...wordsOf(status));
