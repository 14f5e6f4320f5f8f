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

type Snapshot = {
  readonly name: string;
  readonly target: object;
  readonly names: number;
  readonly isExtensible: boolean;
  readonly members: readonly (readonly [key: PropertyKey, value: unknown])[];
};

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
    const descriptor = Object.getOwnPropertyDescriptor(target, key);
    return descriptor !== undefined && 'value' in descriptor ? [[key, descriptor.value] as const] : [];
  });
  return { name, target, names: names.length, isExtensible: Object.isExtensible(target), members };
};

const keysOf = (target: object): readonly PropertyKey[] =>
  target === globalThis ? Object.getOwnPropertyNames(target) : Reflect.ownKeys(target);

const isChanged = ({ target, names, isExtensible, members }: Snapshot): boolean =>
  keysOf(target).length !== names ||
  Object.isExtensible(target) !== isExtensible ||
  members.some(([key, value]) => !Object.is(Reflect.get(target, key), value));

const toEnvironmentText = (): string => JSON.stringify(process.env);

const countListeners = (): number =>
  process.listenerCount('uncaughtException') * 1000 + process.listenerCount('unhandledRejection');
