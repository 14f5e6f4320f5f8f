import { AsyncLocalStorage } from 'node:async_hooks';
import { flushCompileCache } from 'node:module';
import { PUBLIC_API } from 'recourse-server/files/own-package';
import { parseJson } from 'recourse-server/json/parse-json';
import type { InlineTool } from 'recourse-server/tools/tool';
import type { Frame } from '../frames.ts';
import { type HostOrder, isRecord, readMonotonicMs } from '../host-messages.ts';
import { createHostCall, describeThrown, type HostCall } from './answer-call.ts';
import type { Channel } from './channel.ts';
import { loadFile } from './module-worlds.ts';
import { createSharedState, type SharedState } from './shared-state.ts';

// Kept here, before a tool's code could put its own in their place.
const soon = setImmediate;
const later = setTimeout;
const write = process.stderr.write.bind(process.stderr);

// What goes on after a call has mostly ended within a few turns; what stays is looked at no more often than this.
const LOOK_AGAIN_MS = [2, 5, 10, 20, 50] as const;
const LOOK_AT_MOST_EVERY_MS = 100;

type Order<Type extends HostOrder['type']> = Extract<HostOrder, { type: Type }>;

/**
 * Loads files and runs calls, those of one file at a time, and reports what becomes of them and of this process.
 *
 * | state        | which calls begin                             | until                                     |
 * |--------------|-----------------------------------------------|-------------------------------------------|
 * | assigned     | those of one version (`#assigned`)            | another version comes, and nothing is left |
 * | pending work | the same; another version is refused          | its timers, sockets and children have ended |
 * | unusable     | none: its globals are changed, or it is ending | the service ends it                       |
 */
export class FileRunner {
  readonly #channel: Channel;
  /** The nonce of the call whose code runs, also of what that call started and left running. */
  readonly #caller = new AsyncLocalStorage<string>();
  #shared: SharedState | null = null;
  #maxResultBytes = 0;
  /** Of the first order: what is said of this process as a whole carries it. */
  #nonce = '';
  readonly #versions = new Map<string, readonly InlineTool[]>();
  readonly #sources = new Map<string, ReadonlyMap<string, string>>();
  /** Calls that run, by nonce: all of the version that this process is assigned to. */
  readonly #running = new Map<string, HostCall>();
  /** Tools that hold something open between their calls, which the service lets them end. */
  readonly #holders = new Set<InlineTool>();
  #assigned = '';
  /** Of the last call that began. */
  #lastNonce = '';
  #isLoading = false;
  /** Calls whose `began` is being sent. */
  #beginning = 0;
  /** No call must begin here any more. */
  #isUnusable = false;
  /** The service knows that no other file may run here. */
  #hasPendingWork = false;

  constructor(channel: Channel) {
    this.#channel = channel;
  }

  hear({ head, body }: Frame): void {
    const parsed = parseJson(head);
    if (!parsed.ok || !isOrder(parsed.value)) return;
    const order = parsed.value;
    if (this.#shared !== null) this.#obey(order, body, this.#shared);
    else if (order.type === 'start') void this.#start(order);
  }

  #obey(order: HostOrder, body: string, shared: SharedState): void {
    switch (order.type) {
      case 'start':
        break;
      case 'load':
        void this.#load(order, body, shared);
        break;
      case 'unload':
        this.#versions.delete(order.version);
        shared.worlds.forget(order.version);
        break;
      case 'call':
        this.#hearCall(order, body, shared);
        break;
      case 'abort':
        this.#running.get(order.nonce)?.context.abort(createAbortError(order.reason));
        break;
      case 'release':
        this.#isUnusable = true;
        void this.#release();
        break;
      case 'ping':
        this.#channel.send({ type: 'pong', nonce: order.nonce });
        break;
    }
  }

  async #start({ nonce, maxResultBytes }: Order<'start'>): Promise<void> {
    this.#nonce = nonce;
    this.#maxResultBytes = maxResultBytes;
    // Here once, for all files, and before anything is remembered of how this process was.
    await import(PUBLIC_API);
    this.#shared = createSharedState(PUBLIC_API, () => {
      const caller = this.#caller.getStore();
      if (caller !== undefined) this.#channel.send({ type: 'leaving', nonce: caller });
    });
    this.#channel.send({ type: 'ready', nonce });
    // A host is killed, not ended, and would never write it: the next one starts in half the time.
    soon(() => flushCompileCache());
  }

  async #load({ nonce, ...order }: Order<'load'>, body: string, shared: SharedState): Promise<void> {
    const { version, path, root } = order;
    if (body !== '') this.#sources.set(order.sources, new Map(JSON.parse(body)));
    if (!this.#assign(version, shared)) {
      this.#refuse(nonce);
      return;
    }
    this.#isLoading = true;
    this.#channel.send({ type: 'loading', nonce });
    const request = { version, path, root, sources: this.#sources.get(order.sources) ?? new Map() };
    const end = await this.#caller.run(nonce, () => loadFile(shared.worlds, request));
    const trace = await shared.findTraceOfLoad();
    this.#isLoading = false;
    this.#versions.set(version, end.ok ? end.tools : []);
    if (trace !== null && order.placing === 'own') shared.accept();
    else if (trace !== null) this.#becomeUnusable(nonce, trace);
    if (!end.ok) this.#channel.send({ type: 'load_failed', nonce, reason: end.reason }, end.body);
    else this.#channel.send({ type: 'loaded', nonce, trace }, end.body);
  }

  #hearCall(order: Order<'call'>, body: string, shared: SharedState): void {
    const { nonce, version, role, tool: name } = order;
    const found = this.#versions.get(version)?.findLast((tool) => tool.role === role && tool.name === name);
    if (found === undefined || !this.#assign(version, shared)) this.#refuse(nonce);
    else this.#caller.run(nonce, () => this.#begin(found, order, body, shared));
  }

  /** Whether this version may run here from now on: nothing of another one is left. */
  #assign(version: string, shared: SharedState): boolean {
    if (this.#isUnusable) return false;
    if (this.#assigned === version) return true;
    if (this.#running.size > 0 || this.#beginning > 0 || this.#isLoading) return false;
    if (this.#assigned !== '' && !this.#isClean(shared)) return false;
    shared.worlds.enter(version);
    this.#assigned = version;
    return true;
  }

  #isClean(shared: SharedState): boolean {
    const mutation = shared.findDeepMutation();
    if (mutation !== null) this.#becomeUnusable(this.#lastNonce, mutation);
    const pendingWork = mutation === null ? shared.findPendingWork() : null;
    if (pendingWork !== null) this.#reportPendingWork(pendingWork, shared);
    return mutation === null && pendingWork === null;
  }

  #begin(tool: InlineTool, order: Order<'call'>, body: string, shared: SharedState): void {
    const { nonce } = order;
    const input = parseJson(body);
    const mutation = shared.findGlobalMutation();
    if (mutation !== null) this.#becomeUnusable(nonce, mutation);
    if (this.#isUnusable || !input.ok || !isRecord(input.value)) {
      this.#refuse(nonce);
      return;
    }
    const { value } = input;
    this.#beginning += 1;
    // The handler must not run before the word is out: if this process ended then, another host would run the call, too.
    this.#channel.sendOut({ type: 'began', nonce }, () => {
      this.#beginning -= 1;
      this.#caller.run(nonce, () => this.#run(tool, order, value, shared));
    });
  }

  #run(tool: InlineTool, order: Order<'call'>, input: Readonly<Record<string, unknown>>, shared: SharedState): void {
    const { nonce, beginBy } = order;
    // Compared once `began` is sent: where the service has not read that in time, it gives the call to another host.
    if (this.#isUnusable || (beginBy !== null && readMonotonicMs() > beginBy)) {
      this.#refuse(nonce);
      return;
    }
    const onAnswered = (isUnusable: boolean): void => this.#onAnswered(nonce, isUnusable, shared);
    const call = createHostCall(tool, order, {
      channel: this.#channel,
      maxResultBytes: this.#maxResultBytes,
      onAnswered,
    });
    this.#running.set(nonce, call);
    this.#lastNonce = nonce;
    if (tool.close !== undefined) this.#noteHolder(tool);
    call.start(input);
  }

  /** Before a call of the tool runs: the first that may hold something is reported to the service. */
  #noteHolder(tool: InlineTool): void {
    if (this.#holders.size === 0) this.#channel.send({ type: 'resources', nonce: this.#nonce, state: 'held' });
    this.#holders.add(tool);
  }

  /** Has all tools end what they hold, and reports that. Never rejects. */
  async #release(): Promise<void> {
    const closings = await Promise.allSettled([...this.#holders].map((tool) => tool.close?.()));
    for (const closing of closings)
      if (closing.status === 'rejected') write(`A teardown failed: ${String(closing.reason)}\n`);
    this.#channel.send({ type: 'resources', nonce: this.#nonce, state: 'released' });
  }

  #onAnswered(nonce: string, isUnusable: boolean, shared: SharedState): void {
    this.#running.delete(nonce);
    if (isUnusable) this.#becomeUnusable(nonce, 'an uncaught exception');
    shared.noteAnswer();
    // Looked for only once the answer is out, so that no caller waits for it.
    soon(() => this.#lookAround(nonce, shared));
  }

  #lookAround(nonce: string, shared: SharedState): void {
    const mutation = shared.findGlobalMutation();
    if (mutation !== null) this.#becomeUnusable(nonce, mutation);
    if (this.#running.size > 0 || this.#isUnusable) return;
    const pendingWork = shared.findPendingWork();
    if (pendingWork !== null) this.#reportPendingWork(pendingWork, shared);
  }

  #becomeUnusable(nonce: string, reason: string): void {
    if (this.#isUnusable) return;
    this.#isUnusable = true;
    this.#channel.send({ type: 'unusable', nonce, reason });
  }

  #reportPendingWork(reason: string, shared: SharedState): void {
    if (this.#hasPendingWork) return;
    this.#hasPendingWork = true;
    this.#channel.send({ type: 'pending', nonce: this.#nonce, work: { version: this.#assigned, reason } });
    this.#lookAgain(0, shared);
  }

  #lookAgain(times: number, shared: SharedState): void {
    const look = (): void => {
      if (this.#running.size > 0 || shared.findPendingWork() !== null) {
        this.#lookAgain(times + 1, shared);
        return;
      }
      this.#hasPendingWork = false;
      this.#channel.send({ type: 'pending', nonce: this.#nonce, work: null });
    };
    later(look, LOOK_AGAIN_MS[times] ?? LOOK_AT_MOST_EVERY_MS).unref();
  }

  #refuse(nonce: string): void {
    this.#channel.send({ type: 'refused', nonce });
  }

  /** Something was thrown outside of a call: it ends the call that started it if that runs, and is reported otherwise. */
  onStray(thrown: unknown, kind: 'exception' | 'rejection'): void {
    // Where nothing says whose it is, the only call that runs is the one.
    const [only] = this.#running.size === 1 ? this.#running.keys() : [];
    const nonce = this.#caller.getStore() ?? only ?? '';
    const call = this.#running.get(nonce);
    if (call !== undefined && kind === 'exception') call.fail(thrown);
    else this.#channel.send({ type: 'stray', nonce, thrown: [...describeThrown(thrown)] });
    // What threw may have left anything half done.
    if (call === undefined) this.#becomeUnusable(nonce, 'an exception was thrown after its call ended');
  }
}

// Not checked further: only the service writes on this side of the channel.
const isOrder = (value: unknown): value is HostOrder => isRecord(value) && 'type' in value;

/** What a handler's signal says. */
const createAbortError = (reason: Order<'abort'>['reason']): DOMException => {
  const text =
    reason === 'TimeoutError' ? 'The deadline of this call passed.' : 'The caller no longer waits for this call.';
  return new DOMException(text, reason);
};
