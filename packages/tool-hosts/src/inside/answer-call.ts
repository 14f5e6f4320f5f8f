import { createApprovingTool } from '@recourse/decide/approvals/approving-tool';
import { createReconcilingTool } from '@recourse/decide/finding';
import { CallContext } from 'recourse-server/executor/call-context';
import type { CallOutcome } from 'recourse-server/executor/call-outcome';
import { type Cancellation, type Purpose, startNodeTimer } from 'recourse-server/executor/deadline';
import { invokeTool, toCheckingTool, toPreviewingTool } from 'recourse-server/executor/invoke-tool';
import { toJsonValue } from 'recourse-server/executor/json-proof';
import { toCallOutcome } from 'recourse-server/executor/outcome';
import { withLookahead } from 'recourse-server/tools/describe-value';
import type { InlineTool, ToolLog, ToolProgress } from 'recourse-server/tools/tool';
import { withoutVersions } from '../directory/tool-imports.ts';
import { HOST_CODES, type HostEnd, type HostOrder, type ThrownPart } from '../host-messages.ts';
import type { Channel } from './channel.ts';

type CallOrder = Extract<HostOrder, { type: 'call' }>;

/** A call that runs in this host. */
export type HostCall = ReturnType<typeof createHostCall>;

type HostCallOptions = {
  readonly channel: Channel;
  readonly maxResultBytes: number;
  /** The answer has been sent. `isUnusable`: the call left this process in a state in which no other call should run. */
  readonly onAnswered: (isUnusable: boolean) => void;
};

// The service keeps the time and the client; a call ends here when its handler does.
const NEVER_ENDS: Cancellation = {
  causeAt: () => null,
  onCancel: () => () => undefined,
  remainingAt: () => Number.POSITIVE_INFINITY,
  startTimer: startNodeTimer,
};
const MAX_TIMER_MS = 2_147_483_647;
// After the service has ended it. A service that is frozen does not, and by its time limit and a second others take it for ended.
const OVERDUE_MS = 500;

// Kept here, before a tool's code could put its own in their place.
const later = setTimeout;
const callOff = clearTimeout;
const MAX_MESSAGES = 1000;
const MAX_FIELDS_BYTES = 8192;
const MAX_LOG_TEXT = 1000;

/** A call, not started yet. Its answer goes over the channel exactly once. */
export const createHostCall = (loaded: InlineTool, order: CallOrder, terms: HostCallOptions) => {
  const declared = toPurpose(loaded, order.terms.purpose);
  const tool = declared.effects === order.effects ? declared : { ...declared, effects: order.effects };
  let isAnswered = false;
  let overdue: NodeJS.Timeout | undefined;
  const context = new CallContext({
    ...createReports(order, terms.channel, () => !isAnswered),
    ...order.terms,
    requestId: '',
    tool: tool.name,
    effects: order.effects,
  });
  const answer = (end: CallOutcome, isUnusable: boolean): void => {
    if (isAnswered) return;
    isAnswered = true;
    callOff(overdue);
    terms.channel.send({ type: 'answer', nonce: order.nonce, end: describeEnd(end) }, end.valueJson);
    terms.onAnswered(isUnusable);
  };
  const endOptions = { graceful: order.terms.graceful, maxResultBytes: terms.maxResultBytes };
  return {
    context,
    /** Ends it with what was thrown where its handler could not catch it. The first end counts. */
    // After an uncaught exception the state of this process is unknown.
    fail: (thrown: unknown): void => answer(toCallOutcome({ kind: 'threw', thrown }, tool, endOptions), true),
    start: (input: Readonly<Record<string, unknown>>): void => {
      if (order.terms.isSought)
        overdue = later(terms.channel.end, Math.min(order.terms.timeoutMs + OVERDUE_MS, MAX_TIMER_MS)).unref();
      const run = invokeTool(tool, input, { context, timeoutMs: MAX_TIMER_MS, cancellation: NEVER_ENDS });
      if (run instanceof Promise) void run.then((ended) => answer(toCallOutcome(ended, tool, endOptions), false));
      else answer(toCallOutcome(run, tool, endOptions), false);
    },
  };
};

const toPurpose = (tool: InlineTool, purpose: Purpose): InlineTool => {
  if (purpose === 'run') return tool;
  if (purpose === 'check') return toCheckingTool(tool);
  if (purpose === 'approval') return createApprovingTool(tool);
  return purpose === 'preview' ? toPreviewingTool(tool) : createReconcilingTool(tool, purpose.startedAt);
};

const describeEnd = (end: CallOutcome): HostEnd => {
  if (end.kind === 'success')
    return { kind: 'success', message: end.message, marks: [...end.marks], warnings: [...end.warnings] };
  const { code, outcome, issues, thrown, payload: _inBody, ...rest } = end.failure;
  return {
    ...rest,
    kind: 'failure',
    // Nothing else can come of a call in here; should it, the exception is what there is to say.
    code: HOST_CODES.find((known) => known === code) ?? 'tool_exception',
    issues: [...issues],
    outcome: outcome === 'failed' || outcome === 'unknown' ? outcome : 'retry',
    thrown: [...describeThrown(thrown)],
  };
};

/** Log, progress and parts of a call, as messages. Bounded here, so that a talkative tool is not taken for a flood. */
const createReports = ({ nonce, parts }: CallOrder, channel: Channel, isOpen: () => boolean) => {
  let left = MAX_MESSAGES;
  const write = (level: keyof ToolLog, message: string, fields: object): void => {
    // After its answer a call has no line in the service's log any more.
    if (left === 0 || !isOpen()) return;
    left -= 1;
    const proof = toJsonValue(fields, MAX_FIELDS_BYTES);
    const body = proof.kind === 'json' ? proof.json : '{"fields":"left out: they are too large, or not JSON"}';
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
  const onPart = (valueJson: string): void => {
    if (isOpen()) channel.send({ type: 'part', nonce }, valueJson);
  };
  return { createLog: () => log, onProgress, onPart: parts === 'shown' ? onPart : null };
};

const MAX_CAUSES = 8;
// Of a message; the service takes secrets out and shows 2 000 characters.
const MAX_MESSAGE = 2000;
const MAX_NAME = 80;
const MAX_STACK = 8000;

/** An exception and its causes as plain parts, for the log of the service. Total: it answers for anything thrown. */
export const describeThrown = (thrown: unknown): readonly ThrownPart[] => {
  const parts: ThrownPart[] = [];
  const seen = new Set<unknown>();
  for (let link = thrown; link !== undefined && link !== null && !seen.has(link); link = read(link, 'cause')) {
    if (parts.length === MAX_CAUSES) break;
    seen.add(link);
    parts.push(describeLink(link));
  }
  return parts;
};

const describeLink = (thrown: unknown): ThrownPart => {
  const name = read(thrown, 'name');
  const message = read(thrown, 'message');
  const stack = read(thrown, 'stack');
  return {
    name: typeof name === 'string' ? withLookahead(name, MAX_NAME) : typeof thrown,
    message: withLookahead(typeof message === 'string' ? message : toText(thrown), MAX_MESSAGE),
    stack: typeof stack === 'string' ? toWholeLines(withoutVersions(stack)) : '',
  };
};

// A line that is cut could hold half a secret.
const toWholeLines = (stack: string): string =>
  stack.length <= MAX_STACK ? stack : stack.slice(0, Math.max(0, stack.lastIndexOf('\n', MAX_STACK)));

const read = (from: unknown, key: string): unknown => {
  if ((typeof from !== 'object' && typeof from !== 'function') || from === null) return undefined;
  try {
    return Reflect.get(from, key);
  } catch (_hostile) {
    return undefined;
  }
};

const toText = (thrown: unknown): string => {
  try {
    return typeof thrown === 'object' ? (JSON.stringify(thrown) ?? '') : String(thrown);
  } catch (_hostile) {
    return '';
  }
};
