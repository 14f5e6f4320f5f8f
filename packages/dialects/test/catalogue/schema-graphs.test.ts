import { SCHEMA_GRAPHS } from '@recourse/test-support/schema-graphs.ts';
import fc from 'fast-check';
import type { JsonSchema } from 'recourse-server/internal/contract/tool-description.ts';
import { expect, test } from 'vitest';
import { acceptsNull } from '#src/catalogue/accepts-null.ts';
import { resolveReference } from '#src/catalogue/schema-parts.ts';

const isRecord = (value: unknown): value is JsonSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The plain definition: what is open on the way here takes null. Exponential. */
const acceptsByEachWay = (schema: unknown, root: JsonSchema, open: ReadonlySet<unknown> = new Set()): boolean => {
  if (!isRecord(schema)) return schema !== false;
  if (open.has(schema)) return true;
  const accepts = (part: unknown): boolean => acceptsByEachWay(part, root, new Set([...open, schema]));
  const { type, enum: values, anyOf, oneOf, allOf } = schema;
  const own = (type ?? 'null') === 'null' && !('const' in schema) && (!Array.isArray(values) || values.includes(null));
  return (
    own &&
    [anyOf, oneOf].every((list) => !Array.isArray(list) || list.some(accepts)) &&
    (!Array.isArray(allOf) || allOf.every(accepts)) &&
    (schema['$ref'] === undefined || accepts(resolveReference(schema['$ref'], root) ?? true))
  );
};

test('a schema takes null or not, whichever of its parts was asked first', () => {
  const verdicts = new Set<boolean>();
  const property = fc.property(
    SCHEMA_GRAPHS,
    fc.shuffledSubarray(['a', 'b', 'c', 'd'], { minLength: 4 }),
    (root, order) => {
      for (const name of order) {
        const schema = { $ref: `#/$defs/${name}` };
        const verdict = acceptsNull(schema, root);
        expect(verdict).toBe(acceptsByEachWay(schema, root));
        verdicts.add(verdict);
      }
    },
  );
  fc.assert(property, { numRuns: 2_000, seed: 5 });
  expect(verdicts.size).toBe(2);
});
