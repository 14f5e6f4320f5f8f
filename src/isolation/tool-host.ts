import type { HostedTool } from '../tools/tool.ts';
import { createFrameReader, encodeFrame } from './frames.ts';
import { type CallListener, HostConversation, type HostListener } from './host-conversation.ts';
import type { HostOrder, ThrownPart } from './host-messages.ts';
import type { HostedFile } from './hosted-file.ts';
import type { Death, KillReason } from './isolation-observer.ts';
import { type HostLaunch, type HostProcess, launchHost } from './launch-host.ts';
import { createOutputTail } from './output-tail.ts';
import { endFamily, endProcess } from './process-control.ts';
import { type Blame, type HostedEnd, RunningCall } from './running-call.ts';
import { type HostLoad, startLoading, startUp } from './start-loading.ts';

/** What a call in a host needs. */
export type HostedCall = Pick<CallListener, 'tool' | 'log' | 'progress'> & {
  readonly input: Readonly<Record<string, unknown>>;
  readonly session: string | null;
  readonly callId: string | number | null;
  readonly retriesLeft: number;
  readonly idempotencyKey: string | null;
  readonly traceparent: string | null;
  readonly graceful: 'on' | 'off';
  readonly timeoutMs: number;
};

export type HostSettings = {
  readonly launch: HostLaunch;
  readonly maxResultBytes: number;
  readonly createNonce: () => string;
  /** Milliseconds of the system's monotonic clock. */
  readonly monotonic: () => number;
  readonly listener: HostObserver;
};

/** Who hears of what goes wrong in hosts. `file`: the tool's, else the one that the host ran last; an absolute path. */
export type HostObserver = Pick<HostListener, 'onDropped'> & {
  readonly onStray: (tool: string | null, file: string, thrown: readonly ThrownPart[]) => void;
  readonly onUnfit: (tool: string | null, file: string, reason: string) => void;
  readonly onLine: (file: string, stream: 'stdout' | 'stderr', line: string) => void;
};

export type LoadTerms = { readonly placing: 'shared' | 'own'; readonly maxLoadMs: number };

/** One tool host as the service sees it: a process that loads files and answers calls, of one file at a time. */
export type ToolHost = {
  readonly pid: number;
  /** null where the process came up, else why not. Never rejects. */
  readonly ready: Promise<string | null>;
  /** Never rejects. */
  readonly load: (file: HostedFile, terms: LoadTerms) => Promise<HostLoad>;
  readonly unload: (file: HostedFile) => void;
  /** Runs a call; its end never rejects. `beginWithinMs`: the host does not begin it later; null = whenever. */
  readonly run: (call: HostedCall, version: string, beginWithinMs: number | null) => StartedCall;
  /** The calls that were sent and have not ended. */
  readonly calls: ReadonlySet<RunningCall>;
  /** Of these, the one whose beginning was the last that was heard of the host; null where it said more since. */
  readonly lastBegun: () => RunningCall | null;
  /** Aborts the signal of a call. */
  readonly abort: (call: RunningCall, reason: 'TimeoutError' | 'AbortError') => void;
  readonly ping: () => void;
  /** When something was heard of it last, on the monotonic clock. */
  readonly heardAt: () => number;
  /** Ends the whole process group at once. */
  readonly kill: (reason: KillReason) => void;
  readonly ended: Promise<Death>;
  readonly isEnding: () => boolean;
  /** Whether its state can be trusted no more: a call changed it, or something was thrown behind its back. */
  readonly isSpent: () => boolean;
  /** Whose call made it so; null where that is not known. */
  readonly spoiler: () => HostedTool | null;
  /** What goes on in it although no call runs, so that no other file may run there; null where nothing does. */
  readonly unrest: () => string | null;
  /** Calls it has answered. */
  readonly answered: () => number;
  /** To be called when it becomes spent, restless or quiet. */
  readonly onState: (listener: () => void) => void;
};

export type StartedCall = { readonly call: RunningCall; readonly end: Promise<HostedEnd> };

// What a process wrote last may be read after it has ended; a grandchild may hold its pipes open for ever.
const LAST_WORDS_MS = 50;

/** Starts a host; null where the system gives no process. */
export const createToolHost = (settings: HostSettings): ToolHost | null => {
  const started = launchHost(settings.launch);
  return started === null ? null : new HostedProcess(started, settings);
};

class HostedProcess implements ToolHost {
  readonly pid: number;
  readonly ready: Promise<string | null>;
  readonly ended: Promise<Death>;
  readonly calls = new Set<RunningCall>();
  readonly #settings: HostSettings;
  readonly #conversation: HostConversation;
  readonly #output: { readonly lines: () => readonly string[]; readonly reset: () => void };
  readonly #channel: HostProcess['channel'];
  /** Names of the sources that it has been sent. */
  readonly #sources = new Set<string>();
  #killedFor: KillReason | null = null;
  #ending: Death | null = null;
  /** The path of the file that it ran last. */
  #file = '';
  #isSpent = false;
  #spoiler: HostedTool | null = null;
  #unrest: string | null = null;
  #answered = 0;
  #heardAt: number;
  #lastBegun: RunningCall | null = null;
  /** The call whose code said that it ends the process. */
  #leaver: { readonly nonce: string; readonly tool: HostedTool | null } | null = null;
  #listener: () => void = () => undefined;

  constructor(started: HostProcess, settings: HostSettings) {
    const kill = this.kill.bind(this);
    this.pid = started.pid;
    this.#settings = settings;
    this.#channel = started.channel;
    this.#heardAt = settings.monotonic();
    this.#conversation = new HostConversation(this.#createListener(), settings.maxResultBytes, kill);
    const reader = createFrameReader({
      maxBodyBytes: Math.max(settings.maxResultBytes, MIN_BODY_BYTES),
      onFrame: (frame) => {
        this.#heardAt = settings.monotonic();
        this.#lastBegun = null;
        this.#conversation.read(frame);
      },
      onFault: () => kill('flood'),
    });
    const { onLine } = settings.listener;
    this.#output = watchOutput(started, (stream, line) => onLine(this.#file, stream, line), kill);
    this.ended = whenEnded(started, () => ({
      killedFor: this.#killedFor,
      lastLines: this.#output.lines(),
      leaver: this.#leaver?.tool ?? null,
    })).then((death) => this.#die(death));
    started.channel.on('data', reader.read);
    started.channel.on('error', () => undefined);
    // Its code may have closed the line. Where it is only ending, what it ended with is told shortly.
    started.channel.on('end', () => setTimeout(() => this.#ending ?? kill('forgery'), LAST_WORDS_MS * 2).unref());
    this.ready = startUp(this.#toLine(), settings.maxResultBytes);
  }

  load(file: HostedFile, { placing, maxLoadMs }: LoadTerms): Promise<HostLoad> {
    const { sources, version } = file;
    this.#output.reset();
    const body = this.#sources.has(sources.name) ? '' : sources.toText();
    this.#sources.add(sources.name);
    const { path, root } = file.file;
    this.#file = path;
    return startLoading(this.#toLine(), { version, path, root, sources: sources.name, placing }, body, maxLoadMs);
  }

  unload({ version }: HostedFile): void {
    this.#send({ type: 'unload', version }, '');
  }

  run(call: HostedCall, version: string, beginWithinMs: number | null): StartedCall {
    const nonce = this.#settings.createNonce();
    this.#file = call.tool.file.path;
    const beginBy = beginWithinMs === null ? null : this.#settings.monotonic() + beginWithinMs;
    // Of calls that run side by side nothing tells whose a line is.
    if (this.calls.size === 0) this.#output.reset();
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
      onBegan: () => {
        running.begin();
        this.#lastBegun = running;
      },
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
    if (isFirst) endFamily(this.pid);
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

  unrest(): string | null {
    return this.#unrest;
  }

  answered(): number {
    return this.#answered;
  }

  heardAt(): number {
    return this.#heardAt;
  }

  lastBegun(): RunningCall | null {
    return this.#lastBegun;
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
    };
  }

  #toLine(): Parameters<typeof startUp>[0] {
    return {
      conversation: this.#conversation,
      createNonce: this.#settings.createNonce,
      send: (order, body) => this.#send(order, body),
      kill: (reason) => this.kill(reason),
      ended: this.ended,
    };
  }

  #send(order: HostOrder, body: string): void {
    this.#channel.write(encodeFrame(JSON.stringify(order), body));
  }

  #die(death: Death): Death {
    this.#ending = death;
    const begun = [...this.calls].filter(({ began }) => began);
    const guilty = this.#findGuilty(begun);
    for (const call of [...this.calls]) call.die(death, toBlame(call, guilty));
    return death;
  }

  /** The calls that ended the process; null where it is not known. */
  #findGuilty(begun: readonly RunningCall[]): readonly RunningCall[] | null {
    const overdue = begun.filter(({ isOverdue }) => isOverdue);
    if (overdue.length > 0) return overdue;
    if (this.#leaver !== null) return begun.filter(({ nonce }) => nonce === this.#leaver?.nonce);
    return begun.length === 1 ? begun : null;
  }
}

const toBlame = (call: RunningCall, guilty: readonly RunningCall[] | null): Blame => {
  if (guilty === null) return 'unknown';
  return guilty.includes(call) ? 'this' : 'other';
};

// Descriptions of a file's tools may be larger than any result.
const MIN_BODY_BYTES = 8_388_608;

const toCallOrder = ({ nonce, beginBy }: RunningCall, version: string, call: HostedCall): HostOrder => ({
  type: 'call',
  nonce,
  version,
  beginBy,
  role: call.tool.role,
  tool: call.tool.name,
  session: call.session,
  callId: call.callId,
  // Of the service's tool: its operator may have said otherwise than the file.
  effects: call.tool.effects,
  retriesLeft: call.retriesLeft,
  timeoutMs: call.timeoutMs,
  idempotencyKey: call.idempotencyKey,
  traceparent: call.traceparent,
  graceful: call.graceful,
});

const watchOutput = (
  host: HostProcess,
  onLine: (stream: 'stdout' | 'stderr', line: string) => void,
  kill: ToolHost['kill'],
) => {
  const onFlood = (): void => kill('flood');
  const stdout = createOutputTail(host.stdout, { onLine: (line) => onLine('stdout', line), onFlood });
  const stderr = createOutputTail(host.stderr, { onLine: (line) => onLine('stderr', line), onFlood });
  return {
    lines: stderr.lines,
    reset: (): void => {
      stdout.reset();
      stderr.reset();
    },
  };
};

const whenEnded = (
  { child, pid, ...streams }: HostProcess,
  circumstances: () => Omit<Death, 'pid' | 'exitCode' | 'signal'>,
): Promise<Death> =>
  new Promise((resolve) => {
    child.once('exit', (exitCode, signal) => {
      // Whatever it started in its process group ends with it.
      endProcess(-pid);
      const tell = (): void => {
        clearTimeout(timer);
        for (const stream of Object.values(streams)) stream.destroy();
        resolve({ pid, exitCode, signal, ...circumstances() });
      };
      const timer = setTimeout(tell, LAST_WORDS_MS);
      child.once('close', tell);
    });
  });
