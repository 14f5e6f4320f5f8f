import type { JsonSchema } from '../contract/tool-description.ts';
import { parseJson } from '../json/parse-json.ts';
import type { ToolRegistry } from '../tools/registry.ts';
import type { Tool } from '../tools/tool.ts';
import { createDropOptionalNulls } from './optional-nulls.ts';

/** How a provider's model was told of the tools: `strict` where their schemas made it name every property. */
export type ProviderHabit = 'plain' | 'strict';

/** What is meant by a call that was not written for this service. The call itself stays as it was asked for. */
export type CallReading = {
  /** The tool of that name, or else the one that providers know by it. */
  readonly findTool: (name: string) => Tool | undefined;
  /** The arguments of a call as this service's own callers write them. */
  readonly readArguments: (call: object, tool: Tool) => unknown;
};

/** How the calls of a model with this habit are read. */
export type ReadProviderCalls = (habit: ProviderHabit) => CallReading;

/**
 * For `strict`, arguments lose what stands for "left out". A call that was `written` freely gives its text to the one text
 * that the tool needs. Whatever else arguments hold is left as it is, and judged later.
 */
export const createReadProviderCalls = (registry: Pick<ToolRegistry, 'find' | 'findPortable'>): ReadProviderCalls => {
  const dropOptionalNulls = createDropOptionalNulls();
  const findTool = (name: string): Tool | undefined => registry.find(name) ?? registry.findPortable(name);
  const plain: CallReading = { findTool, readArguments: (call, { inputSchema }) => toArguments(call, inputSchema) };
  const strict: CallReading = {
    findTool,
    readArguments: (call, { inputSchema }) => dropOptionalNulls(toArguments(call, inputSchema), inputSchema),
  };
  return (habit) => (habit === 'strict' ? strict : plain);
};

const toArguments = (call: object, schema: JsonSchema): unknown => {
  const given: unknown = Reflect.get(call, 'arguments');
  return Reflect.get(call, 'written') === 'freely' && typeof given === 'string' ? readFreeText(given, schema) : given;
};

/**
 * The arguments that a model has written as free text: a JSON object as it stands, unless the tool needs one text and the
 * object does not name it; else the text is that one. Where a tool needs more, the text is left to be judged as JSON.
 */
const readFreeText = (input: string, schema: JsonSchema): unknown => {
  const name = findOnlyText(schema);
  if (name === null) return input;
  const parsed = input.trimStart().startsWith('{') ? parseJson(input) : null;
  const isObject = parsed?.ok === true && typeof parsed.value === 'object' && parsed.value !== null;
  return isObject && Object.hasOwn(parsed.value, name) ? input : { [name]: input };
};

/** The name of the one property that must be there, or of the only one there is, where it takes a text. */
const findOnlyText = ({ properties, required }: JsonSchema): string | null => {
  const all = Object.entries(Object(properties));
  const needed = Array.isArray(required) && required.length > 0 ? all.filter(([name]) => required.includes(name)) : all;
  const [only, ...more] = needed;
  if (only === undefined || more.length > 0) return null;
  const [name, property] = only;
  const isText = typeof property === 'object' && property !== null && Reflect.get(property, 'type') === 'string';
  return isText ? name : null;
};
