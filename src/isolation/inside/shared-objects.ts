import type { SharedObject } from './snapshots.ts';

// Kept here, before a tool's code could put its own in their place.
const { ownKeys, get } = Reflect;
const { getOwnPropertyNames, getOwnPropertyDescriptor, getPrototypeOf, keys } = Object;
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
export const listWebGlobals = (): readonly SharedObject[] =>
  getOwnPropertyNames(globalThis)
    .filter(isOfWeb)
    .flatMap((name) => toShared(name, get(globalThis, name)));

// Their classes and prototypes have no name that reaches them.
const listNameless = (): readonly SharedObject[] => {
  const iterators = [[].values(), new Map().values(), new Set().values(), ''[Symbol.iterator](), ''.matchAll(/./g)];
  const functions = [function* () {}, async () => undefined, async function* () {}];
  return [...iterators, ...functions].flatMap((value) =>
    toShared('an iterator or a kind of function', getPrototypeOf(value)),
  );
};

// What these export changes by itself.
const LIVELY_MODULES: ReadonlySet<string> = new Set(['node:process', 'node:cluster']);
const LIVELY_MEMBERS: ReadonlySet<string> = new Set(['node:module._cache', 'node:module._pathCache']);

/** What a module of Node exports. */
export const listModule = (url: string): readonly SharedObject[] =>
  LIVELY_MODULES.has(url) ? [] : toShared(url, getBuiltinModule(url));

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

/** Whether it is a class, a function with members or a plain object; the members of other objects change by themselves. */
const hasSharedMembers = (value: unknown, key: PropertyKey): boolean => {
  if (!isObject(value)) return false;
  if (typeof value === 'function') return isRich(value.prototype) || keys(value).length > 0;
  const prototype = getPrototypeOf(value);
  return key === 'prototype' ? isRich(value) : prototype === null || prototype === Object.prototype;
};

// Every old function has a prototype, with nothing but its constructor.
const isRich = (prototype: unknown): boolean => isObject(prototype) && ownKeys(prototype).length > 1;

const isObject = (value: unknown): value is object =>
  (typeof value === 'object' && value !== null) || typeof value === 'function';
