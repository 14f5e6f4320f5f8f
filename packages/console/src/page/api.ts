import type { components } from '../../../../clients/typescript/src/generated/api.ts';
import { parseJson } from './json.ts';

// The service that sent this page has the same version: its answers have the types of its own API document. Only what a
// proxy may answer instead is told apart.

type Schemas = components['schemas'];

export type ToolDescription = Schemas['ToolDescription'];
export type ToolResult = Schemas['ToolResult'];
export type PendingCall = Schemas['PendingCall'];
export type CallsAnswer = Schemas['ToolCallsResponse'];
export type SessionView = Schemas['SessionView'];
export type StreamEvent = Schemas['StreamEvent'];
export type Overview = Schemas['Overview'];
export type SessionItem = Schemas['SessionItem'];
export type FailedCall = Schemas['FailedCall'];
export type PendingItem = Schemas['PendingItem'];
export type ToolReports = Schemas['ToolReports'];
export type SearchResult = Schemas['SearchResult'];

/** Why there is no answer, by the problem that was answered; `status` is 0 where nothing was received. */
export type Trouble = Pick<Schemas['Problem'], 'status' | 'code' | 'detail' | 'request_id'> & {
  /** From Retry-After. */
  readonly retryAfterSeconds: number | null;
};

/** What came of a request: `text` is the body as it was written. */
export type Answer<Body> =
  | { readonly trouble: null; readonly text: string; readonly body: Body }
  | { readonly trouble: Trouble };

export type Request<Body = unknown> = RequestInit & {
  readonly path: string;
  /** Gets each event of a streamed answer; without it the answer comes in one piece. */
  readonly watch?: (event: StreamEvent) => void;
  /** Gets each body of an answer that is sent anew whenever it changes. */
  readonly watchSnapshots?: (body: Body) => void;
};

const NDJSON = 'application/x-ndjson';
const UNREACHABLE: Trouble = { status: 0, code: '', detail: '', request_id: '', retryAfterSeconds: null };
/** The trouble of a reading that was given up because nothing came any more. */
export const SILENT: Trouble = { ...UNREACHABLE };
const FOREIGN = { ...UNREACHABLE, detail: 'The answer is not from this service: a proxy may have sent it.' };

// What reads waits no longer: no browser tells of a connection that died without a word, or of a service that hangs.
const READ_MS = 20_000;
// A stream begins with what there is: one that shows nothing for so long is held back on its way.
const FIRST_LINE_MS = 10_000;
// The service gives a sign of life every 15 s.
const NEXT_LINE_MS = 45_000;

/** Asks the service; never rejects. The key goes into a header, and nowhere else. */
export const callService = <Body>(request: Request<Body>, key: string): Promise<Answer<Body>> => {
  const { path, watch, watchSnapshots, signal, ...sent } = request;
  const headers = new Headers(request.headers);
  if (watch !== undefined || watchSnapshots !== undefined) headers.set('accept', NDJSON);
  if (key !== '') headers.set('authorization', `Bearer ${key}`);
  const silence = new AbortController();
  let timer = 0;
  const giveUpAfter = (ms: number): void => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(), ms);
  };
  // What changes something is not given up, and calls are followed for hours.
  if (sent.method === undefined && watch === undefined) giveUpAfter(watchSnapshots ? FIRST_LINE_MS : READ_MS);
  // `document.baseURI` is the page, `…/console`: the API lies beside it, also below the prefix of a proxy.
  return fetch(new URL(path, document.baseURI), {
    ...{ ...sent, headers, cache: 'no-store', credentials: 'omit', redirect: 'error' },
    referrerPolicy: 'no-referrer',
    signal: AbortSignal.any([silence.signal, ...(signal ? [signal] : [])]),
  })
    .then((response) => readAnswer<Body>(response, request, () => giveUpAfter(NEXT_LINE_MS)))
    .then(
      (answer) => answer,
      () => ({ trouble: silence.signal.aborted ? SILENT : UNREACHABLE }),
    )
    .finally(() => clearTimeout(timer));
};

const readText = <Body>(
  response: Response,
  { watch, watchSnapshots }: Request<Body>,
  hear: () => void,
): Promise<string> => {
  const stream = response.headers.get('content-type') === NDJSON ? response.body : null;
  if (stream === null) return response.text();
  if (watchSnapshots !== undefined) return readSnapshots(stream, watchSnapshots, hear);
  return watch === undefined ? response.text() : readStream(stream, watch);
};

const readAnswer = async <Body>(
  response: Response,
  request: Request<Body>,
  hear: () => void,
): Promise<Answer<Body>> => {
  const { status, headers } = response;
  const text = await readText(response, request, hear);
  const parsed = parseJson<Body & Partial<Schemas['Problem']>>(status === 204 ? 'null' : text);
  if (response.ok && 'value' in parsed) return { trouble: null, text, body: parsed.value };
  const isProblem = headers.get('content-type')?.startsWith('application/problem+json') && 'value' in parsed;
  const retryAfter = headers.get('retry-after') ?? '';
  const retryAfterSeconds = /^\d{1,9}$/.test(retryAfter) ? Number(retryAfter) : null;
  return { trouble: { ...FOREIGN, ...(isProblem && parsed.value), status, retryAfterSeconds } };
};

/** Reads bodies, one to a line, beside signs of life; gives a text that is JSON if there was one. */
const readSnapshots = async <Body>(
  stream: ReadableStream<Uint8Array>,
  take: (body: Body) => void,
  hear: () => void,
): Promise<string> => {
  let text = '';
  for await (const line of readLines(stream)) {
    hear();
    const parsed = parseJson<{ readonly event: string; readonly data: Body }>(line);
    if ('why' in parsed || parsed.value.event !== 'snapshot') continue;
    text = 'null';
    take(parsed.value.data);
  }
  return text;
};

/** Reads a stream of events; gives the body that it comes to, with results as they were written. Rejects if it breaks. */
const readStream = async (body: ReadableStream<Uint8Array>, watch: (event: StreamEvent) => void): Promise<string> => {
  const results: string[] = [];
  let end: string | null = null;
  // To its end, behind the last event as well: else the browser takes the request for one that still runs.
  for await (const line of readLines(body)) {
    const parsed = parseJson<StreamEvent>(line);
    if ('why' in parsed) continue;
    const { event } = parsed.value;
    // Name and id go before the data, and neither has a quotation mark in it.
    const data = line.slice(line.indexOf('"data":') + '"data":'.length, -1);
    if (event === 'result') results.push(data);
    if (event === 'done') end = data;
    watch(parsed.value);
  }
  if (end === null) throw new Error('The stream broke before its last event.');
  return `${end.slice(0, -1)},"results":[${results.join(',')}]}`;
};

async function* readLines(body: ReadableStream<Uint8Array>): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = `${text}${decoder.decode(value, { stream: true })}`.split('\n');
    text = lines.pop() ?? '';
    yield* lines;
  }
}

/** Whether a request that had this trouble may be answered later. */
export const mayPass = ({ status }: Trouble): boolean => status === 0 || status >= 500 || status === 429;

/** Whether a name can stand in a path: `.` and `..` are steps in it, however they are encoded. */
export const isAddressable = (name: string): boolean => name !== '' && name !== '.' && name !== '..';

// Somebody, or the tool itself, was faster.
const OVERTAKEN: Readonly<Record<string, string>> = {
  fence_passed: 'The call has changed meanwhile.',
  outcome_settled: 'It is known by now how the call ended.',
  call_running: 'The call still runs.',
  digest_changed: 'The call has changed meanwhile.',
  approval_decided: 'It cannot be decided any more.',
};

/** Why a request was not answered, and what a person can do about it. `origin` is that of the page. */
export const explainTrouble = (trouble: Trouble, key: string, origin: string): readonly [string, string] => {
  const { status, code, detail, retryAfterSeconds } = trouble;
  const wait = retryAfterSeconds === null ? 'Try again later.' : `Try again in ${retryAfterSeconds} s.`;
  if (code === 'forbidden_origin')
    return [
      'The service does not accept requests from this page.',
      `Add this page's origin to ALLOWED_ORIGINS: ${origin}`,
    ];
  if (code === 'operation_not_allowed')
    return ['This API key does not permit that.', `${detail} Use a key with that permission.`];
  switch (status) {
    case 0:
      return ['The service cannot be reached.', 'It may be down or restarting, or the network may be down. Try again.'];
    case 401:
      if (key === '') return ['This service requires an API key.', 'Enter yours at the top of the page.'];
      return [
        'The API key was not accepted.',
        'It is wrong, expired or removed. Enter another at the top of the page.',
      ];
    case 429:
      return ['Too many requests for this key.', wait];
    case 503:
      return ['The service does not accept requests now.', `${detail} ${wait}`];
    default:
      return [OVERTAKEN[code] ?? `The service answered ${status}.`, detail];
  }
};

/** The whole address of a path of the service. */
export const toAddress = (path: string): string => new URL(path, document.baseURI).href;

// Paths of what the page reads and changes.
export const resultsPath = (requestId: string): string => `tool-calls/${encodeURIComponent(requestId)}`;

export const UNKNOWN_PATH = 'calls/unknown';
export const APPROVALS_PATH = 'approvals';

export const approvalPath = (id: string): string => `${APPROVALS_PATH}/${encodeURIComponent(id)}`;

export const sessionPath = (id: string): string => `sessions/${encodeURIComponent(id)}`;
