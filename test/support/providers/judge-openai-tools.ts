import { isObject, type JsonObject } from './json-type.ts';
import { rejectOpenai } from './openai-rejection.ts';
import { firstObjection, type Rejection } from './provider.ts';
import { findStrictFault } from './strict-schema.ts';

type DeclaredFunction = { readonly declared: JsonObject; readonly path: string };

/** What OpenAI refuses about one function: its name, its schema, what strict mode forbids. */
export const judgeFunction = (declared: JsonObject, path: string): Rejection | null =>
  firstObjection([judgeName, judgeDescription, judgeParameters, judgeStrict], { declared, path });

const judgeName = ({ declared: { name }, path }: DeclaredFunction): Rejection | null => {
  const param = `${path}.name`;
  if (typeof name !== 'string')
    return rejectOpenai(`Missing required parameter: '${param}'.`, param, 'missing_required_parameter');
  if (!/^[a-zA-Z0-9_-]+$/.test(name))
    return rejectOpenai(
      `Invalid '${param}': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`,
      param,
      'invalid_value',
    );
  return name.length <= 64 ? null : rejectLength(param, 64, name.length);
};

const judgeDescription = ({ declared: { description }, path }: DeclaredFunction): Rejection | null =>
  description === undefined || description === null || typeof description === 'string'
    ? null
    : rejectOpenai(`Invalid type for '${path}.description': expected a string.`, `${path}.description`, 'invalid_type');

const rejectLength = (param: string, most: number, length: number): Rejection =>
  rejectOpenai(
    `Invalid '${param}': string too long. Expected a string with maximum length ${most}, but got a string with length ${length} instead.`,
    param,
    'string_above_max_length',
  );

const rejectSchema = ({ declared, path }: DeclaredFunction, fault: string): Rejection =>
  rejectOpenai(
    `Invalid schema for function '${String(declared['name'])}': ${fault}`,
    `${path}.parameters`,
    'invalid_function_parameters',
  );

const judgeParameters = (given: DeclaredFunction): Rejection | null => {
  const { parameters } = given.declared;
  if (parameters === undefined) return null;
  if (!isObject(parameters)) return rejectSchema(given, `${JSON.stringify(parameters)} is not of type 'object'.`);
  const type = parameters['type'];
  if (type !== 'object')
    return rejectSchema(
      given,
      `schema must be a JSON Schema of 'type: "object"', got 'type: "${String(type ?? 'None')}"'.`,
    );
  return isObject(parameters['properties'] ?? {}) ? null : rejectSchema(given, 'object schema missing properties.');
};

const judgeStrict = (given: DeclaredFunction): Rejection | null => {
  const { strict, parameters } = given.declared;
  if (strict !== true || !isObject(parameters)) return null;
  const fault = findStrictFault(parameters);
  return fault === null ? null : rejectSchema(given, fault);
};
