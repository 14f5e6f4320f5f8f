import type { HostedTool } from '../tools/tool.ts';
import { createFrameReader, encodeFrame } from './frames.ts';
import { HostConversation, type HostListener, type Unrest } from './host-conversation.ts';
import { LAST_WORDS_MS, toBlame, watchOutput, whenEnded } from './host-ending.ts';
import type { HostOrder } from './host-messages.ts';
import { type HostedCall, toCallOrder } from './hosted-call.ts';
import type { Death, KillReason } from './isolation-observer.ts';
import { type HostProcess, launchHost } from './launch-host.ts';
import type { HostLoad, LoadableFile } from './loadable-file.ts';
import { endFamily } from './process-control.ts';
import { type HostedEnd, RunningCall } from './running-call.ts';
import { startLoading, startUp } from './start-loading.ts';
import type { HostSettings, LoadTerms, StartedCall, ToolHost } from './tool-host.ts';

/** Starts a host; null where the system gives no process. */
export const createToolHost = (settings: HostSettings): ToolHost | null => {
  const started = launchHost(settings.launch);
  return started === null ? null : new HostedProcess(started, settings);
};

/** Why a host ends in order: no call has gone wrong in it. */
const ORDERLY: ReadonlySet<KillReason> = new Set(['recycle', 'surplus', 'shutdown']);
// A little more than the tools have themselves.
const RELEASE_MS = 1500;

class HostedProcess implements ToolHost {
  readonly pid: number;
  readonly ready: Promise<string | null>;
  readonly ended: Promise<Death>;
  readonly calls = new Set<RunningCall>();
  readonly #settings: HostSettings;
  readonly #conversation: HostConversation;
  readonly #output: ReturnType<typeof watchOutput>;
  readonly #orders: HostProcess['orders'];
  /** Names of the sources that it has been sent. */
  readonly #sources = new Set<string>();
  #killedFor: KillReason | null = null;
  #ending: Death | null = null;
  /** The path of the file that it ran last. */
  #file = '';
  #isSpent = false;
  #spoiler: HostedTool | null = null;
  #unrest: Unrest | null = null;
  #answered = 0;
  #holdsResources = false;
  #heardAt: number;
  /** The call whose code said that it ends the process. */
  #leaver: { readonly nonce: string; readonly tool: HostedTool | null } | null = null;
  #listener: () => void = () => undefined;

  constructor(started: HostProcess, settings: HostSettings) {
    const kill = this.kill.bind(this);
    this.pid = started.pid;
    this.#settings = settings;
    this.#orders = started.orders;
    this.#heardAt = settings.monotonic();
    const stopListening = this.#stopListening.bind(this);
    this.#conversation = new HostConversation(this.#createListener(), settings.maxResultBytes, stopListening);
    const reader = createFrameReader({
      maxBodyBytes: Math.max(settings.maxResultBytes, MIN_BODY_BYTES),
      onFrame: (frame) => {
        this.#heardAt = settings.monotonic();
        this.#conversation.read(frame);
      },
      onFault: () => stopListening('flood'),
    });
    const { onLine } = settings.listener;
    this.#output = watchOutput(started, (stream, line) => onLine(this.#file, stream, line), kill);
    this.ended = whenEnded(started, () => ({
      killedFor: this.#killedFor,
      lastLines: this.#output.lines(),
      leaver: this.#leaver?.tool ?? null,
    })).then((death) => this.#die(death));
    started.words.on('data', reader.read);
    // Its code may have closed a line. Where it is only ending, what it ended with is told shortly.
    const onLost = (): void => void setTimeout(() => this.#ending ?? kill('forgery'), LAST_WORDS_MS * 2).unref();
    started.words.on('end', onLost).on('error', onLost);
    started.orders.on('error', onLost);
    this.ready = startUp(this.#toLine(), settings.maxResultBytes);
  }

  load(file: LoadableFile, { placing, maxLoadMs }: LoadTerms): Promise<HostLoad> {
    const { sources, version } = file;
    this.#output.reset();
    const body = this.#sources.has(sources.name) ? '' : sources.toText();
    this.#sources.add(sources.name);
    const { path, root } = file.file;
    this.#file = path;
    return startLoading(this.#toLine(), { version, path, root, sources: sources.name, placing }, body, maxLoadMs);
  }

  unload({ version }: LoadableFile): void {
    this.#send({ type: 'unload', version }, '');
  }

  run(call: HostedCall, version: string, beginWithinMs: number | null): StartedCall {
    const nonce = this.#settings.createNonce();
    this.#file = call.tool.file.path;
    const beginBy = beginWithinMs === null ? null : this.#settings.monotonic() + beginWithinMs;
    // Of calls that run side by side nothing tells whose a line is.
    if (this.calls.size === 0) this.#output.reset();
    else this.#output.renew();
    const { promise, resolve } = Promise.withResolvers<HostedEnd>();
    const running = new RunningCall(nonce, call.tool, beginBy, (end) => {
      this.calls.delete(running);
      resolve(end);
    });
    this.calls.add(running);
    if (this.#ending !== null) {
      running.die(this.#ending, 'other');
      return { call: running, end: promise };
    }
    this.#conversation.expectCall(nonce, {
      ...call,
      onBegan: () => running.begin(),
      onRefused: () => running.refuse(),
      onEnd: (end) => {
        this.#answered += 1;
        running.begin();
        running.end(end);
      },
    });
    this.#send(toCallOrder(running, version, call), JSON.stringify(call.input));
    return { call: running, end: promise };
  }

  abort({ nonce }: RunningCall, reason: 'TimeoutError' | 'AbortError'): void {
    this.#send({ type: 'abort', nonce, reason }, '');
  }

  ping(): void {
    this.#send({ type: 'ping', nonce: this.#conversation.nonce }, '');
  }

  kill(reason: KillReason): void {
    // Its number may be another process's by now.
    if (this.#ending !== null) return;
    const isFirst = this.#killedFor === null;
    this.#killedFor ??= reason;
    if (!isFirst) return;
    if (this.#holdsResources && this.calls.size === 0 && ORDERLY.has(reason)) this.#release();
    else this.#endFamily();
  }

  #endFamily(): void {
    endFamily(this.pid, this.#settings.processes.findDescendants);
  }

  /** Its tools end what they hold; it ends when they have, and in any case soon. */
  #release(): void {
    this.#send({ type: 'release' }, '');
    const timer = setTimeout(() => this.#endFamily(), RELEASE_MS);
    void this.ended.then(() => clearTimeout(timer));
  }

  /** Nothing is heard of it any more, and so not which calls begin: each may have. */
  #stopListening(reason: 'flood' | 'forgery'): void {
    for (const call of this.calls) call.begin();
    this.kill(reason);
  }

  isEnding(): boolean {
    return this.#ending !== null || this.#killedFor !== null;
  }

  isSpent(): boolean {
    return this.#isSpent;
  }

  spoiler(): HostedTool | null {
    return this.#spoiler;
  }

  unrest(): Unrest | null {
    return this.#unrest;
  }

  answered(): number {
    return this.#answered;
  }

  heardAt(): number {
    return this.#heardAt;
  }

  onState(listener: () => void): void {
    this.#listener = listener;
  }

  #createListener(): HostListener {
    const { onDropped, onStray, onUnfit } = this.#settings.listener;
    return {
      onDropped,
      onStray: (tool, thrown) => onStray(tool?.name ?? null, tool?.file.path ?? this.#file, thrown),
      onUnfit: (tool, reason) => {
        this.#isSpent = true;
        this.#spoiler = tool;
        onUnfit(tool?.name ?? null, tool?.file.path ?? this.#file, reason);
        this.#listener();
      },
      onRest: (unrest) => {
        this.#unrest = unrest;
        this.#listener();
      },
      onLeaving: (tool, nonce) => {
        this.#leaver = { nonce, tool };
      },
      onPong: () => undefined,
      onResources: (state) => {
        this.#holdsResources = state === 'held';
        if (state === 'released' && this.#killedFor !== null && this.#ending === null) this.#endFamily();
      },
    };
  }

  #toLine(): Parameters<typeof startUp>[0] {
    return {
      conversation: this.#conversation,
      createNonce: this.#settings.createNonce,
      send: (order, body) => this.#send(order, body),
      kill: (reason) => this.kill(reason),
      ended: this.ended,
      waitedMs: () => this.#settings.processes.waitedMs(this.pid),
      now: this.#settings.monotonic,
    };
  }

  #send(order: HostOrder, body: string): void {
    this.#orders.write(encodeFrame(JSON.stringify(order), body));
  }

  #die(death: Death): Death {
    this.#ending = death;
    const calls = [...this.calls];
    const blames = calls.map((call) => toBlame(call, calls, this.#leaver?.nonce ?? null));
    for (const [at, call] of calls.entries()) call.die(death, blames[at] ?? 'unknown');
    return death;
  }
}

// Descriptions of a file's tools may be larger than any result.
const MIN_BODY_BYTES = 8_388_608;
