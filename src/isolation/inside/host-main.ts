import { AsyncLocalStorage } from 'node:async_hooks';
import { flushCompileCache } from 'node:module';
import { parseJson } from '../../json/parse-json.ts';
import { toLoadedFacts } from '../../tools/directory/to-loaded-facts.ts';
import type { InlineTool, ToolFacts } from '../../tools/tool.ts';
import type { Frame } from '../frames.ts';
import type { HostOrder } from '../host-messages.ts';
import { type CallOrder, createHostCall, type HostCall } from './answer-call.ts';
import { type Channel, openChannel } from './channel.ts';
import { loadTools } from './load-tools.ts';
import { createTaintCheck, type TaintCheck } from './taint-check.ts';
import { toThrownParts } from './thrown-parts.ts';

// A tool host: a process that loads one tool file and then answers one call at a time over its channel. It is started
// by the service and by nobody else.

type State = {
  /** Tools and reducers, by role and name. */
  tools: ReadonlyMap<string, InlineTool>;
  findTaint: TaintCheck;
  maxResultBytes: number;
  /** The call that runs now. */
  running: HostCall | null;
  /** No call must begin here any more. */
  isUnfit: boolean;
};

/** Which call's code is running: what it started long ago is told apart by it from what runs now. */
const callOf = new AsyncLocalStorage<{ readonly nonce: string }>();

const state: State = { tools: new Map(), findTaint: () => null, maxResultBytes: 0, running: null, isUnfit: false };

// The service's word is taken for it: nobody else writes on this side of the channel.
const isOrder = (value: unknown): value is HostOrder => typeof value === 'object' && value !== null && 'type' in value;

const onFrame = ({ head, body }: Frame): void => {
  const parsed = parseJson(head);
  if (parsed.ok && isOrder(parsed.value)) obey(parsed.value, body);
};

const obey = (order: HostOrder, body: string): void => {
  switch (order.type) {
    case 'load':
      void load(order, body);
      break;
    case 'call':
      callOf.run({ nonce: order.nonce }, () => startCall(order, body));
      break;
    case 'abort':
      abort(order);
      break;
  }
};

const channel: Channel = openChannel(onFrame);

const load = async ({ nonce, path, maxResultBytes }: Extract<HostOrder, { type: 'load' }>, body: string) => {
  channel.send({ type: 'loading', nonce });
  state.maxResultBytes = maxResultBytes;
  try {
    const sources = new Map<string, string>(JSON.parse(body));
    const { tools, imported } = await loadTools({ path, api: API, sources });
    state.tools = new Map(tools.map((tool) => [toKey(tool.role, tool.name), tool]));
    state.findTaint = createTaintCheck();
    channel.send({ type: 'loaded', nonce }, JSON.stringify({ tools: tools.map(toLoadedFacts), imported }));
    // A host is killed, not ended, and would never write it: the next one starts in half the time.
    setImmediate(() => flushCompileCache());
  } catch (thrown) {
    channel.send({ type: 'load_failed', nonce, reason: toReason(thrown) });
  }
};

const toKey = (role: ToolFacts['role'], name: string): string => `${role} ${name}`;

const API = new URL(`../../recourse${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url).href;

// No more fits a message. The service shows 500 characters.
const MAX_REASON = 8000;

const toReason = (thrown: unknown): string => {
  const parts = toThrownParts(thrown).map(({ name, message }) => `${name}: ${message}`);
  const said = parts.map((part, place) => (place < parts.length - 1 ? part.replace(/\.$/, '') : part));
  return said.join(', because of ').slice(0, MAX_REASON) || 'it threw nothing that can be read';
};

const startCall = (order: CallOrder, body: string): void => {
  const tool = state.tools.get(toKey(order.role, order.tool));
  const input = parseJson(body);
  if (state.isUnfit || tool === undefined || !input.ok || !isRecord(input.value)) return;
  channel.send({ type: 'began', nonce: order.nonce });
  const call = createHostCall(tool, order, {
    channel,
    maxResultBytes: state.maxResultBytes,
    onAnswered: (spoiled) => {
      state.running = null;
      const taint = state.findTaint();
      if (spoiled || taint !== null) beUnfit(order.nonce, taint ?? 'an exception that nobody caught');
    },
  });
  state.running = call;
  call.start(input.value);
};

/** Looked for only once the answer is out, so that no caller waits for it. A call sent meanwhile never begins here. */
const beUnfit = (nonce: string, reason: string): void => {
  state.isUnfit = true;
  channel.send({ type: 'unfit', nonce, reason });
};

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

const abort = ({ nonce, reason }: Extract<HostOrder, { type: 'abort' }>): void => {
  if (state.running?.order.nonce !== nonce) return;
  const text = reason === 'TimeoutError' ? 'The deadline of this call passed.' : 'Nobody waits for this call any more.';
  state.running.context.abort(new DOMException(text, reason));
};

/** What was thrown where nobody waited: it ends the call that runs if that started it, and else is told. */
const onStray = (thrown: unknown, kind: 'exception' | 'rejection'): void => {
  const nonce = callOf.getStore()?.nonce ?? state.running?.order.nonce ?? '';
  const isOfRunning = state.running !== null && state.running.order.nonce === nonce;
  if (isOfRunning && kind === 'exception') state.running?.fail(thrown);
  else channel.send({ type: 'stray', nonce, thrown: [...toThrownParts(thrown)] });
  // What threw may have left anything half done.
  if (!isOfRunning) beUnfit(nonce, 'something was thrown after its call');
};

process.on('uncaughtException', (thrown) => onStray(thrown, 'exception'));
process.on('unhandledRejection', (thrown) => onStray(thrown, 'rejection'));
