import { type CallOutcome, failed, toFailure } from 'recourse-server/executor/call-outcome';
import { withoutFrames } from 'recourse-server/executor/failure-text';
import { isDeeperThan } from 'recourse-server/json/json-text';
import { parseJson } from 'recourse-server/json/parse-json';
import type { HostedTool } from 'recourse-server/tools/tool';
import type { Frame } from './frames.ts';
import {
  type HostEnd,
  type HostMessage,
  LoadedBody,
  readHostMessage,
  ThrownAtLoadBody,
  type ThrownPart,
} from './host-messages.ts';
import type { DroppedReason } from './isolation-observer.ts';
import type { HostedCall, HostLoad, PendingWork } from './tool-host.ts';

/** Who hears of what a host does beside answering. `tool`: by what its call had started, where that is known. */
type HostListener = {
  /** Something that this side asked for, or could have asked for, was said. */
  readonly onDropped: (reason: DroppedReason) => void;
  /** Something was thrown where nobody waited for it. */
  readonly onStray: (tool: HostedTool | null, thrown: readonly ThrownPart[]) => void;
  /** No further call begins in this host. */
  readonly onUnusable: (tool: HostedTool | null, reason: string) => void;
  /** No call runs and something goes on; null: it has ended. */
  readonly onRest: (unrest: PendingWork | null) => void;
  /** Code of this tool is about to end the process. */
  readonly onLeaving: (tool: HostedTool | null, nonce: string) => void;
  readonly onResources: (state: 'held' | 'released') => void;
  /** The host must not go on. */
  readonly onAbuse: (kind: 'flood' | 'forgery') => void;
};

/** What a call in a host hears. */
type CallListener = Pick<HostedCall, 'tool' | 'log' | 'progress' | 'part'> & {
  /** From here on the handler may have run. */
  readonly onBegan: () => void;
  readonly onRefused: () => void;
  readonly onEnd: (end: CallOutcome) => void;
};

type LoadListener = { readonly onLoading: () => void; readonly onLoaded: (load: HostLoad) => void };

// A call may log and report progress a thousand times each; who says more does not come from our side of the host.
const MAX_MESSAGES = 4000;
// Their heads and bodies together, in bytes: a thousand log lines of the largest size, and all parts that a call may show.
const MAX_MESSAGE_BYTES = 25_165_824;
const MAX_FIELDS_LENGTH = 8192;
const MAX_FORGED = 100;
const MAX_REMEMBERED = 1024;

/** How much was said, of one call or of the host as a whole since the last call was sent. */
type Talk = { messages: number; bytes: number };
type Listening = CallListener & { readonly talk: Talk };

/**
 * Makes sense of what a host says. Each message is checked and counts only for the call whose nonce it carries, and
 * only once: what is forged, second, or too much is dropped and told.
 */
export class HostConversation {
  readonly #listener: HostListener;
  readonly #maxResultBytes: number;
  /** What is said of the host as a whole carries it. */
  readonly #nonce: string;
  readonly #onReady: () => void;
  #load: (LoadListener & { readonly nonce: string }) | null = null;
  readonly #calls = new Map<string, Listening>();
  /** The tools of the last calls, by nonce. */
  readonly #past = new Map<string, HostedTool>();
  #talk: Talk = { messages: 0, bytes: 0 };
  #forged = 0;
  #isOver = false;

  constructor(nonce: string, maxResultBytes: number, listener: HostListener & { readonly onReady: () => void }) {
    this.#nonce = nonce;
    this.#maxResultBytes = maxResultBytes;
    this.#listener = listener;
    this.#onReady = listener.onReady;
  }

  expectLoad(nonce: string, listener: LoadListener): void {
    this.#talk = { messages: 0, bytes: 0 };
    this.#load = { nonce, ...listener };
  }

  expectCall(nonce: string, listener: CallListener): void {
    this.#talk = { messages: 0, bytes: 0 };
    this.#calls.set(nonce, { ...listener, talk: { messages: 0, bytes: 0 } });
    this.#past.set(nonce, listener.tool);
    const [oldest] = this.#past.keys();
    if (this.#past.size > MAX_REMEMBERED && oldest !== undefined) this.#past.delete(oldest);
  }

  read({ head, body }: Frame): void {
    if (this.#isOver) return;
    const message = readHostMessage(head);
    const call = message === null ? undefined : this.#calls.get(message.nonce);
    const talk = call?.talk ?? this.#talk;
    // Asked for by the service, however long a call takes.
    if (message?.type !== 'pong') talk.messages += 1;
    talk.bytes += head.length + (message?.type === 'log' || message?.type === 'part' ? body.length : 0);
    if (talk.messages > MAX_MESSAGES || talk.bytes > MAX_MESSAGE_BYTES) {
      this.#listener.onDropped('limit');
      this.#abuse('flood');
    } else if (message === null) this.#drop('');
    else this.#hear(message, body, call);
  }

  #hear(message: HostMessage, body: string, call: Listening | undefined): void {
    const { nonce } = message;
    switch (message.type) {
      case 'ready':
      case 'restless':
      case 'quiet':
      case 'pong':
      case 'resources':
        this.#hearHost(message);
        break;
      case 'stray':
        this.#listener.onStray(this.#past.get(nonce) ?? null, message.thrown);
        break;
      case 'unfit':
        this.#listener.onUnusable(this.#past.get(nonce) ?? null, message.reason);
        break;
      case 'leaving':
        this.#listener.onLeaving(this.#past.get(nonce) ?? null, nonce);
        break;
      case 'loading':
      case 'loaded':
      case 'load_failed':
        if (this.#load?.nonce === nonce) this.#hearLoad(message, body, this.#load);
        else this.#drop(nonce);
        break;
      case 'refused':
        this.#hearRefused(nonce, call);
        break;
      default:
        if (call === undefined) this.#drop(nonce);
        else this.#hearCall(message, body, call);
    }
  }

  #hearHost(message: Extract<HostMessage, { type: 'ready' | 'restless' | 'quiet' | 'pong' | 'resources' }>): void {
    if (message.nonce !== this.#nonce) this.#drop(message.nonce);
    else if (message.type === 'ready') this.#onReady();
    else if (message.type === 'resources') this.#listener.onResources(message.state);
    else if (message.type === 'restless') this.#listener.onRest({ version: message.version, reason: message.reason });
    else if (message.type === 'quiet') this.#listener.onRest(null);
  }

  #drop(nonce: string): void {
    // What is late comes from our own side of a host; only what nobody of ours could have sent is held against it.
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

  #hearLoad(
    message: Extract<HostMessage, { type: 'loading' | 'loaded' | 'load_failed' }>,
    body: string,
    listener: LoadListener,
  ): void {
    if (message.type === 'loading') {
      listener.onLoading();
      return;
    }
    this.#load = null;
    listener.onLoaded(message.type === 'loaded' ? toLoaded(body, message.trace) : toFailed(body, message.reason));
  }

  #hearRefused(nonce: string, call: Listening | undefined): void {
    if (call !== undefined) {
      this.#calls.delete(nonce);
      call.onRefused();
    } else if (this.#load?.nonce === nonce) {
      const { onLoaded } = this.#load;
      this.#load = null;
      onLoaded({ kind: 'refused' });
    } else this.#drop(nonce);
  }

  #hearCall(
    message: Extract<HostMessage, { type: 'began' | 'answer' | 'log' | 'progress' | 'part' }>,
    body: string,
    call: CallListener,
  ): void {
    if (message.type === 'began') call.onBegan();
    else if (message.type === 'log')
      call.log()[message.level](message.message, body.length > MAX_FIELDS_LENGTH ? {} : toFields(body));
    else if (message.type === 'progress') call.progress(message);
    else if (message.type === 'part') hearPart(body, call);
    else this.#hearAnswer(message, body, call);
  }

  #hearAnswer({ nonce, end }: Extract<HostMessage, { type: 'answer' }>, body: string, call: CallListener): void {
    const outcome = Buffer.byteLength(body) > this.#maxResultBytes ? null : readAnswer(end, body, call.tool);
    if (outcome === null) {
      this.#abuse('forgery');
      return;
    }
    this.#calls.delete(nonce);
    call.onEnd(outcome);
  }
}

/** Parsed again: the host's memory is the tool's, and a text that is no JSON would break a stream. */
const hearPart = (body: string, { part }: CallListener): void => {
  const parsed = parseJson(body);
  if (parsed.ok) part?.(parsed.value);
};

// As in to-json-value: common parsers would refuse the whole batch for a value nested deeper.
const MAX_DEPTH = 500;

/** What a host says came of a call, as the executor knows ends; null where the value it sends is no JSON. */
const readAnswer = (end: HostEnd, body: string, tool: HostedTool): CallOutcome | null => {
  // Proved again: the host did it too, but its memory is the tool's, and one bad text would spoil the whole batch.
  if (body !== 'null' && (!parseJson(body).ok || isDeeperThan(body, MAX_DEPTH))) return null;
  if (end.kind === 'success') {
    const { message, marks, warnings } = end;
    return { kind: 'success', executed: 'yes', valueJson: body, message, marks, warnings };
  }
  const { kind: _kind, code, message, thrown, ...details } = end;
  return failed(toFailure(code, withoutFrames(message), tool, { ...details, thrown: toThrown(thrown) }), body);
};

/** The cause chain as it was in the host: objects that have what is read of errors. */
export const toThrown = (parts: readonly ThrownPart[]): unknown =>
  parts.reduceRight<unknown>((cause, part) => ({ ...part, cause }), undefined);

/** What a host says of a file that it loaded. */
const toLoaded = (body: string, trace: string | null): HostLoad => {
  const loaded = LoadedBody.safeParse(toValue(body));
  return loaded.success
    ? { kind: 'loaded', ...loaded.data, trace }
    : { kind: 'failed', reason: 'the declarations of its tools cannot be read', thrown: null };
};

const toFailed = (body: string, reason: string): HostLoad => ({
  kind: 'failed',
  reason,
  thrown: ThrownAtLoadBody.safeParse(toValue(body)).data ?? null,
});

const toFields = (body: string): Readonly<Record<string, unknown>> => {
  const fields = toValue(body);
  return typeof fields === 'object' && fields !== null ? { ...fields } : {};
};

/** The value of a text that should be JSON; undefined where it is none. */
const toValue = (text: string): unknown => {
  const parsed = parseJson(text);
  return parsed.ok ? parsed.value : undefined;
};
