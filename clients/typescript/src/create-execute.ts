import { type Answered, type Outgoing, type Send, toBadAnswer } from './create-send.ts';
import type { MessageFormat, MessageOf } from './message-formats.ts';
import { waitForAll } from './pending-results.ts';
import { isMessages, isResults, parseJson } from './read-body.ts';
import { createTellApprovals } from './tell-approvals.ts';
import { toQuery } from './to-query.ts';
import type { ToolCall, ToolPending, ToolResult } from './wire.ts';

/** Limits of one operation of the client. */
export type SendLimits = {
  /** All attempts and the waits between them, in milliseconds; the client's own unless given. */
  readonly timeoutMs?: number | undefined;
  /** Ends the operation at once; it rejects with what the signal was aborted with. */
  readonly signal?: AbortSignal | undefined;
};

export type ExecuteOptions = SendLimits & {
  /** One per agent: retry budgets are kept under it. */
  readonly sessionId?: string | undefined;
  /** Batches of a session with one round id are one round of the retry budget. */
  readonly roundId?: string | undefined;
  /** 1 to 255 printable characters; a new one for each `execute` unless given. */
  readonly idempotencyKey?: string | undefined;
  /** 16 to 64 of `A–Z a–z 0–9 _ -`: what `recover` takes. Made unless given. */
  readonly requestId?: string | undefined;
  /** How often a request is sent again whose connection broke before an answer; as `timeoutMs` allows unless given. */
  readonly lostRepeats?: number | undefined;
  /** The service has this long for the calls, in milliseconds; 60 000 unless given. */
  readonly deadlineMs?: number | undefined;
  readonly order?: 'parallel' | 'sequential' | undefined;
  readonly onError?: 'continue' | 'stop' | undefined;
  /** Runs, keeps and counts nothing: each result says what its call would do now, in `dry_run`. Not with `wait`, `respondAsync`, or streams. */
  readonly dryRun?: boolean | undefined;
  /** `all`: waits until calls that outlive their request have ended, as long as `timeoutMs`; none of the results is pending. */
  readonly wait?: 'all' | undefined;
  /** With `wait: 'all'`: hears once of each call that waits for a person. `waiting.pending.approval` says what is to be approved, and where. */
  readonly onApproval?: ((waiting: ToolPending) => void) | undefined;
  /** Answers after `waitMs` at the latest, with pending results for calls that go on: `results(requestId)` asks for them. */
  readonly respondAsync?: { readonly waitMs?: number | undefined } | undefined;
};

export type Answer = {
  readonly requestId: string;
  readonly idempotencyKey: string;
  /** `pending` where a call goes on after this answer: with `respondAsync` alone. */
  readonly status: 'pending' | 'done';
  /** One per call, in the order of the calls. */
  readonly results: readonly ToolResult[];
  /** Nothing ran this time: these are the results of an earlier attempt. */
  readonly replayed: boolean;
  readonly attempts: number;
};

export type MessagesAnswer<Format extends MessageFormat> = Answer & {
  /** What to append to the conversation. */
  readonly messages: MessageOf[Format][];
};

export type RawAnswer = Omit<Answer, 'results'> & {
  /** Nothing but what the provider expects. */
  readonly body: unknown;
};

type NativeOptions = ExecuteOptions & { readonly format?: 'native' };
type TextOptions = ExecuteOptions & { readonly format: 'text'; readonly raw?: false };
type MessageOptions<Format> = ExecuteOptions & { readonly format: Format; readonly raw?: false };
type RawOptions = ExecuteOptions & { readonly format: MessageFormat; readonly raw: true };
type AnyAnswer = Answer | RawAnswer | (Answer & { readonly messages: readonly unknown[] });
/** How a stream is asked for; `format` says whose message the input is. */
export type StreamInputOptions = ExecuteOptions & { readonly format?: MessageFormat | 'native' };
type AnyOptions = ExecuteOptions & { readonly format?: MessageFormat | 'native'; readonly raw?: boolean };

/**
 * Has calls executed, safely: every attempt carries the same Idempotency-Key, so that no call that writes runs twice.
 * Resolves whatever becomes of the calls; rejects with a RecourseError where the service did not take them.
 */
export type Execute = ReturnType<typeof createExecute>;

const DEADLINE_MS = 60_000;
// The service answers at its deadline at the latest; what has not come by then was lost on the way.
const GRACE_MS = 5_000;

/** `defaults` are the options of every call unless it says otherwise. */
export const createExecute = (send: Send, defaults: ExecuteOptions & { readonly timeoutMs: number }) => {
  function execute(calls: readonly ToolCall[], options?: NativeOptions): Promise<Answer>;
  function execute(calls: readonly ToolCall[], options: TextOptions): Promise<MessagesAnswer<'text'>>;
  /** `message` as the provider's API gave it. */
  function execute<Format extends Exclude<MessageFormat, 'text'>>(
    message: unknown,
    options: MessageOptions<Format>,
  ): Promise<MessagesAnswer<Format>>;
  /** With `raw` the answer is nothing but what the provider expects. */
  function execute(message: unknown, options: RawOptions): Promise<RawAnswer>;
  async function execute(input: unknown, given: AnyOptions = {}): Promise<AnyAnswer> {
    const options = merge(defaults, given);
    const outgoing = toOutgoing(input, options);
    const endsAt = performance.now() + options.timeoutMs;
    const first = await send(outgoing);
    const isWaitedFor = options.wait === 'all' && first.status === 202;
    const answered = isWaitedFor ? await sendEnded(send, outgoing, endsAt, first, options) : first;
    const { requestId, idempotencyKey } = outgoing;
    const replayed = first.headers.get('idempotent-replayed') === 'true';
    const status = answered.status === 202 ? 'pending' : 'done';
    const seen = { requestId, idempotencyKey, status, replayed, attempts: first.attempts } as const;
    const answer = toAnswer(parseJson(answered.text), input, options);
    if (answer === null) throw toBadAnswer(outgoing, answered);
    return { ...seen, ...answer };
  }
  return execute;
};

/**
 * The answer to a batch that was accepted, once all of its calls have ended: the same request again, which runs nothing and is
 * answered as if they had never been pending, messages and all.
 */
const sendEnded = async (
  send: Send,
  outgoing: Outgoing,
  endsAt: number,
  first: Answered,
  { onApproval = () => undefined }: Pick<ExecuteOptions, 'onApproval'>,
): Promise<Answered> => {
  const tell = createTellApprovals(onApproval);
  const body = parseJson(first.text);
  if (isResults(body)) tell(body.results);
  await waitForAll(send, outgoing, endsAt, tell);
  return send({ ...outgoing, timeoutMs: Math.max(GRACE_MS, endsAt - performance.now()) });
};

/** An option that is there and undefined, as an environment gives it, is one that is not given. */
export const merge = (defaults: Complete, given: AnyOptions): Complete => ({
  ...defaults,
  ...given,
  timeoutMs: given.timeoutMs ?? defaults.timeoutMs,
  sessionId: given.sessionId ?? defaults.sessionId,
});

/** What the body says; null where it is no answer to these calls. */
const toAnswer = (body: unknown, input: unknown, options: AnyOptions) => {
  if (options.raw === true) return body === undefined ? null : { body };
  if (!isResults(body) || !isComplete(body.results, input, options)) return null;
  if (!wantsMessages(options)) return { results: body.results };
  return isMessages(body) ? { results: body.results, messages: body.messages } : null;
};

/** One result per call, where the calls are counted here; those in a message are known to its provider's format. */
const isComplete = (results: readonly ToolResult[], input: unknown, { format = 'native' }: AnyOptions): boolean =>
  (format !== 'native' && format !== 'text') || (Array.isArray(input) && input.length === results.length);

const wantsMessages = ({ format = 'native' }: AnyOptions): boolean => format !== 'native';

export type Complete = AnyOptions & { readonly timeoutMs: number };

/** The request that has these calls executed. */
export const toOutgoing = (input: unknown, options: Complete) => {
  const deadlineMs = Math.min(options.deadlineMs ?? DEADLINE_MS, options.timeoutMs);
  return {
    method: 'POST',
    ...toRequest(input, options, {
      session_id: options.sessionId,
      round_id: options.roundId,
      order: options.order,
      on_error: options.onError,
      dry_run: options.dryRun === true ? true : undefined,
      deadline_ms: Math.ceil(deadlineMs),
      wait_ms: toAsyncWaitMs(options),
    }),
    headers: toPreference(options),
    requestId: options.requestId ?? crypto.randomUUID(),
    idempotencyKey: options.idempotencyKey ?? crypto.randomUUID(),
    attemptTimeoutMs: deadlineMs + GRACE_MS,
    timeoutMs: options.timeoutMs,
    lostRepeats: options.lostRepeats,
    signal: options.signal,
  } as const;
};

// Long enough for most calls to end within their request, and short enough for proxies.
const FIRST_WAIT_MS = 20_000;
// Who is told of approvals wants to hear of them before that.
const FIRST_WAIT_FOR_APPROVALS_MS = 1_000;

const toAsyncWaitMs = ({ wait, respondAsync, timeoutMs, onApproval }: Complete): number | undefined => {
  if (wait !== 'all') return respondAsync?.waitMs;
  return Math.min(onApproval === undefined ? FIRST_WAIT_MS : FIRST_WAIT_FOR_APPROVALS_MS, timeoutMs);
};

const toPreference = ({ wait, respondAsync }: Complete): Readonly<Record<string, string>> =>
  wait === 'all' || respondAsync !== undefined ? { prefer: 'respond-async' } : {};

type Envelope = Readonly<Record<string, string | number | true | undefined>>;

/** Calls travel inside the envelope; a provider's message is the body as it is, and the envelope is in the address. */
const toRequest = (input: unknown, { format = 'native', raw }: AnyOptions, envelope: Envelope) => {
  const named = { format: format === 'native' ? undefined : format, raw: raw === true ? 'true' : undefined };
  if (format === 'native' || format === 'text')
    return { path: `tool-calls${toQuery(named)}`, body: JSON.stringify({ ...envelope, calls: input }) };
  return { path: `tool-calls${toQuery({ ...named, ...envelope })}`, body: JSON.stringify(input) };
};
