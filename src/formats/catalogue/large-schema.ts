import type { JsonSchema } from '../../contract/tool-description.ts';
import { objectsIn, pick } from './schema-parts.ts';

// No model reads a megabyte of schema, and what is written anew for it keeps all other calls waiting.
const MOST_NODES = 50_000;

/** Whether a schema has too many objects and lists in it to be written anew for a provider. */
export const isTooLarge = (schema: JsonSchema): boolean => {
  let nodes = 0;
  for (const _node of objectsIn(schema)) {
    nodes += 1;
    if (nodes > MOST_NODES) return true;
  }
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
