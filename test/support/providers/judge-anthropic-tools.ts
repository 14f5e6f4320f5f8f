import { Ajv2020 } from 'ajv/dist/2020.js';
import { rejectAnthropic } from './anthropic-rejection.ts';
import { isArrayOfObjects, isObject, type JsonObject, repeatedOf } from './json-type.ts';
import { judgeStrictTools } from './judge-anthropic-strict.ts';
import { firstObjection, type Rejection } from './provider.ts';

type DeclaredTool = { readonly tool: JsonObject; readonly path: string };

/** What Anthropic refuses in `tools`: names, doubled names, schemas. */
export const judgeAnthropicTools = (tools: unknown): Rejection | null => {
  if (tools === undefined) return null;
  if (!isArrayOfObjects(tools)) return rejectAnthropic('tools: Input should be a valid list');
  if (repeatedOf(tools.map(({ name }) => String(name))).length > 0)
    return rejectAnthropic('tools: Tool names must be unique.');
  for (const [place, tool] of tools.entries()) {
    const given = { tool, path: `tools.${place}.custom` };
    const rejection = firstObjection([judgeName, judgeMembers, judgeSchemaType, judgeSchema], given);
    if (rejection !== null) return rejection;
  }
  return judgeStrictTools(tools);
};

const judgeName = ({ tool: { name }, path }: DeclaredTool): Rejection | null =>
  typeof name === 'string' && /^[a-zA-Z0-9_-]{1,128}$/.test(name)
    ? null
    : rejectAnthropic(`${path}.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`);

const judgeMembers = ({ tool, path }: DeclaredTool): Rejection | null => {
  const extra = Object.keys(tool).find((member) => !MEMBERS.has(member));
  return extra === undefined ? null : rejectAnthropic(`${path}.${extra}: Extra inputs are not permitted`);
};
const MEMBERS: ReadonlySet<string> = new Set([
  ...['type', 'name', 'description', 'input_schema', 'cache_control', 'strict', 'defer_loading'],
  ...['allowed_callers', 'input_examples', 'eager_input_streaming'],
]);

const judgeSchemaType = ({ tool: { input_schema: schema }, path }: DeclaredTool): Rejection | null => {
  if (!isObject(schema)) return rejectAnthropic(`${path}.input_schema: Field required`);
  if (schema['type'] === undefined) return rejectAnthropic(`${path}.input_schema.type: Field required`);
  if (schema['type'] !== 'object') return rejectAnthropic(`${path}.input_schema.type: Input should be 'object'`);
  return ['oneOf', 'allOf', 'anyOf'].some((keyword) => schema[keyword] !== undefined)
    ? rejectAnthropic(`${path}.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level`)
    : null;
};

const judgeSchema = ({ tool: { input_schema: schema }, path }: DeclaredTool): Rejection | null => {
  if (!isObject(schema)) return null;
  const properties = schema['properties'] ?? {};
  const badKey = Object.keys(isObject(properties) ? properties : {}).some((key) => !/^[a-zA-Z0-9_.-]{1,64}$/.test(key));
  if (badKey)
    return rejectAnthropic(
      `${path}.input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'`,
    );
  const { $schema: dialect, ...rest } = schema;
  const known = dialect === undefined || dialect === 'https://json-schema.org/draft/2020-12/schema';
  if (known && AJV.validateSchema(rest) === true) return null;
  return rejectAnthropic(
    `${path}.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12 (https://json-schema.org/draft/2020-12).`,
  );
};

const AJV = new Ajv2020({ strict: false });
