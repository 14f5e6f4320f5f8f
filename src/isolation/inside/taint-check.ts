/** What the code of a call has changed that every call of this process shares; null where nothing. */
export type TaintCheck = () => string | null;

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
 * Remembers prototypes, globals, environment and working directory as they are now. A seat belt against tools that
 * patch the world they run in: what it does not see (a patched module of Node) stays inside the same process, too.
 */
export const createTaintCheck = (): TaintCheck => {
  const snapshots = [...SHARED].map(toSnapshot);
  const environment = toEnvironmentText();
  const directory = process.cwd();
  const listeners = countListeners();
  const find = (): string | null => {
    if (process.cwd() !== directory) return 'the working directory';
    if (toEnvironmentText() !== environment) return 'process.env';
    if (countListeners() !== listeners) return 'the listeners for what nobody caught';
    return snapshots.find(isChanged)?.name ?? null;
  };
  return () => {
    try {
      return find();
    } catch (_patched) {
      // What used to be a value is now a getter that throws.
      return 'globals';
    }
  };
};

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
