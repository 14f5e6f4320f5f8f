import { type AnyAsyncGenerator, isAsyncGenerator } from './async-generator.ts';
import type { InlineTool, ToolContext, ToolLog } from './tool.ts';
import { TOOL_ERROR, UpstreamToolError } from './tool-errors.ts';

/** What a `setup` may use. */
export type SetupMeans = {
  /** The log of the call that is the first to need it; what comes after its answer is dropped. */
  readonly log: ToolLog;
  /** Aborted when the setup has taken its 30 s, and when what it made is no longer wanted. */
  readonly signal: AbortSignal;
};

export type Setup<Resource> = (means: SetupMeans) => Resource | Promise<Resource>;
export type Teardown<Resource> = (resource: Resource) => unknown;

export type ResourceHandler = (context: ToolContext, resource: unknown) => unknown;

const SETUP_MS = 30_000;
const TEARDOWN_MS = 1000;
// A setup that failed is not run again for each call: what it connects to may be overloaded by just that.
const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 30_000;
// A call that waits for a setup is answered before its own time is over, for then its process would be ended.
const MOST_KEPT_MS = 1000;
const KEPT_PART = 10;

/** A method, and so bivariant: a teardown takes what the setup beside it made, whatever that is. */
type Means = { readonly setup: Setup<unknown>; teardown(resource: unknown): unknown };

// By their setup: tools that name the same function share what it makes.
const resources = new WeakMap<Setup<unknown>, ToolResource>();

/** The resource that a declaration asks for, the same for the same `setup`; null where it asks for none. Nothing is made yet. */
export const toResource = <Resource>(
  { setup, teardown }: { readonly setup?: Setup<Resource>; readonly teardown?: Teardown<NoInfer<Resource>> },
  refuse: (member: string, rule: string) => never,
): ToolResource | null => {
  if (setup !== undefined && typeof setup !== 'function') refuse('setup', 'must be a function');
  if (teardown !== undefined && typeof teardown !== 'function') refuse('teardown', 'must be a function');
  if (setup === undefined) return teardown === undefined ? null : refuse('teardown', 'needs a setup');
  const resource = resources.get(setup) ?? new ToolResource({ setup, teardown: teardown ?? (() => undefined) });
  resources.set(setup, resource);
  return resource;
};

// What is open between calls would keep other files from a shared process, and be torn down with every turn.
export const toIsolation = (
  isolation: InlineTool['isolation'] | undefined,
  resource: ToolResource | null,
): Pick<InlineTool, 'isolation' | 'close'> =>
  resource === null
    ? { isolation: isolation ?? 'process' }
    : { isolation: isolation === 'inline' ? isolation : 'own', close: () => resource.close() };

/** One making of the resource: on its way, or done. */
type Making = { readonly made: Promise<unknown>; readonly ending: AbortController };
type Failed = { readonly error: unknown; readonly pauseMs: number; readonly until: number };

/** What a tool holds open between its calls: made by the first call that needs it, once in this process. */
export class ToolResource {
  readonly #means: Means;
  #making: Making | null = null;
  #failed: Failed | null = null;
  #running = 0;
  readonly #waiting = new Set<() => void>();

  constructor(means: Means) {
    this.#means = means;
  }

  /** Runs a handler with it. Rejects with a tool error where there is none. */
  async run(handler: ResourceHandler, name: string, context: ToolContext): Promise<unknown> {
    // Counted from here on: what a call waits for is not torn down before it has had it.
    this.#running += 1;
    let isHandedOn = false;
    try {
      const { value } = await this.#obtain(name, context);
      const returned = await handler(context, value);
      isHandedOn = isAsyncGenerator(returned);
      return isAsyncGenerator(returned) ? this.#useFor(returned) : returned;
    } finally {
      if (!isHandedOn) this.#endUse();
    }
  }

  /** A generator uses it until it has ended. */
  async *#useFor(generator: AnyAsyncGenerator): AnyAsyncGenerator {
    try {
      return yield* generator;
    } finally {
      this.#endUse();
    }
  }

  #endUse(): void {
    this.#running -= 1;
    if (this.#running === 0) for (const resolve of this.#waiting) resolve();
  }

  /** Tears it down once no call uses it; a later call makes it anew. Rejects with what the teardown throws. */
  async close(): Promise<void> {
    while (this.#running > 0) await this.#whenIdle();
    const making = this.#making;
    if (making === null) return;
    this.#making = null;
    making.ending.abort(new DOMException('This resource is no longer needed.', 'AbortError'));
    const made = await making.made.then(toMade, () => null);
    if (made !== null) await within(TEARDOWN_MS, this.#tearDown(made.value), 'teardown');
  }

  async #tearDown(value: unknown): Promise<void> {
    await this.#means.teardown(value);
  }

  async #whenIdle(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.add(resolve);
    await promise;
    this.#waiting.delete(resolve);
  }

  #obtain(name: string, context: ToolContext): Promise<Made> {
    const pausedMs = this.#failed === null ? 0 : this.#failed.until - performance.now();
    if (this.#making === null && this.#failed !== null && pausedMs > 0)
      return Promise.reject(toSetupError(name, this.#failed.error, pausedMs));
    this.#making ??= this.#make(context);
    const { made } = this.#making;
    return waitWithin(context, name, made).then(toMade, (error: unknown) =>
      Promise.reject(toSetupError(name, error, this.#failed?.pauseMs ?? FIRST_PAUSE_MS)),
    );
  }

  #make({ log }: ToolContext): Making {
    const ending = new AbortController();
    const setUp = async (): Promise<unknown> => this.#means.setup({ log, signal: ending.signal });
    const started = setUp();
    const made = within(SETUP_MS, started, 'setup');
    const making: Making = { made, ending };
    made.then(
      () => {
        this.#failed = null;
      },
      (error: unknown) => {
        ending.abort(error);
        // What comes after all is not kept, and not left open.
        started.then((late) => this.#tearDown(late).then(undefined, ignore), ignore);
        const pauseMs = Math.min(LONGEST_PAUSE_MS, this.#failed === null ? FIRST_PAUSE_MS : this.#failed.pauseMs * 2);
        this.#failed = { error, pauseMs, until: performance.now() + pauseMs };
        if (this.#making === making) this.#making = null;
      },
    );
    return making;
  }
}

type Made = { readonly value: unknown };
const toMade = (value: unknown): Made => ({ value });
const ignore = (): void => undefined;

const within = <Result>(limitMs: number, work: Promise<Result>, what: string): Promise<Result> => {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`its ${what} did not end within ${limitMs} ms`)), limitMs);
  return Promise.race([work, promise]).finally(() => clearTimeout(timer));
};

/** Waits for the setup as long as the call may. The setup goes on without it. */
const waitWithin = ({ signal, timeoutMs }: ToolContext, name: string, made: Promise<unknown>): Promise<unknown> => {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const onAbort = (): void => reject(toStillError(name));
  const timer = setTimeout(onAbort, Math.max(1, timeoutMs - Math.min(MOST_KEPT_MS, timeoutMs / KEPT_PART)));
  signal.addEventListener('abort', onAbort, { once: true });
  made.then(resolve, reject);
  return promise.finally(() => {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  });
};

const toStillError = (name: string): UpstreamToolError =>
  new UpstreamToolError('upstream_unavailable', `Tool '${name}' is still starting. Try again in a moment.`, {
    executed: 'no',
    retryAfterMs: FIRST_PAUSE_MS,
  });

/** A tool error as it is; anything else as an upstream that cannot be reached. Either way the handler has not run. */
const toSetupError = (name: string, error: unknown, retryAfterMs: number): unknown => {
  if (typeof error === 'object' && error !== null && TOOL_ERROR in error)
    return 'executed' in error && error.executed === undefined ? Object.assign(error, { executed: 'no' }) : error;
  const reason = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  const seconds = Math.ceil(retryAfterMs / 1000);
  return new UpstreamToolError(
    'upstream_unavailable',
    `Tool '${name}' could not be started: ${reason.replace(/[.!?]$/, '')}. Try again in ${seconds === 1 ? '1 second' : `${seconds} seconds`}, or use another tool.`,
    { executed: 'no', retryAfterMs: Math.ceil(retryAfterMs), cause: error },
  );
};
