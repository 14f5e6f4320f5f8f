import type { JsonSchema } from '../../contract/tool-description.ts';
import { typesOf } from './schema-parts.ts';

/** The same schema that also takes null. */
export const toNullable = (schema: JsonSchema): JsonSchema => {
  if (Array.isArray(schema['anyOf'])) return { ...schema, anyOf: [...schema['anyOf'], NULL] };
  if (typesOf(schema).length === 0 || 'const' in schema) return { anyOf: [schema, NULL] };
  const literals = Array.isArray(schema['enum']) ? { enum: [...schema['enum'], null] } : {};
  return { ...schema, type: [...typesOf(schema), 'null'], ...literals };
};

const NULL = { type: 'null' } as const;
