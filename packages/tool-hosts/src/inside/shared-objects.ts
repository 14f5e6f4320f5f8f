import type { SharedObject } from './snapshots.ts';

// Kept here, before a tool's code could put its own in their place.
const { ownKeys, get } = Reflect;
const { getOwnPropertyNames, getOwnPropertyDescriptor, getPrototypeOf, keys } = Object;
const { isArray } = Array;
const { getBuiltinModule } = process;

// Reading one of them, even its descriptor, loads undici, HTTP/2 and TLS (25 ms, 14 MiB) or web streams (3 ms, 5 MiB), for tools
// that may never ask anything of the web.
const OF_THE_WEB =
  /CloseEvent|ErrorEvent|EventSource|FormData|Headers|MessageEvent|Request|Response|WebSocket|QueuingStrategy|(?:Readable|Writable|Transform|coder|ompression)Stream/;

export const isOfWeb = (name: string): boolean => OF_THE_WEB.test(name);

/** Code that has this in its text may load what is left out above. */
export const MENTIONS_WEB: RegExp = new RegExp(`fetch|undici|${OF_THE_WEB.source}`);

// Node 25 and later warn at the first look.
const NOT_LOOKED_AT: ReadonlySet<string> = new Set(['localStorage', 'sessionStorage']);

/** What every code finds without an import, but the classes of the web. */
export const listGlobals = (): readonly SharedObject[] =>
  getOwnPropertyNames(globalThis)
    .filter((name) => !(isOfWeb(name) || NOT_LOOKED_AT.has(name)))
    .flatMap((name) => toShared(name, get(globalThis, name)))
    .concat(toShared('crypto.subtle', crypto.subtle), listNameless());

/** The classes of the web. Loads them: from then on the global object has its symbols for the agents of `fetch`, too. */
export const listWebGlobals = (): readonly SharedObject[] => {
  const classes = getOwnPropertyNames(globalThis)
    .filter(isOfWeb)
    .flatMap((name) => toShared(name, get(globalThis, name)));
  return [...classes, ...toKinds([new Headers().values(), new FormData().values(), ...listAgentsOfFetch()])];
};

/** What the global object has under symbols for `fetch`; none before the classes of the web are loaded. */
export const listAgentsOfFetch = (): readonly object[] =>
  AGENTS_OF_FETCH.map((symbol): unknown => get(globalThis, symbol)).filter(isObject);

const AGENTS_OF_FETCH = [1, 2].map((version) => Symbol.for(`undici.globalDispatcher.${version}`));

// Their classes and prototypes have no name that reaches them.
const listNameless = (): readonly SharedObject[] => {
  const iterators = [[].values(), new Map().values(), new Set().values(), ''[Symbol.iterator](), ''.matchAll(/./g)];
  const helpers = [[].values().map(String), Iterator.from({ next: () => DONE }), new URLSearchParams().values()];
  const functions = [function* () {}, async () => undefined, async function* () {}];
  const [timer, immediate] = [setTimeout(() => undefined), setImmediate(() => undefined)];
  clearTimeout(timer);
  clearImmediate(immediate);
  return toKinds([...iterators, ...helpers, ...functions, timer, immediate]);
};

const DONE = { done: true, value: undefined } as const;

const toKinds = (values: readonly object[]): readonly SharedObject[] =>
  values.flatMap((value) => toShared('a class without a name', getPrototypeOf(value)));

// Others change by themselves, or load what few need.
const PARTS_OF_PROCESS = ['config', 'features', 'hrtime', 'memoryUsage', 'permission', 'release', 'versions'];

export const listProcess = (): readonly SharedObject[] => [
  ...PARTS_OF_PROCESS.flatMap((name) => toShared(`process.${name}`, get(process, name))),
  ...toShared('the prototype of process', getPrototypeOf(process)),
];

// What these export changes by itself.
const LIVELY_MODULES: ReadonlySet<string> = new Set(['node:process', 'node:cluster']);
const LIVELY_MEMBERS: ReadonlySet<string> = new Set(['node:module._cache', 'node:module._pathCache']);
// Warns when it is read.
const DEPRECATED = 'fips';

/** What a module of Node exports. */
export const listModule = (url: string): readonly SharedObject[] =>
  LIVELY_MODULES.has(url) ? [] : toShared(url, getBuiltinModule(url));

/** What a module exports by accessors, which load what they give; an import of it reads them as well. */
export const listAccessed = (url: string): readonly SharedObject[] =>
  listModule(url).flatMap(([, exported]) =>
    ownKeys(exported).flatMap((key) => {
      if (key === DEPRECATED || getOwnPropertyDescriptor(exported, key)?.get === undefined) return [];
      const value: unknown = get(exported, key);
      return hasSharedMembers(value, key) ? toShared(`${url}.${String(key)}`, value) : [];
    }),
  );

const toShared = (name: string, value: unknown): readonly SharedObject[] => (isObject(value) ? [[name, value]] : []);

const DEPTH = 2;

/**
 * These and what they lead to in two steps: classes and their static members, prototypes and what they inherit from,
 * namespaces such as `Intl`. `known` are left out, and know them from now on.
 */
export const findReachable = (roots: readonly SharedObject[], known: Set<object>): readonly SharedObject[] => {
  const found = new Map<object, { readonly name: string; readonly depth: number }>();
  const add = (value: unknown, name: string, depth: number): void => {
    if (!isObject(value) || known.has(value) || value === globalThis || value === process) return;
    known.add(value);
    found.set(value, { name, depth });
  };
  for (const [name, target] of roots) add(target, name, 0);
  // A map that grows while it is walked is walked to its end.
  for (const [target, { name, depth }] of found) {
    add(getPrototypeOf(target), `the prototype of ${name}`, depth);
    if (depth < DEPTH) for (const [path, value] of listMembers(name, target)) add(value, path, depth + 1);
  }
  return [...found].map(([target, { name }]) => [name, target]);
};

const listMembers = (name: string, target: object): readonly (readonly [path: string, value: unknown])[] =>
  ownKeys(target).flatMap((key) => {
    const value: unknown = getOwnPropertyDescriptor(target, key)?.value;
    const path = `${name}.${String(key)}`;
    return hasSharedMembers(value, key) && !LIVELY_MEMBERS.has(path) ? [[path, value]] : [];
  });

/** Whether it is a class, a function with members, a list or a plain object; the members of others change by themselves. */
const hasSharedMembers = (value: unknown, key: PropertyKey): boolean => {
  if (!isObject(value)) return false;
  if (typeof value === 'function') return isRich(value.prototype) || keys(value).length > 0;
  const prototype = getPrototypeOf(value);
  return key === 'prototype' ? isRich(value) : isArray(value) || prototype === null || prototype === Object.prototype;
};

// Every old function has a prototype, with nothing but its constructor.
const isRich = (prototype: unknown): boolean => isObject(prototype) && ownKeys(prototype).length > 1;

const isObject = (value: unknown): value is object =>
  (typeof value === 'object' && value !== null) || typeof value === 'function';
