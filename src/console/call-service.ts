import type { Answer } from './answer.ts';
import { parseJson } from './parse-json.ts';
import { memberOf, recordOf, textOf } from './read-json.ts';

export type Request = {
  readonly path: string;
  readonly key: string;
  readonly method?: 'GET' | 'POST' | 'DELETE';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
};

/** Asks the service this page came from; never rejects. The key goes into a header, and nowhere else. */
export const callService = (request: Request): Promise<Answer> => {
  const { path, key, method = 'GET', headers = {}, body = null, signal = null } = request;
  const authorization: Readonly<Record<string, string>> = key === '' ? {} : { authorization: `Bearer ${key}` };
  // `document.baseURI` is the page, `…/console`: the API lies beside it, also below the prefix of a proxy.
  return fetch(new URL(path, document.baseURI), {
    method,
    headers: { ...headers, ...authorization },
    body,
    signal,
    cache: 'no-store',
    credentials: 'omit',
    redirect: 'error',
    referrerPolicy: 'no-referrer',
  })
    .then(toAnswer)
    .then(
      (answer) => answer,
      () => ({ kind: signal?.aborted === true ? 'aborted' : 'unreachable' }) as const,
    );
};

const toAnswer = async (response: Response): Promise<Answer> => {
  const text = await response.text();
  const parsed = parseJson(text);
  const body = parsed.kind === 'value' ? parsed.value : undefined;
  if (response.status === 204 || (response.ok && parsed.kind === 'value')) return { kind: 'done', text, body };
  const problem = recordOf(body);
  return {
    kind: 'refused',
    status: response.status,
    code: textOf(memberOf(problem, 'code')),
    detail: textOf(memberOf(problem, 'detail'), 'The answer is not from this service: a proxy may have given it.'),
    requestId: textOf(memberOf(problem, 'request_id')),
    retryAfterSeconds: toSeconds(response.headers.get('retry-after')),
  };
};

const toSeconds = (header: string | null): number | null =>
  header !== null && /^\d{1,9}$/.test(header) ? Number(header) : null;

/** What a browser can send as a header, and a key may consist of. */
export const isSendableKey = (key: string): boolean => /^[\x21-\x7e]*$/.test(key);

/** Whether a name can stand in a path: `.` and `..` are steps in it, however they are encoded. */
export const isAddressable = (name: string): boolean => name !== '' && name !== '.' && name !== '..';
