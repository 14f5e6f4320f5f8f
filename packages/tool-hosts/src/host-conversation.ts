import { type CallOutcome, failed, toFailure } from 'recourse-server/executor/call-outcome';
import { withoutFrames } from 'recourse-server/executor/failure-text';
import { isDeeperThan } from 'recourse-server/json/json-text';
import { parseJson } from 'recourse-server/json/parse-json';
import type { HostedTool } from 'recourse-server/tools/tool';
import { LoadedBody, ThrownAtLoad } from './directory/load-tool-file.ts';
import type { Frame } from './frames.ts';
import { type HostEnd, type HostMessage, readHostMessage, type ThrownPart } from './host-messages.ts';
import type { HostLoad, RunningCall } from './tool-host.ts';

/** Why a message of a host is dropped. */
export type DroppedReason = 'forged' | 'second' | 'limit';

type HostListener = {
  /** A checked message about the host as a whole. `tool`: whose call started it, where that is known. */
  readonly onMessage: (message: HostMessage, tool: HostedTool | null) => void;
  readonly onAnswered: () => void;
  /** A message was dropped. */
  readonly onDropped: (reason: DroppedReason) => void;
  /** The host must not go on. */
  readonly onAbuse: (kind: 'flood' | 'forgery') => void;
};

type ExpectedLoad = {
  readonly nonce: string;
  readonly onLoading: () => void;
  readonly onLoaded: (load: HostLoad) => void;
};

// A call may log and report progress a thousand times each; who says more does not come from our side of the host.
const MAX_MESSAGES = 4000;
// Their heads and bodies together, in bytes: a thousand log lines of the largest size, and all parts that a call may show.
const MAX_MESSAGE_BYTES = 25_165_824;
const MAX_FIELDS_LENGTH = 8192;
const MAX_FORGED = 100;
const MAX_REMEMBERED = 1024;

/**
 * Makes sense of what a host says. Each message is checked and counts only for the call whose nonce it carries, and
 * only once: what is forged, second, or too much is dropped and reported.
 */
export class HostConversation {
  readonly #listener: HostListener;
  readonly #maxResultBytes: number;
  /** What is said of the host as a whole carries it. */
  readonly #nonce: string;
  #load: ExpectedLoad | null = null;
  /** The calls that were sent and have not ended. */
  readonly calls = new Set<RunningCall>();
  /** The same by nonce, and those that were given to another host: what they say is read and dropped. */
  readonly #calls = new Map<string, RunningCall>();
  /** The tools of the last calls, by nonce. */
  readonly #past = new Map<string, HostedTool>();
  /** How much the host has said, but of calls that run, since the last order. */
  #talk = { messages: 0, bytes: 0 };
  #forged = 0;
  #isOver = false;

  constructor(nonce: string, maxResultBytes: number, listener: HostListener) {
    this.#nonce = nonce;
    this.#maxResultBytes = maxResultBytes;
    this.#listener = listener;
  }

  expectLoad(load: ExpectedLoad): void {
    this.#talk = { messages: 0, bytes: 0 };
    this.#load = load;
  }

  expectCall(call: RunningCall): void {
    const { nonce, tool } = call;
    this.#talk = { messages: 0, bytes: 0 };
    this.calls.add(call);
    this.#calls.set(nonce, call);
    this.#past.set(nonce, tool);
    const [oldest] = this.#past.keys();
    if (this.#past.size > MAX_REMEMBERED && oldest !== undefined) this.#past.delete(oldest);
  }

  read({ head, body }: Frame): void {
    if (this.#isOver) return;
    const message = readHostMessage(head);
    const call = message === null ? undefined : this.#calls.get(message.nonce);
    const talk = call ?? this.#talk;
    // Asked for by the service, however long a call takes.
    if (message?.type !== 'pong') talk.messages += 1;
    talk.bytes += head.length + (message?.type === 'log' || message?.type === 'part' ? body.length : 0);
    if (talk.messages > MAX_MESSAGES || talk.bytes > MAX_MESSAGE_BYTES) {
      this.#listener.onDropped('limit');
      this.#abuse('flood');
    } else if (message === null) this.#drop('');
    else this.#hear(message, body, call);
  }

  #hear(message: HostMessage, body: string, call: RunningCall | undefined): void {
    const { nonce, type } = message;
    switch (type) {
      case 'ready':
      case 'pending':
      case 'pong':
      case 'resources':
        if (nonce === this.#nonce) this.#listener.onMessage(message, null);
        else this.#drop(nonce);
        break;
      case 'stray':
      case 'unusable':
      case 'leaving':
        this.#listener.onMessage(message, this.#past.get(nonce) ?? null);
        break;
      default:
        if (call !== undefined) this.#hearCall(message, body, call);
        else if (this.#load?.nonce === nonce) this.#hearLoad(message, body, this.#load);
        else this.#drop(nonce);
    }
  }

  #drop(nonce: string): void {
    // What is late comes from our own side of a host; only what that side could not have sent counts as forged.
    if (this.#past.has(nonce)) {
      this.#listener.onDropped('second');
      return;
    }
    this.#listener.onDropped('forged');
    this.#forged += 1;
    if (this.#forged > MAX_FORGED) this.#abuse('forgery');
  }

  #abuse(kind: 'flood' | 'forgery'): void {
    this.#isOver = true;
    this.#listener.onAbuse(kind);
  }

  #hearLoad(message: HostMessage, body: string, { nonce, onLoading, onLoaded }: ExpectedLoad): void {
    const { type } = message;
    if (type === 'loading') onLoading();
    else if (type === 'loaded' || type === 'load_failed' || type === 'refused') {
      this.#load = null;
      onLoaded(readLoad(message, body));
    } else this.#drop(nonce);
  }

  #hearCall(message: HostMessage, body: string, running: RunningCall): void {
    const { call } = running;
    switch (message.type) {
      case 'began':
        running.began = true;
        break;
      case 'log':
        call.log()[message.level](message.message, body.length > MAX_FIELDS_LENGTH ? {} : readFields(body));
        break;
      case 'progress':
        call.progress(message);
        break;
      case 'part': {
        // Parsed again: the host's memory is the tool's, and a text that is no JSON would break a stream.
        const parsed = parseJson(body);
        if (parsed.ok) call.part?.(parsed.value);
        break;
      }
      case 'refused':
        this.#end(running).settle({ kind: 'moved', began: false });
        break;
      case 'answer':
        this.#hearAnswer(message, body, running);
        break;
      default:
        this.#drop(message.nonce);
    }
  }

  #hearAnswer({ end }: Extract<HostMessage, { type: 'answer' }>, body: string, call: RunningCall): void {
    const outcome = Buffer.byteLength(body) > this.#maxResultBytes ? null : readAnswer(end, body, call.tool);
    if (outcome === null) {
      this.#abuse('forgery');
      return;
    }
    this.#listener.onAnswered();
    this.#end(call).settle({ kind: 'ended', outcome });
  }

  #end(call: RunningCall): RunningCall {
    this.#calls.delete(call.nonce);
    this.calls.delete(call);
    return call;
  }
}

// As in to-json-value: common parsers would refuse the whole batch for a value nested deeper.
const MAX_DEPTH = 500;

/** What a host says came of a call, as the executor knows ends; null where the value it sends is no JSON. */
const readAnswer = (end: HostEnd, body: string, tool: HostedTool): CallOutcome | null => {
  // Proved again: the host did it too, but its memory is the tool's, and one bad text would break the whole batch.
  if (body !== 'null' && (!parseJson(body).ok || isDeeperThan(body, MAX_DEPTH))) return null;
  if (end.kind === 'success') {
    const { message, marks, warnings } = end;
    return { kind: 'success', executed: 'yes', valueJson: body, message, marks, warnings };
  }
  const { kind: _kind, code, message, thrown, ...details } = end;
  return failed(toFailure(code, withoutFrames(message), tool, { ...details, thrown: restoreThrown(thrown) }), body);
};

/** The cause chain as it was in the host: objects that have what is read of errors. */
export const restoreThrown = (parts: readonly ThrownPart[]): unknown =>
  parts.reduceRight<unknown>((cause, part) => ({ ...part, cause }), undefined);

/** What came of loading a file. */
const readLoad = (
  message: Extract<HostMessage, { type: 'loaded' | 'load_failed' | 'refused' }>,
  body: string,
): HostLoad => {
  if (message.type === 'refused') return { kind: 'refused' };
  if (message.type === 'load_failed')
    return { kind: 'failed', reason: message.reason, thrown: ThrownAtLoad.safeParse(readValue(body)).data ?? null };
  const loaded = LoadedBody.safeParse(readValue(body));
  return loaded.success
    ? { kind: 'loaded', ...loaded.data, trace: message.trace }
    : { kind: 'failed', reason: 'the declarations of its tools cannot be read', thrown: null };
};

const readFields = (body: string): Readonly<Record<string, unknown>> => {
  const fields = readValue(body);
  return typeof fields === 'object' && fields !== null ? { ...fields } : {};
};

/** The value of a text that should be JSON; undefined where it is none. */
const readValue = (text: string): unknown => {
  const parsed = parseJson(text);
  return parsed.ok ? parsed.value : undefined;
};
