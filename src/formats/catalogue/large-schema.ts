import type { JsonSchema } from '../../contract/tool-description.ts';
import { objectsIn, pick } from './schema-parts.ts';

// No model reads a megabyte of schema, and what is written anew for it keeps all other calls waiting.
const MOST_NODES = 50_000;
// Objects and lists within each other. JSON.stringify is recursive where an object has many members or a text is long:
// its stack was full at some 3 000.
const MOST_LEVELS = 512;

/** Whether a schema has too many objects and lists in it, or too deep, to be written anew for a provider. */
export const isTooLarge = (schema: JsonSchema): boolean => {
  let nodes = 0;
  for (const { level } of objectsIn(schema)) {
    nodes += 1;
    if (nodes > MOST_NODES || level > MOST_LEVELS) return true;
  }
  return false;
};

/** Whether a schema is nested too deep to be written at all. */
export const isTooDeep = (schema: JsonSchema): boolean => {
  for (const { level } of objectsIn(schema)) if (level > MOST_LEVELS) return true;
  return false;
};

type OpenObject = JsonSchema & {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, unknown>>;
};

/** An object of which nothing is said but what it is for: it takes whatever the schema takes. */
export const toOpenObject = (schema: JsonSchema): OpenObject => ({
  ...pick(schema, new Set(['title', 'description'])),
  type: 'object',
  properties: {},
});
