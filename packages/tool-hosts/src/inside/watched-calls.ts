import { createHook } from 'node:async_hooks';
import { Channel } from 'node:diagnostics_channel';
import { syncBuiltinESMExports } from 'node:module';

// Kept here, before a tool's code could put its own in their place.
const { exit, abort, kill, pid, umask, getBuiltinModule } = process;
const { get, apply, defineProperty, getPrototypeOf } = Reflect;

/** Calls `announce` before code of this process ends it by `process.exit`, `process.abort` or a signal to itself. */
export const announceLeaving = (announce: () => void): void => {
  process.exit = (code) => {
    announce();
    return exit.call(process, code);
  };
  process.abort = () => {
    announce();
    return abort.call(process);
  };
  process.kill = (target, signal) => {
    if (Math.abs(target) === pid && signal !== 0) announce();
    return kill.call(process, target, signal);
  };
};

const NOTED: ReadonlyMap<string, readonly string[]> = new Map([
  ['node:module', ['register', 'registerHooks']],
  ['node:os', ['setPriority']],
  ['node:v8', ['setFlagsFromString']],
  ['node:worker_threads', ['setEnvironmentData']],
]);

/**
 * Watches calls by which code changes its process so that no look at objects and settings shows it. To be called once in a
 * process. `onBuiltin`: code gets this module of Node, and does not import it.
 */
export const watchCalls = (onBuiltin: (url: string) => void) => {
  let noted: string | null = null;
  const note = (name: string): void => {
    noted ??= name;
  };
  const unwatched = new Map(NOTED);
  const watch = (url: string): void => {
    const members = unwatched.get(url) ?? [];
    unwatched.delete(url);
    for (const member of members) intercept(getBuiltinModule(url), member, () => note(`${url} ${member}`));
    // What has been imported of it already, too.
    if (members.length > 0) syncBuiltinESMExports();
  };
  const mask = watchMask();
  watch('node:module');
  intercept(getPrototypeOf(createHook({})), 'enable', () => note('an async hook'));
  // They are shown what all files ask of the web, headers included.
  const channels = new Set<unknown>();
  intercept(Channel.prototype, 'subscribe', (_listener, channel) => void channels.add(channel));
  const findSubscription = (): string | null =>
    [...channels].some((channel) => channel instanceof Channel && channel.hasSubscribers)
      ? 'a subscription to a channel'
      : null;
  intercept(PerformanceObserver.prototype, 'observe', () => note('an observer of performance'));
  intercept(process, 'getBuiltinModule', (id) => onBuiltin(String(id).replace(/^(?:node:)?/, 'node:')));
  const accept = (): void => {
    noted = null;
    channels.clear();
    mask.accept();
  };
  return {
    /** The name of the first that has been made; null where none has. */
    find: (): string | null => noted ?? findSubscription() ?? mask.find(),
    /** Code is about to get this module of Node. */
    watch,
    /** What has been called so far is no change. */
    accept,
  };
};

/** Puts in place of a function of Node one that passes its first argument and `this` to `onCall` before it does the same. */
const intercept = (owner: unknown, member: string, onCall: (first: unknown, self: unknown) => void): void => {
  if ((typeof owner !== 'object' && typeof owner !== 'function') || owner === null) return;
  const original: unknown = get(owner, member);
  if (typeof original !== 'function') return;
  function value(this: unknown, ...args: readonly unknown[]): unknown {
    onCall(args[0], this);
    return typeof original === 'function' ? apply(original, this, args) : undefined;
  }
  defineProperty(owner, member, { value, writable: true, enumerable: true, configurable: true });
};

/** Node reads the mask by changing it for a moment, in which another thread may create a file: so its calls are watched. */
const watchMask = () => {
  let first: number | null = null;
  let now: number | null = null;
  process.umask = (mask?: number | string): number => {
    if (mask === undefined) return umask();
    const before = umask.call(process, mask);
    first ??= before;
    now = typeof mask === 'string' ? Number.parseInt(mask, 8) : mask;
    return before;
  };
  return {
    find: (): string | null => (now === first ? null : 'the umask'),
    accept: (): void => {
      first = now;
    },
  };
};
