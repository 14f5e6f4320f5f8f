import { type Answers, createAnswers } from './create-answers.ts';
import { createExecute, type Execute, type ExecuteOptions, type SendLimits } from './create-execute.ts';
import { type Answered, createSend, type Outgoing, type Send, toBadAnswer } from './create-send.ts';
import { createStream, type Stream } from './create-stream.ts';
import type { CatalogueFormat, ToolOf } from './message-formats.ts';
import { createPendingResults, type PendingResults } from './pending-results.ts';
import { isCatalogueOf, isProblem, isResults, isSessionView, parseJson } from './read-body.ts';
import { toQuery } from './to-query.ts';
import type { SessionView, ToolResult } from './wire.ts';

export type RecourseOptions = {
  /** Where the service is; a path in front of its own is kept. */
  readonly url: string | URL;
  readonly apiKey?: string | undefined;
  /** In place of the platform's own, for example one with a proxy. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** All attempts of one operation and the waits between them, in milliseconds; 180 000 unless given. */
  readonly timeoutMs?: number | undefined;
  /** An operation that has not connected once by then is given up, in milliseconds; 10 000 unless given. */
  readonly connectTimeoutMs?: number | undefined;
  /** An answer with more bytes, decompressed, is not read to its end; 67 108 864 (64 MiB) unless given. */
  readonly maxAnswerBytes?: number | undefined;
};

export type RecoveredAnswer = { readonly requestId: string; readonly results: readonly ToolResult[] };

/** One session of the service. */
export type RecourseSession = Answers & {
  readonly id: string;
  /** As the client's own, in this session. */
  readonly execute: Execute;
  readonly stream: Stream;
  /** What the service knows of it; empty for one never seen. */
  readonly view: (limits?: SendLimits) => Promise<SessionView>;
  /** Gives all tools their retries back, or one. */
  readonly resetBudgets: (tool?: string, limits?: SendLimits) => Promise<void>;
  /** Forgets it. */
  readonly end: (limits?: SendLimits) => Promise<void>;
};

export type ToolsOptions = SendLimits & {
  /** Schemas as OpenAI's strict mode wants them, where a tool's own can be written so. */
  readonly strict?: boolean | undefined;
};

export type Recourse = PendingResults & {
  readonly execute: Execute;
  /** The same calls as events while they run, instead of one answer. */
  readonly stream: Stream;
  /** The results of an `execute` whose answer was lost; null where none are kept, or the batch still runs. */
  readonly recover: (requestId: string, limits?: SendLimits) => Promise<RecoveredAnswer | null>;
  /** The tools this key may use, as the service describes them or as a provider's request lists them. */
  readonly tools: <Format extends CatalogueFormat = 'native'>(
    format?: Format,
    options?: ToolsOptions,
  ) => Promise<ToolOf[Format][]>;
  readonly session: (id: string, options?: Omit<ExecuteOptions, 'sessionId'>) => RecourseSession;
};

const TIMEOUT_MS = 180_000;
// A restart takes a few seconds; a service that nobody has started takes for ever.
const CONNECT_TIMEOUT_MS = 10_000;
// 64 results of 1 MiB, which is the most a service gives unless told otherwise.
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
// What only reads or forgets is answered at once.
const ATTEMPT_TIMEOUT_MS = 10_000;

/** A client of one service. Opens nothing until it is used, and needs no closing. */
export const createRecourse = ({
  url,
  apiKey,
  fetch,
  timeoutMs = TIMEOUT_MS,
  connectTimeoutMs = CONNECT_TIMEOUT_MS,
  maxAnswerBytes = MAX_ANSWER_BYTES,
}: RecourseOptions): Recourse => {
  const send = createSend({
    url: toBase(url),
    apiKey,
    // Called as a function of the global object: browsers refuse it otherwise.
    fetch: fetch ?? ((...request) => globalThis.fetch(...request)),
    connectTimeoutMs,
    maxAnswerBytes,
  });
  const ask = createAsk(send, timeoutMs);
  return {
    execute: createExecute(send, { timeoutMs }),
    stream: createStream(send, { timeoutMs }, maxAnswerBytes),
    ...createPendingResults(send, timeoutMs, toStep),
    recover: async (requestId, limits) => {
      const path = `tool-calls/${toStep(requestId)}`;
      const { outgoing, answered } = await ask({ method: 'GET', path, expected: [404] }, limits);
      const body = parseJson(answered.text);
      if (isResults(body)) return { requestId, results: body.results };
      if (isProblem(body) && body.code === 'result_not_kept') return null;
      throw toBadAnswer(outgoing, answered);
    },
    tools: createTools(ask),
    session: (id, options = {}) => {
      const defaults = { ...options, timeoutMs: options.timeoutMs ?? timeoutMs, sessionId: id };
      return {
        id,
        execute: createExecute(send, defaults),
        stream: createStream(send, defaults, maxAnswerBytes),
        ...createAnswers(createExecute(send, { lostRepeats: 1, ...defaults }), id),
        ...createSessionParts(ask, id),
      };
    },
  };
};

const createSessionParts = (ask: Ask, id: string): Pick<RecourseSession, 'view' | 'resetBudgets' | 'end'> => {
  const forget = async (path: string, limits: SendLimits | undefined): Promise<void> => {
    const { outgoing, answered } = await ask({ method: 'DELETE', path }, limits);
    // A page to log in at is a success, too, by its status alone.
    if (answered.status !== 204) throw toBadAnswer(outgoing, answered);
  };
  return {
    view: async (limits) => {
      const { outgoing, answered } = await ask({ method: 'GET', path: `sessions/${toStep(id)}` }, limits);
      const body = parseJson(answered.text);
      if (isSessionView(body)) return body;
      throw toBadAnswer(outgoing, answered);
    },
    resetBudgets: async (tool, limits) => {
      const which = tool === undefined ? '' : `/${toStep(tool)}`;
      await forget(`sessions/${toStep(id)}/budgets${which}`, limits);
    },
    end: async (limits) => forget(`sessions/${toStep(id)}`, limits),
  };
};

/** A name as one step of a path. Encoded or not, these would be none, and the request would go to another address. */
const toStep = (name: string): string => {
  if (['', '.', '..'].includes(name)) throw new TypeError(`${JSON.stringify(name)} cannot be written into a URL path.`);
  return encodeURIComponent(name);
};

const toBase = (url: string | URL): URL => {
  // What is wrong with it is said without repeating it: the error of `new URL` does, and a password may stand there.
  const base = URL.canParse(url) ? new URL(url) : null;
  if (base === null || !['http:', 'https:'].includes(base.protocol))
    throw new TypeError('url must be an http: or https: URL.');
  if (base.username !== '' || base.password !== '')
    throw new TypeError('url must not hold a user name or password; pass the key as apiKey.');
  if (!base.pathname.endsWith('/')) base.pathname += '/';
  return base;
};

type Ask = (
  what: Pick<Outgoing, 'method' | 'path' | 'expected' | 'headers'>,
  limits: SendLimits | undefined,
) => Promise<{ readonly outgoing: Outgoing; readonly answered: Answered }>;

/** For what may be repeated freely, and so needs no key. */
const createAsk =
  (send: Send, timeoutMs: number): Ask =>
  async (what, limits) => {
    const outgoing: Outgoing = {
      ...what,
      requestId: crypto.randomUUID(),
      idempotencyKey: null,
      attemptTimeoutMs: ATTEMPT_TIMEOUT_MS,
      timeoutMs: limits?.timeoutMs ?? timeoutMs,
      signal: limits?.signal,
    };
    return { outgoing, answered: await send(outgoing) };
  };

/** The catalogue changes rarely: it is asked for by the tag it was last given with, and sent only where it has changed. */
const createTools = (ask: Ask): Recourse['tools'] => {
  const known = new Map<string, Tagged>();
  return async <Format extends CatalogueFormat = 'native'>(format?: Format, options: ToolsOptions = {}) => {
    const path = toToolsPath(format, options);
    const last = known.get(path) ?? { etag: null, text: '' };
    const headers = last.etag === null ? {} : { 'if-none-match': last.etag };
    const { outgoing, answered } = await ask({ method: 'GET', path, headers, expected: [304] }, options);
    const now = answered.status === 304 ? last : { etag: answered.headers.get('etag'), text: answered.text };
    const body = parseJson(now.text);
    if (!isCatalogueOf<Format>(body)) throw toBadAnswer(outgoing, answered);
    known.set(path, now);
    return body.tools;
  };
};

// Without format the service answers in its own.
const toToolsPath = (format: CatalogueFormat = 'native', { strict = false }: ToolsOptions): string =>
  `tools${toQuery({ format: format === 'native' ? undefined : format, strict: strict ? 'true' : undefined })}`;

type Tagged = { readonly etag: string | null; readonly text: string };
