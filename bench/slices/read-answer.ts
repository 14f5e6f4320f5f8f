/** Where the answer at the beginning of what was received ends; null while some of it is missing. */
export type AnswerEnd = { readonly body: number; readonly end: number };

const HEAD_END = '\r\n\r\n';
const LENGTH = /\r\ncontent-length: (\d+)/i;
const CHUNKED = /\r\ntransfer-encoding: chunked/i;
const LAST_CHUNK = '\r\n0\r\n\r\n';

/** Reads an HTTP/1.1 answer without redirects and trailers. Throws where nothing tells its length. */
export const findAnswerEnd = (received: string): AnswerEnd | null => {
  const headEnd = received.indexOf(HEAD_END);
  if (headEnd === -1) return null;
  const head = received.slice(0, headEnd);
  const body = headEnd + HEAD_END.length;
  const length = LENGTH.exec(head)?.[1];
  if (length !== undefined) {
    const end = body + Number(length);
    return received.length < end ? null : { body, end };
  }
  if (!CHUNKED.test(head)) throw new Error(`An answer says nothing of its length: ${head}`);
  const last = received.indexOf(LAST_CHUNK, headEnd);
  return last === -1 ? null : { body, end: last + LAST_CHUNK.length };
};
