import type { JsonSchema } from '../../contract/tool-description.ts';
import { isSensitive } from '../../tools/json-schema.ts';
import type { ReadyCall } from '../call.ts';
import { readArguments, toArgumentsJson } from '../call-arguments.ts';
import { toCanonicalText } from '../canonical-text.ts';

const HIDDEN = '(hidden)';

/** A call's arguments without what the schema marks sensitive. */
export const toArgumentsText = (call: ReadyCall): string =>
  marksSensitive(call.tool.inputSchema) ? toHiddenText(call) : toArgumentsJson(call);

const toHiddenText = (call: ReadyCall): string => {
  const parsed = readArguments(call);
  return parsed.ok ? toCanonicalText(hideSensitive(parsed.value, call.tool.inputSchema, [])) : HIDDEN;
};

// A memo: a schema never changes.
const known = new WeakMap<JsonSchema, 'marks' | 'plain'>();

const marksSensitive = (schema: JsonSchema): boolean => {
  const found = known.get(schema) ?? (JSON.stringify(schema).includes('"sensitive":true') ? 'marks' : 'plain');
  known.set(schema, found);
  return found === 'marks';
};

// Recursive: arguments that were read are at most 64 levels deep.
const hideSensitive = (value: unknown, schema: JsonSchema, path: readonly PropertyKey[]): unknown => {
  if (path.length > 0 && isSensitive(schema, path)) return HIDDEN;
  if (Array.isArray(value)) return value.map((item, place) => hideSensitive(item, schema, [...path, place]));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, hideSensitive(member, schema, [...path, name])]),
  );
};
