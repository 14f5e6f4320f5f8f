import { type AnyAsyncGenerator, isAsyncGenerator } from './async-generator.ts';
import type { Refuse } from './check-definition.ts';
import type { ToolContext, ToolLog } from './tool.ts';
import { TOOL_ERROR, UpstreamToolError } from './tool-errors.ts';

/** Makes what the calls of a tool share. */
export type Setup<Resource> = (means: {
  /** The log of the call that is the first to need it; what comes after its answer is dropped. */
  readonly log: ToolLog;
  /** Aborted when the setup has taken its 30 s, and when what it made is no longer wanted. */
  readonly signal: AbortSignal;
}) => Resource | Promise<Resource>;
export type Teardown<Resource> = (resource: Resource) => unknown;

const SETUP_MS = 30_000;
const TEARDOWN_MS = 1000;
// A setup that failed is not run again for each call: what it connects to may be overloaded by just that.
const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 30_000;
// A call that waits for a setup is answered before its own time is over, for then its process would be ended.
const MOST_KEPT_MS = 1000;
const KEPT_PART = 10;

// By their setup: tools that name the same function share what it makes.
const resources = new WeakMap<Setup<unknown>, ToolResource>();

/** The resource that a declaration asks for, the same for the same `setup`; null where it asks for none. Nothing is made yet. */
export const findResource = <Resource>(
  { setup, teardown }: { readonly setup?: Setup<Resource>; readonly teardown?: Teardown<NoInfer<Resource>> },
  refuse: Refuse,
): ToolResource | null => {
  if (setup === undefined) return teardown === undefined ? null : refuse('teardown', 'teardown needs a setup.');
  const resource = resources.get(setup) ?? new ToolResource({ setup, teardown: teardown ?? (() => undefined) });
  resources.set(setup, resource);
  return resource;
};

/**
 * What a tool holds open between its calls. It owns the result of `setup`, the count of the calls that use it, and the
 * pause after a failed setup.
 *
 * | state  | `#making` | `#failed` | a call                              |
 * |--------|-----------|-----------|-------------------------------------|
 * | empty  | null      | null      | starts the setup and waits for it   |
 * | making | pending   | any       | waits for it, not past its own time |
 * | made   | resolved  | null      | uses it                             |
 * | failed | null      | set       | fails until the pause is over       |
 *
 * `close` leads from making and made to empty once no call uses the resource.
 */
export class ToolResource {
  // The teardown is a method, and so bivariant: it takes what the setup beside it made, whatever that is.
  readonly #means: { readonly setup: Setup<unknown>; teardown(resource: unknown): unknown };
  #making: { readonly made: Promise<unknown>; readonly ending: AbortController } | null = null;
  #failed: { readonly error: unknown; readonly pauseMs: number; readonly until: number } | null = null;
  #running = 0;
  /** Of a `close` that waits. */
  #idle: PromiseWithResolvers<void> | null = null;

  constructor(means: { readonly setup: Setup<unknown>; teardown(resource: unknown): unknown }) {
    this.#means = means;
  }

  /** Calls `use` with it. Rejects with a tool error where there is none. */
  async run(use: (resource: unknown) => unknown, name: string, context: ToolContext): Promise<unknown> {
    // Counted from here on: what a call waits for is not torn down before it has had it.
    this.#running += 1;
    let isHandedOn = false;
    try {
      const returned = await use(await this.#obtain(name, context));
      isHandedOn = isAsyncGenerator(returned);
      return isAsyncGenerator(returned) ? this.#useFor(returned) : returned;
    } finally {
      if (!isHandedOn) this.#endUse();
    }
  }

  /** Tears it down once no call uses it; a later call makes it anew. Rejects with what the teardown throws. */
  async close(): Promise<void> {
    while (this.#running > 0) {
      this.#idle ??= Promise.withResolvers();
      await this.#idle.promise;
    }
    const making = this.#making;
    if (making === null) return;
    this.#making = null;
    making.ending.abort(new DOMException('This resource is no longer needed.', 'AbortError'));
    await making.made.then((made) => within(TEARDOWN_MS, this.#tearDown(made), 'teardown'), ignore);
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
    if (this.#running > 0) return;
    this.#idle?.resolve();
    this.#idle = null;
  }

  async #tearDown(resource: unknown): Promise<void> {
    await this.#means.teardown(resource);
  }

  async #obtain(name: string, context: ToolContext): Promise<unknown> {
    const pausedMs = this.#failed === null ? 0 : this.#failed.until - performance.now();
    if (this.#making === null && this.#failed !== null && pausedMs > 0)
      throw explainFailedSetup(name, this.#failed.error, pausedMs);
    this.#making ??= this.#make(context.log);
    return waitWithin(context, name, this.#making.made).then(undefined, (error: unknown) =>
      Promise.reject(explainFailedSetup(name, error, this.#failed?.pauseMs ?? FIRST_PAUSE_MS)),
    );
  }

  #make(log: ToolLog): { readonly made: Promise<unknown>; readonly ending: AbortController } {
    const ending = new AbortController();
    const setUp = async (): Promise<unknown> => this.#means.setup({ log, signal: ending.signal });
    const started = setUp();
    const making = { made: within(SETUP_MS, started, 'setup'), ending };
    const onMade = (): void => {
      this.#failed = null;
    };
    making.made.then(onMade, (error: unknown) => {
      ending.abort(error);
      // A resource that comes after its time is not kept, and not left open.
      started.then((late) => this.#tearDown(late)).then(undefined, ignore);
      const pauseMs = Math.min(LONGEST_PAUSE_MS, this.#failed === null ? FIRST_PAUSE_MS : this.#failed.pauseMs * 2);
      this.#failed = { error, pauseMs, until: performance.now() + pauseMs };
      if (this.#making === making) this.#making = null;
    });
    return making;
  }
}

const ignore = (): void => undefined;

const within = <Result>(limitMs: number, work: Promise<Result>, what: string): Promise<Result> => {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`its ${what} did not end within ${limitMs} ms`)), limitMs);
  return Promise.race([work, promise]).finally(() => clearTimeout(timer));
};

/** Waits for the setup as long as the call may. The setup goes on without it. */
const waitWithin = ({ signal, timeoutMs }: ToolContext, name: string, made: Promise<unknown>): Promise<unknown> => {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const giveUp = (): void => {
    const options = { executed: 'no', retryAfterMs: FIRST_PAUSE_MS } as const;
    reject(
      new UpstreamToolError(
        'upstream_unavailable',
        `Tool '${name}' is still starting. Try again in a moment.`,
        options,
      ),
    );
  };
  const timer = setTimeout(giveUp, Math.max(1, timeoutMs - Math.min(MOST_KEPT_MS, timeoutMs / KEPT_PART)));
  signal.addEventListener('abort', giveUp, { once: true });
  made.then(resolve, reject);
  return promise.finally(() => {
    clearTimeout(timer);
    signal.removeEventListener('abort', giveUp);
  });
};

/** A tool error as it is; anything else as an upstream that cannot be reached. Either way the handler has not run. */
const explainFailedSetup = (name: string, error: unknown, retryAfterMs: number): unknown => {
  if (typeof error === 'object' && error !== null && TOOL_ERROR in error)
    return 'executed' in error && error.executed === undefined ? Object.assign(error, { executed: 'no' }) : error;
  const reason = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  const seconds = Math.ceil(retryAfterMs / 1000);
  return new UpstreamToolError(
    'upstream_unavailable',
    `Tool '${name}' could not be started: ${reason.replace(/[.!?]$/, '')}. Try again in ${seconds} second${seconds === 1 ? '' : 's'}, or use another tool.`,
    { executed: 'no', retryAfterMs: Math.ceil(retryAfterMs), cause: error },
  );
};
