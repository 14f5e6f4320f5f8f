import type { JsonSchema } from '../../../contract/tool-description.ts';
import { isRecord, recordAt } from './json-record.ts';

const SAME_VALUE = ['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else'];

/**
 * The name of a definition that speaks of the same value as itself again, or null: a validator would follow it until
 * the stack is full. A tree whose nodes hold nodes is none. Each definition is looked at once, never recursively.
 */
export const findEndlessSchema = (definitions: Readonly<Record<string, JsonSchema>>): string | null => {
  const all = new Map(Object.entries(definitions));
  const states = new Map<string, 'open' | 'ended'>();
  const stack = [...all.keys()];
  for (let name = stack.at(-1); name !== undefined; name = stack.at(-1)) {
    if (states.has(name)) {
      // All that it refers to was above it.
      states.set(name, 'ended');
      stack.pop();
      continue;
    }
    states.set(name, 'open');
    const next = referredByValue(all.get(name)).filter((one) => states.get(one) !== 'ended');
    // What is open leads here, and this leads back to it.
    const endless = next.find((one) => states.has(one));
    if (endless !== undefined) return endless;
    for (const one of next) stack.push(one);
  }
  return null;
};

// Recursive: definitions that come here are at most 64 levels deep.
const referredByValue = (schema: unknown): readonly string[] => {
  if (!isRecord(schema)) return [];
  const reference = schema['$ref'];
  const own = typeof reference === 'string' ? [reference.replace('#/$defs/', '')] : [];
  const parts = [...SAME_VALUE.flatMap((word) => schema[word]), ...Object.values(recordAt(schema, 'dependentSchemas'))];
  return [...own, ...parts.flatMap(referredByValue)];
};
