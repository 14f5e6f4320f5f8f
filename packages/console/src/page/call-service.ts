import { readAnswerStream, type StreamEvent } from './answer-stream.ts';
import type { Answer } from './answers.ts';
import { membersOf, parseJson } from './json.ts';

export type Request = {
  readonly path: string;
  readonly key: string;
  readonly method?: 'GET' | 'POST' | 'DELETE';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
  /** Hears of what happens before the answer is whole; left out: the answer comes in one piece. */
  readonly watch?: (event: StreamEvent) => void;
};

/** Asks the service this page came from; never rejects. The key goes into a header, and nowhere else. */
export const callService = (request: Request): Promise<Answer> => {
  const { path, key, method = 'GET', headers = {}, body = null, signal = null, watch } = request;
  const accepted: Readonly<Record<string, string>> = watch === undefined ? {} : { accept: NDJSON };
  const authorization: Readonly<Record<string, string>> = key === '' ? {} : { authorization: `Bearer ${key}` };
  // `document.baseURI` is the page, `…/console`: the API lies beside it, also below the prefix of a proxy.
  return fetch(new URL(path, document.baseURI), {
    method,
    headers: { ...headers, ...accepted, ...authorization },
    body,
    signal,
    cache: 'no-store',
    credentials: 'omit',
    redirect: 'error',
    referrerPolicy: 'no-referrer',
  })
    .then((response) => toAnswer(response, watch))
    .then(
      (answer) => answer,
      () => ({ kind: signal?.aborted === true ? 'aborted' : 'unreachable' }) as const,
    );
};

const NDJSON = 'application/x-ndjson';

const toAnswer = async (response: Response, watch: Request['watch']): Promise<Answer> => {
  const text = await readText(response, watch);
  const parsed = parseJson(text);
  const body = parsed.kind === 'value' ? parsed.value : undefined;
  if (response.status === 204 || (response.ok && parsed.kind === 'value')) return { kind: 'done', text, body };
  const problem = membersOf(body);
  return {
    kind: 'refused',
    status: response.status,
    code: problem.text('code'),
    detail: problem.text('detail', 'The answer is not from this service: a proxy may have sent it.'),
    requestId: problem.text('request_id'),
    retryAfterSeconds: toSeconds(response.headers.get('retry-after')),
  };
};

const readText = ({ headers, body }: Response, watch: Request['watch']): Promise<string> =>
  watch !== undefined && body !== null && headers.get('content-type') === NDJSON
    ? readAnswerStream(body, watch)
    : new Response(body).text();

const toSeconds = (header: string | null): number | null =>
  header !== null && /^\d{1,9}$/.test(header) ? Number(header) : null;

/** What a browser can send as a header, and a key may consist of. */
export const isSendableKey = (key: string): boolean => /^[\x21-\x7e]*$/.test(key);

/** Whether a name can stand in a path: `.` and `..` are steps in it, however they are encoded. */
export const isAddressable = (name: string): boolean => name !== '' && name !== '.' && name !== '..';
