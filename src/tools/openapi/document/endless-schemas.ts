import type { JsonSchema } from '../../../contract/tool-description.ts';
import { isRecord } from './json-record.ts';

const SAME_VALUE = ['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else'];

/**
 * The name of a definition that speaks of the same value as itself again, or null: a validator would follow it until
 * the stack is full. A tree whose nodes hold nodes is none.
 */
export const findEndlessSchema = (definitions: Readonly<Record<string, JsonSchema>>): string | null => {
  const all = new Map(Object.entries(definitions));
  const ended = new Set<string>();
  const visit = (name: string, trail: ReadonlySet<string>): string | null => {
    if (trail.has(name)) return name;
    if (ended.has(name)) return null;
    ended.add(name);
    const onward = new Set([...trail, name]);
    for (const next of referredByValue(all.get(name))) {
      const found = visit(next, onward);
      if (found !== null) return found;
    }
    return null;
  };
  for (const name of all.keys()) {
    const found = visit(name, new Set());
    if (found !== null) return found;
  }
  return null;
};

const referredByValue = (schema: unknown): readonly string[] => {
  if (!isRecord(schema)) return [];
  const reference = schema['$ref'];
  const own = typeof reference === 'string' ? [reference.replace('#/$defs/', '')] : [];
  return [...own, ...SAME_VALUE.flatMap((word) => [schema[word]].flat().flatMap(referredByValue))];
};
