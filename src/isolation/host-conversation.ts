import type { CallOutcome } from '../executor/call-outcome.ts';
import type { HostedTool, ToolLog, ToolProgress } from '../tools/tool.ts';
import type { Frame } from './frames.ts';
import { type HostMessage, readHostMessage, type ThrownPart } from './host-messages.ts';
import type { DroppedReason } from './isolation-observer.ts';
import type { HostLoad } from './loadable-file.ts';
import { readAnswer } from './read-answer.ts';
import { toFailed, toLoaded, toValue } from './read-loaded.ts';

/** What goes on in a host although no call runs; `version`: of the file whose turn it was. */
export type Unrest = { readonly version: string; readonly reason: string };

/** Who hears of what a host does beside answering. `tool`: by what its call had started, where that is known. */
export type HostListener = {
  readonly onDropped: (reason: DroppedReason) => void;
  /** Something was thrown where nobody waited for it. */
  readonly onStray: (tool: HostedTool | null, thrown: readonly ThrownPart[]) => void;
  /** No further call begins in this host. */
  readonly onUnfit: (tool: HostedTool | null, reason: string) => void;
  /** No call runs and something goes on; null: it has ended. */
  readonly onRest: (unrest: Unrest | null) => void;
  /** Code of this tool is about to end the process. */
  readonly onLeaving: (tool: HostedTool | null, nonce: string) => void;
  readonly onPong: () => void;
  readonly onResources: (state: 'held' | 'released') => void;
};

/** What a call in a host hears. */
export type CallListener = {
  readonly tool: HostedTool;
  readonly log: () => ToolLog;
  readonly progress: (update: ToolProgress) => void;
  /** From here on the handler may have run. */
  readonly onBegan: () => void;
  readonly onRefused: () => void;
  readonly onEnd: (end: CallOutcome) => void;
};

export type LoadListener = {
  readonly onLoading: () => void;
  readonly onLoaded: (load: HostLoad) => void;
};

// A call may log and report progress a thousand times each; who says more does not come from our side of the host.
const MAX_MESSAGES = 4000;
// Their heads and fields together, in bytes: a thousand log lines of the largest size.
const MAX_MESSAGE_BYTES = 16_777_216;
const MAX_FIELDS_LENGTH = 8192;
const MAX_FORGED = 100;
const MAX_REMEMBERED = 1024;

/** How much was said, of one call or of the host as a whole since the last call was sent. */
type Talk = { messages: number; bytes: number };
type Listening = { readonly listener: CallListener; readonly talk: Talk };

/**
 * Makes sense of what a host says. Each message is checked and counts only for the call whose nonce it carries, and
 * only once: what is forged, second, or too much is dropped and told. `onAbuse`: the host must not go on.
 */
export class HostConversation {
  readonly #listener: HostListener;
  readonly #onAbuse: (kind: 'flood' | 'forgery') => void;
  readonly #maxResultBytes: number;
  #ready: { readonly nonce: string; readonly onReady: () => void } | null = null;
  #load: { readonly nonce: string; readonly listener: LoadListener } | null = null;
  readonly #calls = new Map<string, Listening>();
  /** The tools of the last calls, by nonce. */
  readonly #past = new Map<string, HostedTool>();
  #talk: Talk = { messages: 0, bytes: 0 };
  #forged = 0;
  #isOver = false;

  constructor(listener: HostListener, maxResultBytes: number, onAbuse: (kind: 'flood' | 'forgery') => void) {
    this.#maxResultBytes = maxResultBytes;
    this.#listener = listener;
    this.#onAbuse = (kind) => {
      this.#isOver = true;
      onAbuse(kind);
    };
  }

  expectReady(nonce: string, onReady: () => void): void {
    this.#ready = { nonce, onReady };
  }

  expectLoad(nonce: string, listener: LoadListener): void {
    this.#talk = { messages: 0, bytes: 0 };
    this.#load = { nonce, listener };
  }

  expectCall(nonce: string, listener: CallListener): void {
    this.#talk = { messages: 0, bytes: 0 };
    this.#calls.set(nonce, { listener, talk: { messages: 0, bytes: 0 } });
    this.#past.set(nonce, listener.tool);
    if (this.#past.size > MAX_REMEMBERED) this.#forgetOldest();
  }

  #forgetOldest(): void {
    for (const oldest of this.#past.keys()) {
      this.#past.delete(oldest);
      return;
    }
  }

  read({ head, body }: Frame): void {
    if (this.#isOver) return;
    const message = readHostMessage(head);
    const call = message === null ? undefined : this.#calls.get(message.nonce);
    const talk = call?.talk ?? this.#talk;
    // Asked for by the service, however long a call takes.
    if (message?.type !== 'pong') talk.messages += 1;
    talk.bytes += head.length + (message?.type === 'log' ? body.length : 0);
    if (talk.messages > MAX_MESSAGES || talk.bytes > MAX_MESSAGE_BYTES) {
      this.#listener.onDropped('limit');
      this.#onAbuse('flood');
      return;
    }
    if (message === null) this.#drop('');
    else this.#hear(message, body, call);
  }

  #hear(message: HostMessage, body: string, call: Listening | undefined): void {
    switch (message.type) {
      case 'ready':
      case 'restless':
      case 'quiet':
      case 'pong':
      case 'resources':
        this.#hearHost(message);
        break;
      case 'stray':
        this.#listener.onStray(this.#past.get(message.nonce) ?? null, message.thrown);
        break;
      case 'unfit':
        this.#listener.onUnfit(this.#past.get(message.nonce) ?? null, message.reason);
        break;
      case 'leaving':
        this.#listener.onLeaving(this.#past.get(message.nonce) ?? null, message.nonce);
        break;
      case 'loading':
      case 'loaded':
      case 'load_failed':
        if (this.#load?.nonce === message.nonce) this.#hearLoad(message, body, this.#load.listener);
        else this.#drop(message.nonce);
        break;
      case 'refused':
        this.#hearRefused(message.nonce, call);
        break;
      default:
        if (call === undefined) this.#drop(message.nonce);
        else this.#hearCall(message, body, call.listener);
    }
  }

  #hearHost({ nonce, ...message }: WordOfHost): void {
    if (this.#ready?.nonce !== nonce) this.#drop(nonce);
    else if (message.type === 'ready') this.#ready.onReady();
    else if (message.type === 'pong') this.#listener.onPong();
    else if (message.type === 'resources') this.#listener.onResources(message.state);
    else this.#listener.onRest(message.type === 'restless' ? message : null);
  }

  get nonce(): string {
    return this.#ready?.nonce ?? '';
  }

  #drop(nonce: string): void {
    // What is late comes from our own side of a host; only what nobody of ours could have sent is held against it.
    if (this.#past.has(nonce)) {
      this.#listener.onDropped('second');
      return;
    }
    this.#listener.onDropped('forged');
    this.#forged += 1;
    if (this.#forged > MAX_FORGED) this.#onAbuse('forgery');
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
      call.listener.onRefused();
    } else if (this.#load?.nonce === nonce) {
      const { listener } = this.#load;
      this.#load = null;
      listener.onLoaded({ kind: 'refused' });
    } else this.#drop(nonce);
  }

  #hearCall(message: CallMessage, body: string, listener: CallListener): void {
    switch (message.type) {
      case 'began':
        listener.onBegan();
        break;
      case 'log':
        listener.log()[message.level](message.message, body.length > MAX_FIELDS_LENGTH ? {} : toFields(body));
        break;
      case 'progress':
        listener.progress(message);
        break;
      case 'answer':
        this.#hearAnswer(message, body, listener);
        break;
    }
  }

  #hearAnswer({ nonce, end }: Extract<CallMessage, { type: 'answer' }>, body: string, listener: CallListener): void {
    const ended = Buffer.byteLength(body) > this.#maxResultBytes ? null : readAnswer(end, body, listener.tool);
    if (ended === null) {
      this.#onAbuse('forgery');
      return;
    }
    this.#calls.delete(nonce);
    listener.onEnd(ended);
  }
}

type WordOfHost = Extract<HostMessage, { type: 'ready' | 'restless' | 'quiet' | 'pong' | 'resources' }>;
type CallMessage = Extract<HostMessage, { type: 'began' | 'answer' | 'log' | 'progress' }>;

const toFields = (body: string): Readonly<Record<string, unknown>> => {
  const fields = toValue(body);
  return typeof fields === 'object' && fields !== null ? { ...fields } : {};
};
