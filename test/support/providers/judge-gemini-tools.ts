import { rejectGemini } from './gemini-rejection.ts';
import { isArrayOfObjects, isObject, type JsonObject, objectsOf } from './json-type.ts';
import type { Rejection } from './provider.ts';

// The fields of google.ai.generativelanguage.v1beta.Schema; everything else is "Cannot find field".
const SCHEMA_FIELDS: ReadonlySet<string> = new Set([
  ...['type', 'format', 'title', 'description', 'nullable', 'enum', 'items', 'maxItems', 'minItems', 'properties'],
  ...['required', 'propertyOrdering', 'minProperties', 'maxProperties', 'minimum', 'maximum', 'minLength', 'maxLength'],
  ...['pattern', 'example', 'anyOf', 'default'],
]);
const DECLARATION_FIELDS: ReadonlySet<string> = new Set([
  ...['name', 'description', 'behavior', 'parameters', 'parametersJsonSchema', 'response', 'responseJsonSchema'],
]);

/** What Gemini refuses in `tools`: names, unknown members, schemas outside of its subset. */
export const judgeGeminiTools = (tools: unknown): Rejection | null => {
  if (tools === undefined) return null;
  if (!isArrayOfObjects(tools)) return rejectUnknown('tools', 'root');
  for (const [place, tool] of tools.entries())
    for (const [index, declaration] of objectsOf(tool['functionDeclarations']).entries()) {
      const rejection = judgeDeclaration(declaration, `tools[${place}].function_declarations[${index}]`);
      if (rejection !== null) return rejection;
    }
  return null;
};

const rejectUnknown = (name: string, path: string, why = 'Cannot find field.'): Rejection =>
  rejectGemini(`Invalid JSON payload received. Unknown name "${name}" at '${path}': ${why}`);

const judgeDeclaration = (declaration: JsonObject, path: string): Rejection | null => {
  const foreign = Object.keys(declaration).find((member) => !DECLARATION_FIELDS.has(member));
  if (foreign !== undefined) return rejectUnknown(foreign, path);
  const { name, parameters, parametersJsonSchema } = declaration;
  if (typeof name !== 'string' || !/^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/.test(name))
    return rejectGemini(
      `The GenerateContentRequest proto is invalid:\n  * ${path}.name: [FIELD_INVALID] Invalid function name. Must start with a letter or an underscore. Must be a-z, A-Z, 0-9, or contain underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.`,
    );
  if (parameters !== undefined && parametersJsonSchema !== undefined)
    return rejectGemini(`${path}: parameters and parameters_json_schema are mutually exclusive.`);
  if (parametersJsonSchema !== undefined)
    return isObject(parametersJsonSchema) && parametersJsonSchema['type'] === 'object'
      ? null
      : rejectGemini(`${path}.parameters_json_schema: schema must describe an object.`);
  return parameters === undefined ? null : judgeSchema(parameters, `${path}.parameters`);
};

const judgeSchema = (schema: unknown, path: string): Rejection | null => {
  if (!isObject(schema)) return rejectGemini(`Invalid value at '${path}', ${JSON.stringify(schema)}`);
  const foreign = Object.keys(schema).find((field) => !SCHEMA_FIELDS.has(field));
  if (foreign !== undefined) return rejectUnknown(foreign, path);
  return judgeType(schema, path) ?? judgeInside(schema, path);
};

const judgeType = (schema: JsonObject, path: string): Rejection | null => {
  const { type, items, properties, enum: values } = schema;
  if (Array.isArray(type)) return rejectUnknown('type', path, 'Proto field is not repeating, cannot start list.');
  const kind = String(type).toUpperCase();
  const wrong = (field: string, what: string): Rejection =>
    rejectGemini(`* GenerateContentRequest.${path}${field}: ${what}`);
  if (kind === 'ARRAY' && items === undefined) return wrong('.items', 'missing field.');
  if (values !== undefined && kind !== 'STRING') return wrong('.enum', 'only allowed for STRING type');
  const isEmpty = isObject(properties) && Object.keys(properties).length === 0;
  return kind === 'OBJECT' && isEmpty ? wrong('.properties', 'should be non-empty for OBJECT type') : null;
};

const judgeInside = (schema: JsonObject, path: string): Rejection | null => {
  const { properties, items, anyOf } = schema;
  const inner: readonly (readonly [unknown, string])[] = [
    ...Object.values(isObject(properties) ? properties : {}).map(
      (value, index) => [value, `${path}.properties[${index}].value`] as const,
    ),
    ...(items === undefined ? [] : [[items, `${path}.items`] as const]),
    ...objectsOf(anyOf).map((value, index) => [value, `${path}.any_of[${index}]`] as const),
  ];
  for (const [value, where] of inner) {
    const rejection = judgeSchema(value, where);
    if (rejection !== null) return rejection;
  }
  return null;
};
