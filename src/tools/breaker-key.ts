import type { JsonSchema } from '../contract/tool-description.ts';
import type { InlineTool } from './tool.ts';

/** The name of an argument, or a function of the arguments as they were sent. */
export type DeclaredBreakerKey = string | ((input: Readonly<Record<string, unknown>>) => unknown);

/**
 * What a declared `breakerKey` comes to. Refused: what is neither a text nor a function, and the name of an argument
 * that the schema does not let pass.
 */
export const toBreakerKey = (
  declared: DeclaredBreakerKey | undefined,
  inputSchema: JsonSchema,
  refuse: (member: string, rule: string) => never,
): Pick<InlineTool, 'breakerKey' | 'breakerKeyOf'> => {
  if (declared === undefined) return { breakerKey: null, breakerKeyOf: null };
  if (typeof declared === 'function') return { breakerKey: null, breakerKeyOf: declared };
  if (typeof declared !== 'string' || !mayHold(inputSchema, declared))
    return refuse('breakerKey', 'must be the name of an argument, or a function of the arguments');
  const keyOf = (input: Readonly<Record<string, unknown>>): unknown =>
    Object.hasOwn(input, declared) ? input[declared] : undefined;
  return { breakerKey: declared, breakerKeyOf: keyOf };
};

const mayHold = ({ properties, patternProperties, additionalProperties }: JsonSchema, name: string): boolean =>
  additionalProperties !== false ||
  patternProperties !== undefined ||
  (typeof properties === 'object' && properties !== null && Object.hasOwn(properties, name));
