import { rejectAnthropic } from './anthropic-rejection.ts';
import { isObject, type JsonObject, objectsOf } from './json-type.ts';
import type { Rejection } from './provider.ts';

const MOST_STRICT_TOOLS = 20;

/** What Anthropic refuses of tools with `strict: true`: too many of them, and schemas that are no grammar. */
export const judgeStrictTools = (tools: readonly JsonObject[]): Rejection | null => {
  const count = tools.filter(({ strict }) => strict === true).length;
  if (count > MOST_STRICT_TOOLS)
    return rejectAnthropic(
      `tools: Too many strict tools (${count}). The maximum number of strict tools supported is 20.`,
    );
  for (const [place, { strict, input_schema: schema }] of tools.entries()) {
    const fault = strict === true && isObject(schema) ? findFault(schema) : null;
    if (fault !== null) return rejectAnthropic(`tools.${place}.custom: ${fault}`);
  }
  return null;
};

// The documentation's "JSON Schema limitations" of structured outputs.
const REFUSED: ReadonlySet<string> = new Set([
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'minLength', 'maxLength'],
  ...['maxItems', 'uniqueItems', 'oneOf', 'not', 'if', 'patternProperties', 'propertyNames', 'minProperties'],
]);

const findFault = (schema: JsonObject): string | null => {
  const types = [schema['type']].flat();
  if (types.includes('object') && schema['additionalProperties'] !== false)
    return "For 'object' type, 'additionalProperties' must be explicitly set to false";
  const refused = Object.keys(schema).filter((keyword) => REFUSED.has(keyword));
  if (refused.length > 0) return `For '${String(types[0])}' type, properties ${refused.join(', ')} are not supported`;
  const { minItems } = schema;
  if (minItems !== undefined && minItems !== 0 && minItems !== 1)
    return "For 'array' type, 'minItems' values other than 0 or 1 are not supported";
  return innerOf(schema)
    .map(findFault)
    .reduce((first, fault) => first ?? fault, null);
};

const innerOf = (schema: JsonObject): readonly JsonObject[] => [
  ...['properties', '$defs', 'definitions'].flatMap((keyword) =>
    isObject(schema[keyword]) ? objectsOf(Object.values(schema[keyword])) : [],
  ),
  ...objectsOf([schema['items']]),
  ...['anyOf', 'allOf'].flatMap((keyword) => objectsOf(schema[keyword])),
];
