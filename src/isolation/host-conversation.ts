import type { CallOutcome } from '../executor/call-outcome.ts';
import { parseJson } from '../json/parse-json.ts';
import type { LoadedToolFile } from '../tools/directory/load-tool-file.ts';
import type { HostedTool, ToolLog, ToolProgress } from '../tools/tool.ts';
import type { Frame } from './frames.ts';
import { type HostMessage, LoadedBody, readHostMessage, type ThrownPart } from './host-messages.ts';
import type { DroppedReason } from './isolation-observer.ts';
import { readAnswer } from './read-answer.ts';

/** Who hears of what a host does beside answering. */
export type HostListener = {
  readonly onDropped: (reason: DroppedReason) => void;
  /** Something was thrown where nobody waited for it; `tool`: by what its call had started, where that is known. */
  readonly onStray: (tool: string | null, thrown: readonly ThrownPart[]) => void;
  /** No further call begins in this host. */
  readonly onUnfit: (tool: string | null, reason: string) => void;
};

/** What a call in a host hears. */
export type CallListener = {
  readonly tool: HostedTool;
  readonly log: () => ToolLog;
  readonly progress: (update: ToolProgress) => void;
  /** From here on the handler may have run. */
  readonly onBegan: () => void;
  readonly onEnd: (end: CallOutcome) => void;
};

export type LoadListener = {
  readonly onLoading: () => void;
  readonly onLoaded: (loaded: LoadedToolFile) => void;
};

// A call may log and report progress a thousand times each; who says more does not come from our side of the host.
const MAX_MESSAGES = 4000;
// Their heads and fields together, in bytes: a thousand log lines of the largest size.
const MAX_MESSAGE_BYTES = 16_777_216;
const MAX_FIELDS_LENGTH = 8192;
const MAX_FORGED = 100;
const MAX_REMEMBERED = 16;

/**
 * Makes sense of what a host says. Each message is checked and counts only for the call whose nonce it carries, and
 * only once: what is forged, second, or too much is dropped and told. `onAbuse`: the host must not go on.
 */
export class HostConversation {
  readonly #listener: HostListener;
  readonly #onAbuse: (kind: 'flood' | 'forgery') => void;
  readonly #maxResultBytes: number;
  #load: { readonly nonce: string; readonly listener: LoadListener } | null = null;
  #call: { readonly nonce: string; readonly listener: CallListener } | null = null;
  /** The tools of the last calls, by nonce. */
  readonly #past = new Map<string, string>();
  #messages = 0;
  #bytes = 0;
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

  expectLoad(nonce: string, listener: LoadListener): void {
    this.#load = { nonce, listener };
  }

  expectCall(nonce: string, listener: CallListener): void {
    this.#messages = 0;
    this.#bytes = 0;
    this.#call = { nonce, listener };
    this.#past.set(nonce, listener.tool.name);
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
    this.#messages += 1;
    this.#bytes += head.length;
    if (this.#messages > MAX_MESSAGES || this.#bytes > MAX_MESSAGE_BYTES) {
      this.#listener.onDropped('limit');
      this.#onAbuse('flood');
      return;
    }
    const message = readHostMessage(head);
    if (message === null) this.#drop('');
    else this.#hear(message, body);
  }

  #hear(message: HostMessage, body: string): void {
    switch (message.type) {
      case 'stray':
        this.#listener.onStray(this.#past.get(message.nonce) ?? null, message.thrown);
        break;
      case 'unfit':
        this.#listener.onUnfit(this.#past.get(message.nonce) ?? null, message.reason);
        break;
      case 'loading':
      case 'loaded':
      case 'load_failed':
        if (this.#load?.nonce === message.nonce) this.#hearLoad(message, body, this.#load.listener);
        else this.#drop(message.nonce);
        break;
      default:
        if (this.#call?.nonce === message.nonce) this.#hearCall(message, body, this.#call.listener);
        else this.#drop(message.nonce);
    }
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
    listener.onLoaded(message.type === 'loaded' ? toLoaded(body) : { kind: 'failed', reason: message.reason });
  }

  #hearCall(message: CallMessage, body: string, listener: CallListener): void {
    switch (message.type) {
      case 'began':
        listener.onBegan();
        break;
      case 'log':
        this.#bytes += body.length;
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

  #hearAnswer({ end }: Extract<CallMessage, { type: 'answer' }>, body: string, listener: CallListener): void {
    const ended = Buffer.byteLength(body) > this.#maxResultBytes ? null : readAnswer(end, body, listener.tool);
    if (ended === null) {
      this.#onAbuse('forgery');
      return;
    }
    this.#call = null;
    listener.onEnd(ended);
  }
}

type CallMessage = Extract<HostMessage, { type: 'began' | 'answer' | 'log' | 'progress' }>;

const toLoaded = (body: string): LoadedToolFile => {
  const loaded = LoadedBody.safeParse(toValue(body));
  return loaded.success
    ? { kind: 'loaded', ...loaded.data }
    : { kind: 'failed', reason: 'what its tools say of themselves cannot be read' };
};

const toValue = (text: string): unknown => {
  const parsed = parseJson(text);
  return parsed.ok ? parsed.value : undefined;
};

const toFields = (body: string): Readonly<Record<string, unknown>> => {
  const fields = toValue(body);
  return typeof fields === 'object' && fields !== null ? { ...fields } : {};
};
