import { CallContext } from '../../executor/call-context.ts';
import type { CallOutcome } from '../../executor/call-outcome.ts';
import { startNodeTimer } from '../../executor/clock.ts';
import type { Cancellation } from '../../executor/deadline.ts';
import { invokeTool } from '../../executor/invoke-tool.ts';
import { toCallOutcome, toJsonValue } from '../../executor/outcome.ts';
import { withLookahead } from '../../tools/describe-value.ts';
import type { InlineTool, ToolLog, ToolProgress } from '../../tools/tool.ts';
import { HOST_CODES, type HostEnd, type HostOrder } from '../host-messages.ts';
import type { Channel } from './channel.ts';
import { toThrownParts } from './thrown-parts.ts';

export type CallOrder = Extract<HostOrder, { type: 'call' }>;

/** A call that runs in this host. */
export type HostCall = {
  readonly order: CallOrder;
  readonly context: CallContext;
  /** Ends it with what was thrown where its handler could not catch it. The first end counts. */
  readonly fail: (thrown: unknown) => void;
};

export type HostTerms = {
  readonly channel: Channel;
  readonly maxResultBytes: number;
  /** The answer has been sent. `spoiled`: the call left this process in a state that no other call should find. */
  readonly onAnswered: (spoiled: boolean) => void;
};

// The service keeps the time and the client; a call ends here when its handler does.
const NEVER_ENDS: Cancellation = {
  causeAt: () => null,
  onCancel: () => () => undefined,
  remainingAt: () => Number.POSITIVE_INFINITY,
  startTimer: startNodeTimer,
};
const MAX_TIMER_MS = 2_147_483_647;
const MAX_MESSAGES = 1000;
const MAX_FIELDS_BYTES = 8192;
const MAX_LOG_TEXT = 1000;

/** A call, not started yet. Its answer goes over the channel exactly once. */
export const createHostCall = (loaded: InlineTool, order: CallOrder, terms: HostTerms): HostCall & { start: Start } => {
  const tool = loaded.effects === order.effects ? loaded : { ...loaded, effects: order.effects };
  let isAnswered = false;
  const context = new CallContext({
    ...createReports(order.nonce, terms.channel, () => !isAnswered),
    requestId: '',
    tool: tool.name,
    callId: order.callId,
    session: order.session,
    tenant: order.tenant,
    caller: order.caller,
    effects: order.effects,
    retriesLeft: order.retriesLeft,
    timeoutMs: order.timeoutMs,
    idempotencyKey: order.idempotencyKey,
    traceparent: order.traceparent,
  });
  const answer = (end: CallOutcome, spoiled: boolean): void => {
    if (isAnswered) return;
    isAnswered = true;
    terms.channel.send({ type: 'answer', nonce: order.nonce, end: toHostEnd(end) }, end.valueJson);
    terms.onAnswered(spoiled);
  };
  const endTerms = { graceful: order.graceful, maxResultBytes: terms.maxResultBytes };
  return {
    order,
    context,
    // After an exception that nobody caught the state of this process is anybody's guess.
    fail: (thrown) => answer(toCallOutcome({ kind: 'threw', thrown }, tool, endTerms), true),
    start: (input) => {
      const run = invokeTool(tool, input, { context, timeoutMs: MAX_TIMER_MS, cancellation: NEVER_ENDS });
      if (run instanceof Promise) void run.then((ended) => answer(toCallOutcome(ended, tool, endTerms), false));
      else answer(toCallOutcome(run, tool, endTerms), false);
    },
  };
};

type Start = (input: Readonly<Record<string, unknown>>) => void;

const toHostEnd = (end: CallOutcome): HostEnd => {
  if (end.kind === 'success')
    return { kind: 'success', message: end.message, marks: [...end.marks], warnings: [...end.warnings] };
  const { failure } = end;
  return {
    kind: 'failure',
    code: toHostCode(failure.code),
    message: failure.message,
    type: failure.type,
    hint: failure.hint,
    issues: [...failure.issues],
    issueCount: failure.issueCount,
    retryAfterMs: failure.retryAfterMs,
    fatal: failure.fatal,
    outcome: failure.outcome === 'failed' || failure.outcome === 'unknown' ? failure.outcome : 'retry',
    executed: failure.executed,
    thrown: [...toThrownParts(failure.thrown)],
  };
};

// Nothing else can come of a call in here; should it, the exception is what there is to say.
const toHostCode = (code: string): HostFailure['code'] =>
  HOST_CODES.find((known) => known === code) ?? 'tool_exception';

type HostFailure = Extract<HostEnd, { kind: 'failure' }>;

/** Log and progress of a call, as messages. Bounded here, so that a talkative tool is not taken for a flood. */
const createReports = (nonce: string, channel: Channel, isOpen: () => boolean) => {
  let left = MAX_MESSAGES;
  const write = (level: keyof ToolLog, message: string, fields: object): void => {
    // After its answer a call has no line in the service's log any more.
    if (left === 0 || !isOpen()) return;
    left -= 1;
    const proof = toJsonValue(fields, MAX_FIELDS_BYTES);
    const body = proof.kind === 'json' ? proof.json : '{"fields":"left out: they are too large, or no JSON"}';
    channel.send({ type: 'log', nonce, level, message: withLookahead(String(message), MAX_LOG_TEXT) }, body);
  };
  const log: ToolLog = {
    debug: (message, fields = {}) => write('debug', message, fields),
    info: (message, fields = {}) => write('info', message, fields),
    warn: (message, fields = {}) => write('warn', message, fields),
    error: (message, fields = {}) => write('error', message, fields),
  };
  const onProgress = ({ progress, total, message }: ToolProgress): void => {
    if (!isOpen() || !Number.isFinite(progress)) return;
    const numbers = Number.isFinite(total) ? { progress, total } : { progress };
    const text = message === undefined ? {} : { message: withLookahead(String(message), MAX_LOG_TEXT) };
    channel.send({ type: 'progress', nonce, ...numbers, ...text });
  };
  return { createLog: () => log, onProgress };
};
