import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ProblemError } from './problem-handler.ts';

/** A parsed body together with its text: only the text tells how a number was written. */
export type JsonBody = { readonly value: unknown; readonly source: string };

const MEDIA_TYPE = 'Send application/json in UTF-8, without Content-Encoding.';

/**
 * Takes application/json in UTF-8 and nothing else. Fastify's own parser would take text/plain, read UTF-16 and gzip
 * as UTF-8, turn invalid bytes into U+FFFD, and refuse a whole batch for one `__proto__`.
 */
export const addJsonBodyParser = (app: FastifyInstance): void => {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  app.removeAllContentTypeParsers();
  const parseBody = async (request: FastifyRequest, bytes: Buffer): Promise<JsonBody> => {
    checkEncoding(request.headers['content-type'] ?? '', request.headers['content-encoding']);
    const source = decode(decoder, bytes);
    return { value: parse(source), source };
  };
  app.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, parseBody);
};

const checkEncoding = (contentType: string, contentEncoding: string | undefined): void => {
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(contentType)?.[1] ?? 'utf-8';
  if (!/^utf-?8$/i.test(charset) || !/^(identity)?$/i.test(contentEncoding ?? ''))
    throw new ProblemError(415, 'unsupported_media_type', MEDIA_TYPE);
};

const decode = (decoder: TextDecoder, bytes: Buffer): string => {
  try {
    return decoder.decode(bytes);
  } catch (_invalid) {
    throw new ProblemError(400, 'invalid_utf8', 'The body is not valid UTF-8.');
  }
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
