import { watchListeners, watchSettings } from './node-settings.ts';
import {
  findReachable,
  isOfWeb,
  listAccessed,
  listAgentsOfFetch,
  listGlobals,
  listModule,
  listProcess,
  listWebGlobals,
} from './shared-objects.ts';
import { createFastLook, type SharedObject, takeSnapshot, WideLook } from './snapshots.ts';

/** Looked at after each call, and for new members that nothing enumerates. */
const CORE: readonly SharedObject[] = [
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
  ['Error', Error],
  ['Error.prototype', Error.prototype],
  ['Promise', Promise],
  ['Promise.prototype', Promise.prototype],
  ['Map.prototype', Map.prototype],
  ['Set.prototype', Set.prototype],
  ['JSON', JSON],
  ['Math', Math],
];

// Kept here, before a tool's code could put its own in their place.
const { ownKeys } = Reflect;
const { getOwnPropertyNames, getOwnPropertyDescriptor, getOwnPropertySymbols } = Object;

/**
 * Remembers the objects and settings that all code shares as they are now, from the global object and Node's modules to what
 * these lead to. Each look gives what code has changed that every call of this process shares; null where nothing. A seat belt against tools that patch the world they run in, and no proof that nothing has changed.
 */
export const createMutationCheck = () => {
  const known = new Set<object>();
  const findCore = createFastLook([takeGlobalSnapshot(), ...CORE.map((shared) => takeSnapshot(shared))]);
  const changes = [watchListeners(), watchSettings('globalThis'), watchSettings('process')];
  const wide = new WideLook();
  const watchReachable = (roots: readonly SharedObject[]): void => {
    for (const shared of findReachable(roots, known)) wide.add(shared);
  };
  watchReachable([...CORE, ...listGlobals(), ...listProcess()]);
  wide.addMembers(['process', process], ownKeys(process).filter(isSteady));
  const environment = toEnvironmentText();
  const directory = process.cwd();
  const listeners = countListeners();
  const watched = new Set<string>();
  let findSymbol = watchSymbols();
  const watchWeb = (): void => {
    if (watched.has(WEB)) return;
    watched.add(WEB);
    const symbol = findSymbol();
    watchReachable(listWebGlobals());
    wide.addMembers(['globalThis', globalThis], getOwnPropertyNames(globalThis).filter(isOfWeb));
    changes.push(watchSettings('fetch'));
    if (symbol === null) findSymbol = watchSymbols();
  };
  const watchModule = (url: string): void => {
    changes.push(watchSettings(url));
    watchReachable(listModule(url));
  };
  const watch = (url: string): void => {
    if (watched.has(url)) return;
    watched.add(url);
    // An import of it reads all its members, of which some are classes of the web.
    if (url === 'node:http') watchWeb();
    // First: some put what they give in their place.
    const accessed = listAccessed(url);
    watchModule(url);
    watchReachable(accessed);
  };
  for (const url of ALWAYS_WATCHED) watchModule(url);
  if (listAgentsOfFetch().length > 0) watchWeb();
  const find = (): string | null => {
    if (process.cwd() !== directory) return 'the working directory';
    if (toEnvironmentText() !== environment) return 'process.env';
    if (countListeners() !== listeners) return 'the listeners for uncaught exceptions';
    return findCore();
  };
  const findRest = (): string | null => {
    for (const findChange of changes) {
      const change = findChange();
      if (change !== null) return change;
    }
    return findSymbol() ?? wide.find();
  };
  return {
    /** Looks at what is changed most: the global object, the language, environment, working directory. After each call. */
    find: (): string | null => attempt(find),
    /** Looks at all else, for another file is to run here. */
    findRest: (): string | null => attempt(findRest),
    /** A module of Node that code is about to import, as it is now: `node:fs`. */
    watch,
    /** The classes of the web and the agents of `fetch` as they are now, for code is about to be loaded that may use them. */
    watchWeb,
  };
};

const WEB = 'the web';

const attempt = (look: () => string | null): string | null => {
  try {
    return look();
  } catch (_patched) {
    // What used to be a value is now a getter that throws.
    return 'globals';
  }
};

// Loaded with the process itself, so code can reach them without an import of its own.
const ALWAYS_WATCHED = [
  'node:diagnostics_channel',
  'node:events',
  'node:fs',
  'node:module',
  'node:net',
  'node:stream',
  'node:timers',
  'node:util',
];

/** Under its symbols packages keep what they share, and `fetch` its agent. */
const watchSymbols = (): (() => string | null) => {
  const list = (): readonly unknown[] =>
    getOwnPropertySymbols(globalThis).flatMap((symbol) => {
      const descriptor = getOwnPropertyDescriptor(globalThis, symbol);
      return [symbol, descriptor?.value, descriptor?.get];
    });
  const before = list();
  return () => {
    const now = list();
    const isSame = now.length === before.length && now.every((value, at) => value === before[at]);
    return isSame ? null : 'a symbol of globalThis';
  };
};

// Its accessors are settings: see there. Its symbols are looked at by themselves.
const takeGlobalSnapshot = (): ReturnType<typeof takeSnapshot> => {
  const names = getOwnPropertyNames(globalThis).filter((name) => !isOfWeb(name));
  return takeSnapshot(['globalThis', globalThis], names, (target) => getOwnPropertyNames(target).length);
};

// What changes by itself, or is looked at in another way; accessors load what few need.
const isSteady = (key: PropertyKey): boolean =>
  !(typeof key === 'string' && /^(?:_|chdir$|env$)/.test(key)) &&
  getOwnPropertyDescriptor(process, key)?.get === undefined;

const toEnvironmentText = (): string => JSON.stringify(process.env);

const countListeners = (): number =>
  process.listenerCount('uncaughtException') * 1000 + process.listenerCount('unhandledRejection');
