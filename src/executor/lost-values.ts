import { types } from 'node:util';

/**
 * What JSON loses of a value.
 * `whole`: nothing.
 * `kept by writeAsJson`: the content of a Map, a Set or an Error, unless `writeAsJson` writes the value.
 * `problem`: something that no JSON text keeps, as a sentence that says what the tool must return instead.
 * `unknown`: nothing was found, but the value is too large to look at all of it, or a `toJSON` writes parts of it, so that
 * only the text shows how deep it is.
 */
export type Finding = 'whole' | 'unknown' | 'kept by writeAsJson' | { readonly problem: string };

type Search = { left: number; found: 'whole' | 'kept by writeAsJson'; isWhole: boolean };

const MOST_LOOKED_AT = 10_000;

/** Looks at the first 10,000 objects of a value, down to `levels`; throws what their getters throw. */
export const findLoss = (value: unknown, levels: number): Finding => {
  const search: Search = { left: MOST_LOOKED_AT, found: 'whole', isWhole: true };
  const problem = findInMember(value, levels, search);
  if (problem !== null) return { problem };
  return search.found === 'whole' && !search.isWhole ? 'unknown' : search.found;
};

const findInMember = (member: unknown, levels: number, search: Search): string | null => {
  if (typeof member === 'number')
    return Number.isFinite(member) ? null : lost(String(member), 'null', 'return a number, null or a text');
  return typeof member === 'object' && member !== null ? findIn(member, levels, search) : null;
};

const findIn = (value: object, levels: number, search: Search): string | null => {
  if (levels === 0 || search.left === 0) {
    search.isWhole = false;
    return null;
  }
  search.left -= 1;
  if (Array.isArray(value)) return findAmong(value, levels, search);
  if (isPlainObject(value)) return findInMembers(value, levels, search);
  return findInInstance(value, search) ?? findAmong(membersOf(value), levels, search);
};

const findAmong = (members: Iterable<unknown>, levels: number, search: Search): string | null => {
  for (const member of members) {
    // Most members are texts: no call for them.
    const problem = typeof member === 'string' ? null : findInMember(member, levels - 1, search);
    if (problem !== null) return problem;
  }
  return null;
};

// Without a list of its members: nearly all values are such objects.
const findInMembers = (value: Readonly<Record<string, unknown>>, levels: number, search: Search): string | null => {
  for (const name in value) {
    const member = Object.hasOwn(value, name) ? value[name] : null;
    const problem = typeof member === 'string' ? null : findInMember(member, levels - 1, search);
    if (problem !== null) return problem;
  }
  return null;
};

const isPlainObject = (value: object): value is Readonly<Record<string, unknown>> => {
  const prototype: unknown = Object.getPrototypeOf(value);
  return (prototype === Object.prototype || prototype === null) && !('toJSON' in value);
};

const findInInstance = (value: object, search: Search): string | null => {
  if (value instanceof Date && Number.isNaN(value.getTime()))
    return lost('an invalid Date', 'null', 'return null or a text');
  if ('toJSON' in value) {
    search.isWhole &&= value instanceof Date;
    return null;
  }
  if (types.isMap(value) || types.isSet(value) || isError(value)) {
    search.found = 'kept by writeAsJson';
    return null;
  }
  return findInOther(value);
};

const findInOther = (value: object): string | null => {
  const tag = Object.prototype.toString.call(value).slice('[object '.length, -1);
  if (ArrayBuffer.isView(value)) return lost(toNamed(tag), 'an object of its places', ADVICE_FOR_BYTES);
  if (WRITTEN.has(tag) || Object.keys(value).length > 0) return null;
  const [, advice = 'return what it holds as a plain object'] = ADVICE.find(([kinds]) => kinds.test(tag)) ?? [];
  return lost(toNamed(tag), '{}', advice);
};

const toNamed = (tag: string): string => `${/^[AEI]/.test(tag) ? 'an' : 'a'} ${tag}`;

const lost = (what: string, written: string, advice: string): string =>
  `it contains ${what}, which JSON writes as ${written}; ${advice}`;

// Without a tag of their own: plain objects of other contexts, instances of most classes; and what JSON writes by its value.
const WRITTEN: ReadonlySet<string> = new Set(['Object', 'Array', 'Arguments', 'String', 'Number', 'Boolean']);

const ADVICE_FOR_BYTES = 'return Array.from(it) for numbers, or image, audio or file for bytes';

const ADVICE: readonly (readonly [kinds: RegExp, advice: string])[] = [
  [/^Promise$/, 'await it'],
  [/^RegExp$/, 'return its source as a text'],
  [/^(?:Response|Request)$/, 'return its status and await its text() or json()'],
  [/^(?:Headers|FormData|URLSearchParams)$/, 'return Object.fromEntries(it)'],
  [/^(?:Blob|File)$/, 'return await its text(), or image, audio or file of its bytes'],
  [/ArrayBuffer$/, ADVICE_FOR_BYTES],
  [/^(?:Async.*|ReadableStream)$/, 'return await Array.fromAsync(it)'],
  [/(?:Iterator|Generator|Iterator Helper)$/, 'return Array.from(it)'],
];

const isError = (value: object): value is Error => value instanceof Error || types.isNativeError(value);

const NONE: readonly never[] = [];

const membersOf = (value: object): Iterable<unknown> => {
  if ('toJSON' in value) return NONE;
  if (types.isMap(value)) return [...value].flat();
  if (types.isSet(value)) return value;
  return Object.values(isError(value) ? toErrorMembers(value) : value);
};

/** `JSON.stringify`, for values in which Map, Set or Error stand: as members or pairs, as a list, and as name, message and members. */
export const writeAsJson = (value: unknown): string | undefined => JSON.stringify(value, toWritten);

const toWritten = (_key: string, value: unknown): unknown => {
  if (typeof value !== 'object' || value === null) return value;
  if (types.isMap(value)) {
    const pairs = [...value];
    return pairs.every(([key]) => typeof key === 'string') ? Object.fromEntries(pairs) : pairs;
  }
  if (types.isSet(value)) return [...value];
  return isError(value) ? toErrorMembers(value) : value;
};

// Never its stack: that is for the log.
const toErrorMembers = (error: Error): object => {
  const { name, message, cause } = error;
  const errors: unknown = Reflect.get(error, 'errors');
  const hidden = { ...(Array.isArray(errors) ? { errors } : {}), ...(cause === undefined ? {} : { cause }) };
  return Object.assign({ name, message }, error, hidden);
};
