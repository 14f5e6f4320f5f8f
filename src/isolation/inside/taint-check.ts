/** What code has changed that every call of this process shares; null where nothing. */
type TaintCheck = {
  /** Looks at globals, prototypes, environment, working directory. */
  readonly find: () => string | null;
  /** The same and the modules of Node, for another file is to run here. */
  readonly findAll: () => string | null;
  /** A module of Node that code is about to import, as it is now: `node:fs`. */
  readonly watch: (url: string) => void;
};

const SHARED: ReadonlyMap<string, object> = new Map<string, object>([
  ['globalThis', globalThis],
  ['Object', Object],
  ['Object.prototype', Object.prototype],
  ['Function.prototype', Function.prototype],
  ['Array.prototype', Array.prototype],
  ['String.prototype', String.prototype],
  ['RegExp.prototype', RegExp.prototype],
  ['Buffer', Buffer],
  ['Number.prototype', Number.prototype],
  ['Date', Date],
  ['Date.prototype', Date.prototype],
  ['Error.prototype', Error.prototype],
  ['Promise', Promise],
  ['Promise.prototype', Promise.prototype],
  ['Map.prototype', Map.prototype],
  ['Set.prototype', Set.prototype],
  ['JSON', JSON],
  ['Math', Math],
]);

// Reading one of them, even its descriptor, loads undici, HTTP/2 and TLS: 25 ms and 14 MiB, for tools that may never ask
// anything of the web. Whoever replaces them mostly replaces `fetch`, too, which is looked at.
const LOADED_BY_A_LOOK: ReadonlySet<PropertyKey> = new Set([
  'CloseEvent',
  'ErrorEvent',
  'EventSource',
  'FormData',
  'Headers',
  'MessageEvent',
  'Request',
  'Response',
  'WebSocket',
]);

type Snapshot = {
  readonly name: string;
  readonly target: object;
  readonly names: number;
  readonly isExtensible: boolean;
  /** Whether each member still has the value it had. */
  readonly hasItsValues: () => boolean;
};

// Kept here, before a tool's code could put its own in their place.
const { ownKeys } = Reflect;
const { is, isExtensible, getOwnPropertyNames, getOwnPropertyDescriptor } = Object;
const Compile = Function;

/**
 * Remembers prototypes, globals, environment, working directory and modules of Node as they are now. A seat belt against
 * tools that patch the world they run in, and no proof that nothing has changed.
 */
export const createTaintCheck = (): TaintCheck => {
  const snapshots = [...SHARED].map(toSnapshot);
  const modules = new Map<string, readonly Snapshot[]>(ALWAYS_WATCHED.map((url) => [url, toSnapshots(url)]));
  const environment = toEnvironmentText();
  const directory = process.cwd();
  const listeners = countListeners();
  const find = (): string | null => {
    if (process.cwd() !== directory) return 'the working directory';
    if (toEnvironmentText() !== environment) return 'process.env';
    if (countListeners() !== listeners) return 'the listeners for uncaught exceptions';
    return snapshots.find(isChanged)?.name ?? null;
  };
  const findInModules = (): string | null => {
    for (const watched of modules.values())
      for (const snapshot of watched) if (isChanged(snapshot)) return snapshot.name;
    return null;
  };
  return {
    find: () => attempt(find),
    findAll: () => attempt(() => find() ?? findInModules()),
    watch: (url) => {
      if (!modules.has(url)) modules.set(url, toSnapshots(url));
    },
  };
};

const attempt = (look: () => string | null): string | null => {
  try {
    return look();
  } catch (_patched) {
    // What used to be a value is now a getter that throws.
    return 'globals';
  }
};

// Loaded with the process itself, so code can reach them without an import of its own.
const ALWAYS_WATCHED = ['node:events', 'node:fs', 'node:net', 'node:stream', 'node:timers', 'node:util'];

// What these export changes by itself.
const LIVELY: ReadonlySet<string> = new Set(['node:process', 'node:module', 'node:cluster']);

/** What a module of Node exports, and the prototypes of its classes. */
const toSnapshots = (url: string): readonly Snapshot[] => {
  if (LIVELY.has(url)) return [];
  const exported = process.getBuiltinModule(url);
  if (!isTarget(exported)) return [];
  const members: readonly unknown[] = keysOf(exported).map((key) => getOwnPropertyDescriptor(exported, key)?.value);
  const prototypes = members.flatMap((member) => {
    const prototype: unknown = typeof member === 'function' ? member.prototype : null;
    return isTarget(prototype) && keysOf(prototype).length > 1 ? [prototype] : [];
  });
  return [exported, ...prototypes].map((target) => toSnapshot([url, target]));
};

const isTarget = (value: unknown): value is object =>
  (typeof value === 'object' && value !== null) || typeof value === 'function';

// Accessors are left alone: several globals of Node replace themselves by their value at the first use. So are the
// global object's symbols: fetch keeps its agent under one from its first use on.
const toSnapshot = ([name, target]: readonly [string, object]): Snapshot => {
  const names = keysOf(target);
  const members = names.flatMap((key) => {
    if (target === globalThis && LOADED_BY_A_LOOK.has(key)) return [];
    const descriptor = getOwnPropertyDescriptor(target, key);
    return descriptor !== undefined && 'value' in descriptor ? [[key, descriptor.value] as const] : [];
  });
  return {
    name,
    target,
    names: names.length,
    isExtensible: isExtensible(target),
    hasItsValues: compileValueCheck(target, members),
  };
};

const keysOf = (target: object): readonly PropertyKey[] =>
  target === globalThis ? getOwnPropertyNames(target) : ownKeys(target);

// One statement a member, as code of its own: V8 reads a member by a constant name in about a nanosecond, and by one
// out of a list in 40 to 80. Out of a list, the 450 members took 22 µs more of each call on a core that the service may share.
const compileValueCheck = (
  target: object,
  members: readonly (readonly [key: PropertyKey, value: unknown])[],
): (() => boolean) => {
  const lines = members.map(([key, value], at) => {
    const member = typeof key === 'string' ? `target[${JSON.stringify(key)}]` : `target[keys[${at}]]`;
    return typeof value === 'number'
      ? `if (!is(${member}, values[${at}])) return false;`
      : `if (${member} !== values[${at}]) return false;`;
  });
  const create = new Compile('target', 'keys', 'values', 'is', `return () => { ${lines.join('\n')} return true; };`);
  const [keys, values] = [members.map(([key]) => key), members.map(([, value]) => value)];
  const check: unknown = create(target, keys, values, is);
  return () => typeof check === 'function' && check() === true;
};

const isChanged = (snapshot: Snapshot): boolean =>
  !snapshot.hasItsValues() ||
  isExtensible(snapshot.target) !== snapshot.isExtensible ||
  keysOf(snapshot.target).length !== snapshot.names;

const toEnvironmentText = (): string => JSON.stringify(process.env);

const countListeners = (): number =>
  process.listenerCount('uncaughtException') * 1000 + process.listenerCount('unhandledRejection');
