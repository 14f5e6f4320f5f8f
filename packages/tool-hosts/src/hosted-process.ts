import { randomUUID } from 'node:crypto';
import type { HostedTool } from 'recourse-server/tools/tool';
import type { Death, KillReason } from './classify-death.ts';
import { createFrameReader, encodeFrame } from './frames.ts';
import { HostConversation, restoreThrown } from './host-conversation.ts';
import { type HostMessage, type HostOrder, type PendingWork, readMonotonicMs } from './host-messages.ts';
import type { IsolationObserver } from './host-observer.ts';
import { type HostLaunch, type HostProcess, launchHost } from './launch-host.ts';
import { OutputTail } from './output-tail.ts';
import { endFamily, endProcess } from './process-control.ts';
import type { ProcessTable } from './process-table.ts';
import { type Blame, type HostedCall, type HostLoad, type LoadableFile, RunningCall } from './tool-host.ts';

type HostSettings = {
  readonly launch: HostLaunch;
  readonly processes: Pick<ProcessTable, 'findDescendants' | 'waitedMs'>;
  readonly maxResultBytes: number;
  readonly observer: Pick<IsolationObserver, 'messageDropped' | 'strayThrown' | 'hostUnusable' | 'lineWritten'>;
};

/** A host as the pool sees it. */
export type ToolHost = Pick<HostedProcess, keyof HostedProcess>;

/** Starts a host; null where the system gives no process. */
export const createToolHost = (settings: HostSettings): ToolHost | null => {
  const started = launchHost(settings.launch);
  return started === null ? null : new HostedProcess(started, settings);
};

/** Why a host ends in order: no call has gone wrong in it. */
const ORDERLY: ReadonlySet<KillReason> = new Set(['recycle', 'growth', 'surplus', 'shutdown']);
// A little more than the tools have themselves.
const RELEASE_MS = 1500;
// A busy machine is not the file's fault: the clock of a file starts when its process is up and takes it in hand.
const START_MS = 15_000;
// A process that is up and does not begin by then may never begin.
const BEGIN_MS = 5000;
// Where the system does not tell how long a process has waited, a busy machine must not pass for a file that hangs.
const UNKNOWN_WAIT_FACTOR = 3;
// Descriptions of a file's tools may be larger than any result.
const MIN_BODY_BYTES = 8_388_608;
// What a process wrote last may be read after it has ended; a grandchild may hold its pipes open without end.
const LAST_WORDS_MS = 50;

/**
 * A process that loads files and answers calls. It owns the child process and the calls that were sent to it.
 *
 * | state    | meaning                                                                 | known by              |
 * |----------|-------------------------------------------------------------------------|-----------------------|
 * | starting | its process comes up                                                    | `ready` is pending    |
 * | up       | it loads files and runs calls                                           | `ready` gave null     |
 * | ending   | it was killed, or its tools release what they hold before it is         | `isEnding`            |
 * | ended    | its last output is read; the calls that ran in it have ended with it    | `ended` has resolved  |
 */
class HostedProcess {
  readonly pid: number;
  /** null where the process came up, else why not. Never rejects. */
  readonly ready: Promise<string | null>;
  readonly ended: Promise<Death>;
  /** Whether its state can be trusted no more: a call changed it, or something was thrown outside of its call. */
  isUnusable = false;
  /** What made it so, in the words of the host; "": nothing has. */
  unusableFor = '';
  /** Whose call made it so; null where that is not known. */
  culprit: HostedTool | null = null;
  /** What goes on in it although no call runs, so that no other file may run there; null where nothing does. */
  pendingWork: PendingWork | null = null;
  /** How many calls it has answered. */
  answered = 0;
  /** When its last message came, on the monotonic clock. */
  heardAt = readMonotonicMs();
  readonly #settings: HostSettings;
  readonly #nonce = randomUUID();
  readonly #conversation: HostConversation;
  readonly #stdout: OutputTail;
  readonly #stderr: OutputTail;
  readonly #orders: HostProcess['orders'];
  /** Names of the sources that it has been sent. */
  readonly #sources = new Set<string>();
  #killedFor: KillReason | null = null;
  #death: Death | null = null;
  /** The path of the file that it ran last. */
  #file = '';
  #holdsResources = false;
  /** The call whose code said that it ends the process. */
  #leaver: { readonly nonce: string; readonly tool: HostedTool | null } | null = null;
  readonly #onReady: () => void;
  #listener: () => void = () => undefined;

  constructor(started: HostProcess, settings: HostSettings) {
    this.pid = started.pid;
    this.#settings = settings;
    this.#orders = started.orders;
    const ready = Promise.withResolvers<string | null>();
    this.#onReady = () => ready.resolve(null);
    this.#conversation = new HostConversation(this.#nonce, settings.maxResultBytes, {
      onMessage: (message, tool) => this.#onMessage(message, tool),
      onAnswered: () => {
        this.answered += 1;
      },
      onDropped: settings.observer.messageDropped,
      onAbuse: (kind) => this.#stopListening(kind),
    });
    const reader = createFrameReader({
      maxBodyBytes: Math.max(settings.maxResultBytes, MIN_BODY_BYTES),
      onFrame: (frame) => {
        this.heardAt = readMonotonicMs();
        this.#conversation.read(frame);
      },
      onFault: () => this.#stopListening('flood'),
    });
    const read = (stream: 'stdout' | 'stderr'): OutputTail =>
      new OutputTail(started[stream], {
        onLine: (line) => settings.observer.lineWritten(this.#file, stream, line),
        onFlood: () => this.kill('flood'),
      });
    this.#stdout = read('stdout');
    this.#stderr = read('stderr');
    this.ended = this.#whenEnded(started).then((death) => this.#die(death));
    started.words.on('data', reader.read);
    // Its code may have closed a line. Where it is only ending, its exit follows shortly.
    const onLost = (): void => void setTimeout(() => this.#death ?? this.kill('forgery'), LAST_WORDS_MS * 2).unref();
    started.words.on('end', onLost).on('error', onLost);
    started.orders.on('error', onLost);
    this.ready = this.#startUp(ready);
  }

  /** The calls that were sent and have not ended. */
  get calls(): ReadonlySet<RunningCall> {
    return this.#conversation.calls;
  }

  get isEnding(): boolean {
    return this.#death !== null || this.#killedFor !== null;
  }

  /** To be called when it becomes unusable, or its pending work begins or ends. */
  onState(listener: () => void): void {
    this.#listener = listener;
  }

  /** `placing`: whether other files may run there afterwards. Never rejects. */
  load({ file, sources, version }: LoadableFile, placing: 'shared' | 'own', maxLoadMs: number): Promise<HostLoad> {
    this.#stdout.reset();
    this.#stderr.reset();
    const body = this.#sources.has(sources.name) ? '' : sources.toText();
    this.#sources.add(sources.name);
    this.#file = file.path;
    const nonce = randomUUID();
    const { promise, resolve } = Promise.withResolvers<HostLoad>();
    let stopClock = this.#startClock(BEGIN_MS, 'its process did not start loading it', resolve);
    this.#conversation.expectLoad({
      nonce,
      onLoading: () => {
        stopClock();
        stopClock = this.#startClock(maxLoadMs, 'it did not finish loading', resolve);
      },
      onLoaded: resolve,
    });
    void this.ended.then((death) => resolve({ kind: 'broken', reason: describeEnd(death, 'loading') }));
    const { path, root } = file;
    this.#send({ type: 'load', nonce, version, path, root, sources: sources.name, placing }, body);
    return promise.finally(() => stopClock());
  }

  unload({ version }: LoadableFile): void {
    this.#send({ type: 'unload', version });
  }

  /** Runs a call; its end never rejects. `beginWithinMs`: the host does not begin it later; null = whenever. */
  run(call: HostedCall, version: string, beginWithinMs: number | null): RunningCall {
    this.#file = call.tool.file.path;
    const beginBy = beginWithinMs === null ? null : readMonotonicMs() + beginWithinMs;
    // Of calls that run side by side it is not known whose a line is.
    for (const output of [this.#stdout, this.#stderr]) {
      if (this.calls.size === 0) output.reset();
      else output.renew();
    }
    const running = new RunningCall(randomUUID(), call, beginBy);
    if (this.#death !== null) {
      running.settle({ kind: 'died', death: this.#death, began: false, blame: 'other' });
      return running;
    }
    this.#conversation.expectCall(running);
    this.#send(createCallOrder(running, version), JSON.stringify(call.input));
    return running;
  }

  /** Gives this call up: another host is to run it. What it still sends here is dropped. */
  leave(call: RunningCall): void {
    this.#conversation.calls.delete(call);
    call.settle({ kind: 'moved', began: call.began });
  }

  abort({ nonce }: RunningCall, reason: 'TimeoutError' | 'AbortError'): void {
    this.#send({ type: 'abort', nonce, reason });
  }

  ping(): void {
    this.#send({ type: 'ping', nonce: this.#nonce });
  }

  /** Ends the whole process group at once; where its tools hold something between calls, in order. */
  kill(reason: KillReason): void {
    // Its number may be another process's by now.
    if (this.#death !== null || this.#killedFor !== null) return;
    this.#killedFor = reason;
    if (this.#holdsResources && this.calls.size === 0 && ORDERLY.has(reason)) this.#release();
    else this.#endFamily();
  }

  #endFamily(): void {
    endFamily(this.pid, this.#settings.processes.findDescendants);
  }

  /** Its tools end what they hold; it ends when they have, and in any case soon. */
  #release(): void {
    this.#send({ type: 'release' });
    const timer = setTimeout(() => this.#endFamily(), RELEASE_MS);
    void this.ended.then(() => clearTimeout(timer));
  }

  /** Its messages are dropped from now on, also which calls begin: each may have. */
  #stopListening(reason: 'flood' | 'forgery'): void {
    for (const call of this.calls) call.began = true;
    this.kill(reason);
  }

  #onMessage(message: HostMessage, tool: HostedTool | null): void {
    const { observer } = this.#settings;
    const file = tool?.file.path ?? this.#file;
    switch (message.type) {
      case 'ready':
        this.#onReady();
        break;
      case 'pending':
        this.pendingWork = message.work;
        this.#listener();
        break;
      case 'unusable':
        this.isUnusable = true;
        this.unusableFor = message.reason;
        this.culprit = tool;
        observer.hostUnusable(tool?.name ?? null, file, message.reason);
        this.#listener();
        break;
      case 'stray':
        observer.strayThrown(tool?.name ?? null, file, restoreThrown(message.thrown));
        break;
      case 'leaving':
        this.#leaver = { nonce: message.nonce, tool };
        break;
      case 'resources':
        this.#holdsResources = message.state === 'held';
        if (!this.#holdsResources && this.#killedFor !== null && this.#death === null) this.#endFamily();
        break;
      default:
    }
  }

  #startUp({ promise, resolve }: PromiseWithResolvers<string | null>): Promise<string | null> {
    const timer = setTimeout(() => {
      resolve(`its process did not start within ${START_MS / 1000} s`);
      this.kill('timeout');
    }, START_MS);
    void this.ended.then((death) => resolve(describeEnd(death, 'starting')));
    this.#send({ type: 'start', nonce: this.#nonce, maxResultBytes: this.#settings.maxResultBytes });
    return promise.finally(() => clearTimeout(timer));
  }

  #startClock(ms: number, what: string, resolve: (load: HostLoad) => void): () => void {
    const waitedMs = (): number | null => this.#settings.processes.waitedMs(this.pid);
    const maxMs = waitedMs() === null ? ms * UNKNOWN_WAIT_FACTOR : ms;
    const onOver = (tookMs: number): void => {
      const within = tookMs < LONGEST_MS ? `${maxMs / 1000} s` : `${LONGEST_MS / 1000} s: the machine was too busy`;
      resolve({ kind: 'broken', reason: `${what} within ${within}` });
      this.kill('timeout');
    };
    return startLoadClock({ maxMs, waitedMs: () => waitedMs() ?? 0, now: readMonotonicMs, onOver });
  }

  #send(order: HostOrder, body = ''): void {
    this.#orders.write(encodeFrame(JSON.stringify(order), body));
  }

  #whenEnded({ child, pid, stdout, stderr, orders, words }: HostProcess): Promise<Death> {
    const { promise, resolve } = Promise.withResolvers<Death>();
    child.once('exit', (exitCode, signal) => {
      // Whatever it started in its process group ends with it.
      endProcess(-pid);
      const tell = (): void => {
        clearTimeout(timer);
        for (const stream of [stdout, stderr, orders, words]) stream.destroy();
        const lastLines = this.#stderr.lines();
        const leaver = this.#leaver?.tool ?? null;
        resolve({ pid, exitCode, signal, killedFor: this.#killedFor, lastLines, leaver });
      };
      // Where this process was held up meanwhile, the last words are there and have not been read: that comes before immediates.
      const timer = setTimeout(() => setImmediate(tell), LAST_WORDS_MS);
      child.once('close', tell);
    });
    return promise;
  }

  #die(death: Death): Death {
    this.#death = death;
    const calls = [...this.calls];
    const suspects = findSuspects(calls, this.#leaver?.nonce ?? null);
    this.#conversation.calls.clear();
    for (const call of calls) call.settle({ kind: 'died', death, began: call.began, blame: findBlame(call, suspects) });
    return death;
  }
}

/** The calls of which one ended the process. `leaver`: the nonce of the one whose code said that it does. */
const findSuspects = (calls: readonly RunningCall[], leaver: string | null): readonly RunningCall[] => {
  const begun = calls.filter(({ began }) => began);
  const overdue = begun.filter(({ isOverdue }) => isOverdue);
  if (overdue.length > 0) return overdue;
  return leaver === null ? begun : begun.filter(({ nonce }) => nonce === leaver);
};

const findBlame = (call: RunningCall, suspects: readonly RunningCall[]): Blame => {
  if (!suspects.includes(call)) return 'other';
  // Each that is over its time is killed for it.
  if (suspects.length === 1 || call.isOverdue) return 'this';
  return suspects.every(({ tool }) => tool.name === call.tool.name) ? 'tool' : 'any';
};

const describeEnd = ({ exitCode, signal, lastLines }: Death, doing: string): string => {
  const how = signal === null ? `exit code ${exitCode}` : `signal ${signal}`;
  return [`its process ended while ${doing}: ${how}`, ...lastLines.slice(-3)].join(' | ');
};

const createCallOrder = ({ nonce, beginBy, tool, call }: RunningCall, version: string): HostOrder => ({
  type: 'call',
  nonce,
  version,
  beginBy,
  role: tool.role,
  tool: tool.name,
  effects: tool.effects,
  parts: call.part === null ? 'dropped' : 'shown',
  terms: call.terms,
});

// However busy the machine is, a file does not hold up the others for longer.
const LONGEST_MS = 15_000;

/**
 * Calls `onOver` once when the process has taken `maxMs`, without what it waits for a processor: `waitedMs` gives how long it has
 * since it started. `onOver` hears how long it took with that. Gives the way to stop it.
 */
export const startLoadClock = ({
  maxMs,
  waitedMs,
  now,
  onOver,
}: {
  readonly maxMs: number;
  readonly waitedMs: () => number;
  readonly now: () => number;
  readonly onOver: (tookMs: number) => void;
}): (() => void) => {
  const startedAt = now();
  const waitedBefore = waitedMs();
  const look = (): void => {
    const tookMs = now() - startedAt;
    const leftMs = Math.min(maxMs + waitedMs() - waitedBefore, Math.max(maxMs, LONGEST_MS)) - tookMs;
    if (leftMs <= 0) onOver(tookMs);
    else timer = setTimeout(look, Math.ceil(leftMs));
  };
  let timer = setTimeout(look, maxMs);
  return () => clearTimeout(timer);
};
