import { skipString } from '../json/json-text.ts';

const MAX_DEPTH = 64;
// zod's recursive schemas throw out of safeParse on deep input, and a million nodes block the event loop.
const MAX_NODES = 100_000;

const DEPTH_PROBLEM = `are nested deeper than ${MAX_DEPTH} levels. Send a flatter object.`;
const SIZE_PROBLEM = `hold more than ${MAX_NODES} values. Send fewer.`;
const keyProblem = (key: string): string => `use the key '${key}', which is not accepted.`;
const numberProblem = (literal: string): string =>
  `hold the number ${literal.slice(0, 40)}, which JSON numbers cannot carry exactly: send it as a string.`;

/** Nodes that are still to be looked at, and how deep each is: two lists, for a pair of each would be most of the work. */
type Below = { readonly nodes: object[]; readonly depths: number[] };

type Walk = {
  /** Made for the first member that has members: most arguments have none. */
  below: Below | null;
  count: number;
  readonly wideLiterals: WideLiterals;
};

/**
 * What is wrong with a parsed JSON value before any schema sees it: too deep, too many nodes, keys that reach for
 * prototypes, numbers that lost digits in parsing. Null where nothing is. Never recursive. `wideLiterals` are those of the
 * text that the value was parsed from: 6e23 is a legal float, 12345678901234567890123 is not, and only the text can tell.
 */
export const findShapeProblem = (value: object, wideLiterals: WideLiterals): string | null => {
  const walk: Walk = { below: null, count: 0, wideLiterals };
  const problem = findNodeProblem(value, 1, walk);
  return problem ?? (walk.below === null ? null : findProblemBelow(walk, walk.below));
};

const findProblemBelow = (walk: Walk, { nodes, depths }: Below): string | null => {
  for (let node = nodes.pop(); node !== undefined; node = nodes.pop()) {
    const problem = findNodeProblem(node, depths.pop() ?? 1, walk);
    if (problem !== null) return problem;
  }
  return null;
};

const findNodeProblem = (node: object, depth: number, walk: Walk): string | null => {
  if (depth > MAX_DEPTH) return DEPTH_PROBLEM;
  return Array.isArray(node) ? findItemProblem(node, depth, walk) : findMemberProblem(node, depth, walk);
};

// By place: the keys of a list are a text for each of its items.
const findItemProblem = (items: readonly unknown[], depth: number, walk: Walk): string | null => {
  for (const item of items) {
    const problem = takeValue(item, depth, walk);
    if (problem !== null) return problem;
  }
  return null;
};

const findMemberProblem = (node: object, depth: number, walk: Walk): string | null => {
  for (const key of Object.keys(node)) {
    const member: unknown = Reflect.get(node, key);
    const problem = findKeyProblem(key, member) ?? takeValue(member, depth, walk);
    if (problem !== null) return problem;
  }
  return null;
};

/** Counts a value, and notes it where it has members of its own. */
const takeValue = (value: unknown, depth: number, walk: Walk): string | null => {
  walk.count += 1;
  if (walk.count > MAX_NODES) return SIZE_PROBLEM;
  if (typeof value === 'number') return findNumberProblem(value, walk);
  if (typeof value === 'object' && value !== null) {
    walk.below ??= { nodes: [], depths: [] };
    walk.below.nodes.push(value);
    walk.below.depths.push(depth + 1);
  }
  return null;
};

const findKeyProblem = (key: string, member: unknown): string | null => {
  if (key === '__proto__') return keyProblem(key);
  if (key === 'constructor' && typeof member === 'object' && member !== null && Object.hasOwn(member, 'prototype'))
    return keyProblem('constructor.prototype');
  return null;
};

const findNumberProblem = (value: number, { wideLiterals }: Walk): string | null => {
  if (isExact(value)) return null;
  if (!Number.isFinite(value)) return numberProblem('beyond 1.8e308');
  const literal = wideLiterals().get(value);
  return literal === undefined ? null : numberProblem(literal);
};

const isExact = (value: number): boolean =>
  Number.isSafeInteger(value) || (Number.isFinite(value) && !Number.isInteger(value));

/** The long integer literals of a JSON text, outside strings, by the number they were parsed as. */
export type WideLiterals = () => ReadonlyMap<number, string>;

/**
 * Reads them when they are first asked for, and once: a body may hold a hundred thousand such numbers. Where the text is an
 * object with `calls`, only there: what else a body holds says nothing of a call.
 */
export const createWideLiterals = (source: string): WideLiterals => {
  let literals: ReadonlyMap<number, string> | undefined;
  return () => {
    literals ??= readWideLiterals(source);
    return literals;
  };
};

type Scan = {
  readonly source: string;
  readonly everywhere: Map<number, string>;
  readonly inCalls: Map<number, string>;
  depth: number;
  /** Where the last string at depth 1 begins and ends: before a member's value that is its name. */
  nameStart: number;
  nameEnd: number;
  place: 'in calls' | 'elsewhere';
  hasCalls: boolean;
};

const readWideLiterals = (source: string): ReadonlyMap<number, string> => {
  const everywhere = new Map<number, string>();
  const inCalls = new Map<number, string>();
  const start = { depth: 0, nameStart: 0, nameEnd: 0, place: 'elsewhere', hasCalls: false } as const;
  const scan: Scan = { source, everywhere, inCalls, ...start };
  // Character by character: a pattern that stops at each bracket takes 100 ms for a megabyte of them.
  for (let at = 0; at < source.length; ) at = takeToken(at, scan);
  return scan.hasCalls ? inCalls : everywhere;
};

const QUOTE = 0x22;
const MINUS = 0x2d;

/** Takes in what begins at a place that is in no string; gives the place after it. */
const takeToken = (at: number, scan: Scan): number => {
  const code = scan.source.charCodeAt(at);
  if (code === QUOTE) return takeString(at, scan);
  if (code === MINUS || isDigit(code)) return takeNumber(at, scan);
  if (isOpening(code)) open(scan);
  else if (isClosing(code)) scan.depth -= 1;
  return at + 1;
};

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;
const isOpening = (code: number): boolean => code === 0x5b || code === 0x7b;
const isClosing = (code: number): boolean => code === 0x5d || code === 0x7d;

const takeString = (at: number, scan: Scan): number => {
  const end = skipString(scan.source, at + 1);
  if (scan.depth === 1) {
    scan.nameStart = at;
    scan.nameEnd = end;
  }
  return end;
};

const LONGEST_SPELLING = '"\\u0063\\u0061\\u006c\\u006c\\u0073"'.length;

const open = (scan: Scan): void => {
  if (scan.depth === 1) {
    const { source, nameStart, nameEnd } = scan;
    const isCalls =
      nameEnd - nameStart <= LONGEST_SPELLING &&
      nameEnd > nameStart &&
      JSON.parse(source.slice(nameStart, nameEnd)) === 'calls';
    scan.place = isCalls ? 'in calls' : 'elsewhere';
    scan.hasCalls ||= isCalls;
  }
  scan.depth += 1;
};

// Shorter ones are exact.
const LEAST_WIDE = 16;

const takeNumber = (at: number, { source, place, inCalls, everywhere }: Scan): number => {
  let end = at + 1;
  while (isDigit(source.charCodeAt(end))) end += 1;
  // A fraction or an exponent makes it a float.
  const isWhole = !/[.eE]/.test(source.charAt(end));
  if (isWhole && end - at >= LEAST_WIDE) {
    const literal = source.slice(at, end);
    everywhere.set(Number(literal), literal);
    if (place === 'in calls') inCalls.set(Number(literal), literal);
  }
  if (isWhole) return end;
  while (/[\d.eE+-]/.test(source.charAt(end))) end += 1;
  return end;
};
