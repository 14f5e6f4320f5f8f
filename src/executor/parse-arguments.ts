import { parseJson } from '../json/parse-json.ts';
import { describeValue } from '../tools/describe-value.ts';
import type { Tool } from '../tools/tool.ts';
import { type Failure, toFailure } from './failure.ts';
import { encodedTwiceText, notAnObjectText, notJsonText, unusableArgumentsText } from './failure-text.ts';
import { createWideLiterals, findShapeProblem, type WideLiterals } from './json-shape.ts';

export type ParsedArguments =
  | { readonly ok: true; readonly value: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly failure: Failure };

/**
 * The arguments object of a call: given as an object, or as a JSON string holding one; absent, null and blank mean
 * {}. Anything else is `invalid_arguments`. `bodyLiterals` are those of the body's text, for objects given as such.
 */
export const parseArguments = (given: unknown, bodyLiterals: WideLiterals, tool: Tool): ParsedArguments => {
  if (given === undefined || given === null) return { ok: true, value: {} };
  if (typeof given !== 'string') return checkShape(given, bodyLiterals, tool);
  if (given.trim() === '') return { ok: true, value: {} };
  const parsed = parseJson(given);
  if (parsed.ok && isTextOfObject(parsed.value)) return refuse(tool, encodedTwiceText(tool));
  return parsed.ok
    ? checkShape(parsed.value, createWideLiterals(given), tool)
    : refuse(tool, notJsonText(tool, parsed.problem));
};

const checkShape = (value: unknown, wideLiterals: WideLiterals, tool: Tool): ParsedArguments => {
  if (!isRecord(value)) return refuse(tool, notAnObjectText(tool, describeValue(value)));
  const problem = findShapeProblem(value, wideLiterals);
  return problem === null ? { ok: true, value } : refuse(tool, unusableArgumentsText(tool, problem));
};

const isTextOfObject = (value: unknown): boolean => typeof value === 'string' && value.trimStart().startsWith('{');

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const refuse = (tool: Tool, message: string): ParsedArguments => ({
  ok: false,
  failure: toFailure('invalid_arguments', message, tool),
});
