import { skipString } from './json-text.ts';

const MAX_DEPTH = 64;
// zod's recursive schemas throw out of safeParse on deep input, and a million nodes block the event loop.
const MAX_NODES = 100_000;

const DEPTH_PROBLEM = `are nested deeper than ${MAX_DEPTH} levels. Send a flatter object.`;
const SIZE_PROBLEM = `hold more than ${MAX_NODES} values. Send fewer.`;
const keyProblem = (key: string): string => `use the key '${key}', which is not accepted.`;
const numberProblem = (literal: string): string =>
  `hold the number ${literal.slice(0, 40)}, which JSON numbers cannot carry exactly: send it as a string.`;

type Walk = {
  readonly stack: (readonly [node: object, depth: number])[];
  nodes: number;
  readonly source: string;
  /** Read from `source` when the first number asks for it, once: a body may hold a hundred thousand such numbers. */
  wideLiterals: ReadonlyMap<number, string> | null;
};

/**
 * What is wrong with a parsed JSON value before any schema sees it: too deep, too many nodes, keys that reach for
 * prototypes, numbers that lost digits in parsing. Null where nothing is. Never recursive. `source` is the text the
 * value was parsed from: 6e23 is a legal float, 12345678901234567890123 is not, and only the text can tell.
 */
export const findShapeProblem = (value: object, source: string): string | null => {
  const walk: Walk = { stack: [[value, 1]], nodes: 0, source, wideLiterals: null };
  for (let next = walk.stack.pop(); next !== undefined; next = walk.stack.pop()) {
    const problem = findNodeProblem(next[0], next[1], walk);
    if (problem !== null) return problem;
  }
  return null;
};

const findNodeProblem = (node: object, depth: number, walk: Walk): string | null => {
  if (depth > MAX_DEPTH) return DEPTH_PROBLEM;
  for (const key of Object.keys(node)) {
    walk.nodes += 1;
    if (walk.nodes > MAX_NODES) return SIZE_PROBLEM;
    const member: unknown = Reflect.get(node, key);
    const problem = findMemberProblem(key, member, walk);
    if (problem !== null) return problem;
    if (typeof member === 'object' && member !== null) walk.stack.push([member, depth + 1]);
  }
  return null;
};

const findMemberProblem = (key: string, member: unknown, walk: Walk): string | null => {
  if (key === '__proto__') return keyProblem(key);
  if (key === 'constructor' && typeof member === 'object' && member !== null && Object.hasOwn(member, 'prototype'))
    return keyProblem('constructor.prototype');
  if (typeof member !== 'number' || isExact(member)) return null;
  if (!Number.isFinite(member)) return numberProblem('beyond 1.8e308');
  walk.wideLiterals ??= toWideLiterals(walk.source);
  const literal = walk.wideLiterals.get(member);
  return literal === undefined ? null : numberProblem(literal);
};

const isExact = (value: number): boolean =>
  Number.isSafeInteger(value) || (Number.isFinite(value) && !Number.isInteger(value));

// A string, or a whole number of 16 digits or more: shorter ones are exact. A fraction or an exponent makes it a float.
const TOKEN = /"|(?<![\d.eE+-])-?\d{16,}(?![\d.eE])/g;

/** The long integer literals of `source`, outside strings, by the number they were parsed as. */
const toWideLiterals = (source: string): ReadonlyMap<number, string> => {
  const literals = new Map<number, string>();
  TOKEN.lastIndex = 0;
  for (let token = TOKEN.exec(source); token !== null; token = TOKEN.exec(source)) {
    const [literal] = token;
    if (literal === '"') TOKEN.lastIndex = skipString(source, TOKEN.lastIndex);
    else literals.set(Number(literal), literal);
  }
  return literals;
};
