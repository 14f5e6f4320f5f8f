import { isRecord } from '../contract/json-record.ts';
import { nestingOf, skipString } from '../json/json-text.ts';
import { parseJson } from '../json/parse-json.ts';
import { describeValue } from '../tools/describe-value.ts';
import { takesText } from '../tools/json-schema.ts';
import type { Tool } from '../tools/tool.ts';
import { type Failure, toFailure } from './call-outcome.ts';
import { encodedTwiceText, notAnObjectText, notJsonText, unusableArgumentsText } from './failure-text.ts';

export type ParsedArguments =
  | { readonly ok: true; readonly value: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly failure: Failure };

/**
 * The arguments object of a call: an object, or a JSON string holding one; absent, null, blank and an empty list (PHP's
 * empty map) mean {}. Anything else is `invalid_arguments`. `bodyLiterals` are those of the body's text, for arguments that are an object in it.
 */
export const parseArguments = (raw: unknown, bodyLiterals: WideLiterals, tool: Tool): ParsedArguments => {
  if (typeof raw !== 'string') return checkShape(raw, bodyLiterals, tool);
  if (raw.trim() === '') return { ok: true, value: {} };
  const parsed = parseJson(raw);
  if (!parsed.ok) return refuse(tool, notJsonText(tool, parsed.problem));
  if (typeof parsed.value === 'string' && parsed.value.trimStart().startsWith('{'))
    return refuse(tool, encodedTwiceText(tool));
  return checkShape(parsed.value, createWideLiterals(raw), tool);
};

const checkShape = (value: unknown, wideLiterals: WideLiterals, tool: Tool): ParsedArguments => {
  if (isNothing(value)) return { ok: true, value: {} };
  if (!isRecord(value)) return refuse(tool, notAnObjectText(tool, describeValue(value)));
  const problem = findShapeProblem(value, wideLiterals);
  if (problem === null) return { ok: true, value };
  const advice = problem.number === undefined ? '' : toAdvice(problem.number, value, tool);
  return refuse(tool, unusableArgumentsText(tool, `${problem.text}${advice}`));
};

const isNothing = (value: unknown): boolean =>
  value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0);

/** What to send instead of a number that lost digits: a text where one can pass. An upstream gets it as a number again. */
const toAdvice = (number: number, value: object, { inputSchema, upstream }: Tool): string => {
  const isWritten = upstream !== null && Number.isFinite(number);
  return isWritten || takesText(inputSchema, findPath(value, number))
    ? ': send it as a string.'
    : `, and no string is accepted there: send a number that it can, such as one up to ${Number.MAX_SAFE_INTEGER}.`;
};

type Place = { readonly value: unknown; readonly path: readonly PropertyKey[] };

/** Where a number within a value is: its first place. Never recursive. */
const findPath = (root: object, wanted: number): readonly PropertyKey[] => {
  const places: Place[] = [{ value: root, path: [] }];
  // A list that grows while it is walked is walked to its end.
  for (const place of places) {
    if (place.value === wanted) return place.path;
    for (const below of placesIn(place)) places.push(below);
  }
  return [];
};

const placesIn = ({ value, path }: Place): readonly Place[] =>
  typeof value !== 'object' || value === null
    ? []
    : Object.entries(value).map(([name, member]: readonly [string, unknown]) => ({
        value: member,
        path: [...path, Array.isArray(value) ? Number(name) : name],
      }));

const refuse = (tool: Tool, message: string): ParsedArguments => ({
  ok: false,
  failure: toFailure('invalid_arguments', message, tool),
});

const MAX_DEPTH = 64;
// zod's recursive schemas throw out of safeParse on deep input, and a million nodes block the event loop.
const MAX_NODES = 100_000;

/** What is wrong with a value, and with which number in it: then what to send instead is still to be said. */
type ShapeProblem = { readonly text: string; readonly number?: number };

const DEPTH_PROBLEM = { text: `are nested deeper than ${MAX_DEPTH} levels. Send a flatter object.` };
const SIZE_PROBLEM = { text: `contain more than ${MAX_NODES} values. Send fewer.` };
const keyProblem = (key: string): ShapeProblem => ({ text: `use the key '${key}', which is not accepted.` });
const numberProblem = (number: number, literal: string): ShapeProblem => ({
  text: `contain the number ${literal.slice(0, 40)}, which a JSON number cannot represent exactly`,
  number,
});

/**
 * What is wrong with a parsed JSON value before any schema sees it: too deep, too many nodes, keys that reach for
 * prototypes, numbers that lost digits in parsing. Null where nothing is. Never recursive. `wideLiterals` are those of the
 * text that the value was parsed from: 6e23 is a legal float, 12345678901234567890123 is not, and only the text can tell.
 */
export const findShapeProblem = (value: object, wideLiterals: WideLiterals): ShapeProblem | null =>
  new ShapeWalk(wideLiterals).findProblem(value);

class ShapeWalk {
  readonly #wideLiterals: WideLiterals;
  #count = 0;
  // Nodes still to be looked at and the depth of each. Two lists, for a pair of each would be most of the work; made for
  // the first member that has members: most arguments have none.
  #nodes: object[] | undefined;
  #depths: number[] | undefined;

  constructor(wideLiterals: WideLiterals) {
    this.#wideLiterals = wideLiterals;
  }

  findProblem(value: object): ShapeProblem | null {
    let problem = this.#findIn(value, 1);
    for (let node = this.#nodes?.pop(); node !== undefined && problem === null; node = this.#nodes?.pop())
      problem = this.#findIn(node, this.#depths?.pop() ?? 1);
    return problem;
  }

  #findIn(node: object, depth: number): ShapeProblem | null {
    if (depth > MAX_DEPTH) return DEPTH_PROBLEM;
    // By place: the keys of a list are a text for each of its items.
    if (!isRecord(node)) return Array.isArray(node) ? this.#findAmong(node, depth) : null;
    // No list of its keys: what JSON was parsed to inherits none.
    for (const key in node) {
      const member = node[key];
      const problem = findKeyProblem(key, member) ?? this.#take(member, depth);
      if (problem !== null) return problem;
    }
    return null;
  }

  #findAmong(items: readonly unknown[], depth: number): ShapeProblem | null {
    for (const item of items) {
      const problem = this.#take(item, depth);
      if (problem !== null) return problem;
    }
    return null;
  }

  /** Counts a value, and notes it where it has members of its own. */
  #take(value: unknown, depth: number): ShapeProblem | null {
    this.#count += 1;
    if (this.#count > MAX_NODES) return SIZE_PROBLEM;
    if (typeof value === 'number') return findNumberProblem(value, this.#wideLiterals);
    if (typeof value !== 'object' || value === null) return null;
    this.#nodes ??= [];
    this.#depths ??= [];
    this.#nodes.push(value);
    this.#depths.push(depth + 1);
    return null;
  }
}

const findKeyProblem = (key: string, member: unknown): ShapeProblem | null => {
  if (key === '__proto__') return keyProblem(key);
  const isPrototype = key === 'constructor' && isRecord(member) && Object.hasOwn(member, 'prototype');
  return isPrototype ? keyProblem('constructor.prototype') : null;
};

const findNumberProblem = (value: number, wideLiterals: WideLiterals): ShapeProblem | null => {
  if (Number.isSafeInteger(value) || (Number.isFinite(value) && !Number.isInteger(value))) return null;
  if (!Number.isFinite(value)) return numberProblem(value, 'beyond 1.8e308');
  const literal = wideLiterals().get(value);
  return literal === undefined ? null : numberProblem(value, literal);
};

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

const [QUOTE, MINUS, ZERO, NINE] = [34, 45, 48, 57] as const;
const NUMBER = /-?\d+([.eE][\d.eE+-]*)?/y;
// Shorter ones are exact.
const LEAST_WIDE = 16;
const LONGEST_SPELLING = '"\\u0063\\u0061\\u006c\\u006c\\u0073"'.length;

const readWideLiterals = (source: string): ReadonlyMap<number, string> => {
  const everywhere = new Map<number, string>();
  let inCalls: Map<number, string> | null = null;
  let isInCalls = false;
  let depth = 0;
  // The last string at depth 1: before the value of a member that is its name.
  let name = '';
  const takeString = (at: number): number => {
    const end = skipString(source, at + 1);
    if (depth === 1) name = end - at > LONGEST_SPELLING ? '' : source.slice(at, end);
    return end;
  };
  const takeNumber = (at: number): number => {
    NUMBER.lastIndex = at;
    const [literal = '-', fraction] = NUMBER.exec(source) ?? [];
    if (fraction === undefined && literal.length >= LEAST_WIDE) {
      everywhere.set(Number(literal), literal);
      if (isInCalls) inCalls?.set(Number(literal), literal);
    }
    return at + literal.length;
  };
  const takeBracket = (sign: number): void => {
    const step = nestingOf(sign);
    if (step === 1 && depth === 1) {
      isInCalls = name !== '' && JSON.parse(name) === 'calls';
      if (isInCalls) inCalls ??= new Map();
    }
    depth += step;
  };
  // Character by character: a pattern that stops at each bracket takes 100 ms for a megabyte of them.
  for (let at = 0; at < source.length; ) {
    const sign = source.charCodeAt(at);
    if (sign === QUOTE) at = takeString(at);
    else if (sign === MINUS || (sign >= ZERO && sign <= NINE)) at = takeNumber(at);
    else {
      takeBracket(sign);
      at += 1;
    }
  }
  return inCalls ?? everywhere;
};
