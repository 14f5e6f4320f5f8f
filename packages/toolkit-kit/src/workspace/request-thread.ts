import type { Worker } from 'node:worker_threads';
import { startThread } from 'recourse-server/files/own-thread';

/** To the thread. Without a request: the answer to this id is no longer wanted, but the thread still sends one. */
export type ToThread<Request> = { readonly id: number; readonly request?: Request };

/** From the thread: the answer to one request, exactly one for each, or (without an id) news of its own. */
export type FromThread<Answer, News = never> =
  | { readonly id: number; readonly answer: Answer }
  | { readonly id: null; readonly news: News };

export type RequestThreadOptions<News> = {
  /** The module that the thread runs, without its ending, as `import.meta.url` sees it. */
  readonly file: URL;
  readonly name: string;
  readonly workerData?: unknown;
  /** Requests that the thread has at once; others wait here. Default: it has all. */
  readonly mostRunning?: number;
  /** Milliseconds after which a thread without requests ends. Default: it stays. */
  readonly idleMs?: number;
  readonly onNews?: (news: News) => void;
  /** The thread ended though it was not stopped. */
  readonly onDeath?: (reason: unknown) => void;
  /** What a request rejects with whose thread has ended. */
  readonly createStoppedError: (reason: unknown) => Error;
};

/** The file of a thread beside the module at `base`, in sources as in the build. */
export const locateThread = (path: string, base: string): URL =>
  new URL(`${path}${base.endsWith('.ts') ? '.ts' : '.js'}`, base);

/**
 * A client of one thread: started with the first request, and again with the next one after it has ended. Owns the worker and
 * the requests that wait for an answer.
 *
 * | request | in `waiting` | in `running` |
 * |---|---|---|
 * | queued: `mostRunning` others run | yes | no |
 * | sent to the thread | yes | yes |
 * | aborted before it was sent | no | no, and it is never sent |
 * | aborted afterwards | no | until the thread answers |
 */
export class RequestThread<Request, Answer, News = never> {
  readonly #options: RequestThreadOptions<News>;
  readonly #waiting = new Map<number, PromiseWithResolvers<Answer> & { readonly request: Request }>();
  readonly #running = new Set<number>();
  #worker: Worker | undefined;
  #idle: NodeJS.Timeout | undefined;
  #isClosed = false;
  #lastId = 0;

  constructor(options: RequestThreadOptions<News>) {
    this.#options = options;
  }

  /** How many requests wait for an answer. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Rejects with the signal's reason as soon as it aborts, and with the stopped error where the thread has ended. */
  async request(request: Request, signal: AbortSignal): Promise<Answer> {
    if (this.#isClosed) throw this.#options.createStoppedError(undefined);
    signal.throwIfAborted();
    this.#lastId += 1;
    const id = this.#lastId;
    const answer = Promise.withResolvers<Answer>();
    this.#waiting.set(id, { ...answer, request });
    this.#proceed();
    const onAbort = (): void => {
      answer.reject(signal.reason);
      if (this.#running.has(id)) this.#post({ id });
      this.#forget(id);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    return await answer.promise.finally(() => signal.removeEventListener('abort', onAbort));
  }

  /** Ends the thread and all requests. */
  readonly close = async (): Promise<void> => {
    this.#isClosed = true;
    clearTimeout(this.#idle);
    // Nothing else may keep the process until this has resolved.
    this.#worker?.ref();
    await this.#worker?.terminate();
  };

  #post(message: ToThread<Request>): void {
    this.#worker?.postMessage(message);
  }

  #forget(id: number): void {
    this.#waiting.delete(id);
    this.#proceed();
  }

  /** Sends what may run. A thread without requests keeps no process from ending. */
  #proceed(): void {
    clearTimeout(this.#idle);
    if (this.#isClosed) return;
    this.#sendQueued();
    if (this.#waiting.size > 0) {
      this.#worker?.ref();
      return;
    }
    this.#worker?.unref();
    const { idleMs } = this.#options;
    if (idleMs !== undefined) this.#idle = setTimeout(() => this.#endIdle(), idleMs).unref();
  }

  /** The request that has waited longest first. */
  #sendQueued(): void {
    const { mostRunning = Number.POSITIVE_INFINITY } = this.#options;
    for (const [id, { request }] of this.#waiting) {
      if (this.#running.size >= mostRunning) return;
      if (this.#running.has(id)) continue;
      this.#running.add(id);
      this.#worker ??= this.#start();
      this.#post({ id, request });
    }
  }

  #start(): Worker {
    const { file, name, workerData, onNews } = this.#options;
    let reason: unknown;
    // Little is young here for long: 16 MB, the default, would fill with garbage. No limit of the heap as a whole: passing it
    // ends the process now and then, not the thread (nodejs/node#65019).
    const worker = startThread(file, { name, workerData, resourceLimits: { maxYoungGenerationSizeMb: 4 } });
    worker.on('message', (message: FromThread<Answer, News>) => {
      if (message.id === null) onNews?.(message.news);
      else this.#onAnswer(message.id, message.answer);
    });
    worker.on('error', (error) => {
      reason = error;
    });
    worker.once('exit', () => {
      if (worker === this.#worker) this.#onExit(reason);
    });
    return worker;
  }

  #onAnswer(id: number, answer: Answer): void {
    this.#running.delete(id);
    this.#waiting.get(id)?.resolve(answer);
    this.#forget(id);
  }

  #onExit(reason: unknown): void {
    this.#worker = undefined;
    this.#running.clear();
    if (!this.#isClosed) this.#options.onDeath?.(reason);
    for (const { reject } of this.#waiting.values()) reject(this.#options.createStoppedError(reason));
    this.#waiting.clear();
  }

  #endIdle(): void {
    const worker = this.#worker;
    this.#worker = undefined;
    this.#running.clear();
    void worker?.terminate();
  }
}
