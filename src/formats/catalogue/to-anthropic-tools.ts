import { toPortableName } from '../../contract/portable-name.ts';
import type { ToolDescription } from '../../contract/tool-description.ts';
import { ANTHROPIC_RULES } from './anthropic-rules.ts';
import { measureSchema } from './measure-schema.ts';
import { type ObjectSchema, toObjectRoot } from './object-root.ts';
import type { AnthropicTool } from './provider-tools.ts';
import { remembering } from './remembering.ts';
import { toStrictSchema } from './strict-schema.ts';

// Of all strict tools of a request together: platform.claude.com, structured outputs, schema complexity.
const MOST = { tools: 20, optional: 24, unions: 16 } as const;

const toAnthropicStrict = remembering((schema) => toStrictSchema(schema, ANTHROPIC_RULES));

/**
 * Tools of Anthropic's Messages API. Strict in their order as long as the limits of a request allow; what is over them, or
 * cannot be said in the subset, goes with its plain schema.
 */
export const toAnthropicTools = (
  tools: readonly ToolDescription[],
  style: 'plain' | 'strict',
): readonly AnthropicTool[] => {
  const used = { tools: 0, optional: 0, unions: 0 };
  return tools.map(({ name, description, input_schema }) => {
    const strict = style === 'strict' ? toAnthropicStrict(input_schema) : null;
    const head = { name: toPortableName(name), description };
    if (strict === null) return { ...head, input_schema: toObjectRoot(input_schema) };
    const { optional, unions } = measureSchema(strict);
    const next = { tools: used.tools + 1, optional: used.optional + optional, unions: used.unions + unions };
    if (next.tools > MOST.tools || next.optional > MOST.optional || next.unions > MOST.unions)
      return { ...head, input_schema: toObjectRoot(input_schema) };
    Object.assign(used, next);
    return { ...head, input_schema: toStrictRoot(strict), strict: true };
  });
};

const toStrictRoot = (schema: Readonly<Record<string, unknown>>): ObjectSchema => ({
  ...schema,
  type: 'object',
  properties: Object.fromEntries(Object.entries(schema['properties'] ?? {})),
});

/** Why Anthropic would refuse a request with this tool in it; nothing where it would not. */
export const findAnthropicRefusal = ({
  name,
  input_schema,
}: ToolDescription): readonly { readonly name: string; readonly reason: string }[] => {
  const key = Object.keys(toObjectRoot(input_schema).properties ?? {}).find((one) => !PROPERTY_KEY.test(one));
  if (key === undefined) return [];
  return [
    { name, reason: `Anthropic takes no argument called '${key.slice(0, 80)}': it must match ${PROPERTY_KEY.source}.` },
  ];
};

// The Messages API's own words: "Property keys should match pattern".
const PROPERTY_KEY = /^[a-zA-Z0-9_.-]{1,64}$/;
