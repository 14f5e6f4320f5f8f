import type { ServerResponse } from 'node:http';

/** How the stand-in misbehaves instead of answering. */
export type Fault =
  /** Any status, with Google's error as JSON. */
  | {
      readonly kind: 'status';
      readonly status: number;
      readonly reason?: string;
      readonly message?: string;
      /** `PERMISSION_DENIED` */
      readonly word?: string;
      readonly location?: string;
      readonly details?: readonly unknown[];
      readonly headers?: Readonly<Record<string, string>>;
    }
  /** A whole answer of HTTP, with JSON that ends in the middle. */
  | { readonly kind: 'truncated_json' }
  /** 200 with any body. */
  | { readonly kind: 'body'; readonly body: string; readonly type?: string }
  /** The connection ends before the body that was announced. */
  | { readonly kind: 'cut_connection' }
  /** The head of an answer and the beginning of its body, and no more until the other side has given up. */
  | { readonly kind: 'drip' }
  /** No answer until the other side has given up. */
  | { readonly kind: 'silence' };

/** Google's error as JSON, in the form that old and new APIs share. */
export const toGoogleError = ({ status, ...fault }: Extract<Fault, { readonly kind: 'status' }>): string => {
  const { reason = 'backendError', message = `Error ${status}`, word = 'UNKNOWN', location, details } = fault;
  const first = { message, domain: 'global', reason, ...(location === undefined ? {} : { location }) };
  const more = details === undefined ? {} : { details };
  return JSON.stringify({ error: { code: status, message, errors: [first], status: word, ...more } });
};

const JSON_TYPE = 'application/json; charset=UTF-8';

/** Answers with the fault. */
export const sendFault = (fault: Fault, response: ServerResponse): void => {
  switch (fault.kind) {
    case 'status':
      response.writeHead(fault.status, { 'content-type': JSON_TYPE, ...fault.headers }).end(toGoogleError(fault));
      return;
    case 'truncated_json':
      response.writeHead(200, { 'content-type': JSON_TYPE }).end('{"files":[{"id":"a","na');
      return;
    case 'body':
      response.writeHead(200, { 'content-type': fault.type ?? JSON_TYPE }).end(fault.body);
      return;
    case 'cut_connection':
      response.writeHead(200, { 'content-type': JSON_TYPE, 'content-length': '1000' });
      response.write('{"files":[');
      setImmediate(() => response.destroy());
      return;
    case 'drip':
      response.writeHead(200, { 'content-type': JSON_TYPE }).write('{"files":[');
      return;
    case 'silence':
      // The stand-in ends the connection when it closes, if the other side does not.
      return;
  }
};
