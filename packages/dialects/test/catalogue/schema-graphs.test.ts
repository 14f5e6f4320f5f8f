import { SCHEMA_GRAPHS } from '@recourse/test-support/schema-graphs.ts';
import fc from 'fast-check';
import type { JsonSchema } from 'recourse-server/internal/contract/tool-description.ts';
import { expect, test } from 'vitest';
import { acceptsNull, resolveReference } from '#src/catalogue/accepts-null.ts';
import { findCircles } from '#src/catalogue/schema-parts.ts';

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

const NAMES = ['a', 'b', 'c', 'd', 'e', 'f'];

const REFERENCES = fc.array(fc.tuple(fc.constantFrom(...NAMES), fc.constantFrom(...NAMES, 'nobody')), {
  maxLength: 12,
});

/** All that a name leads to, over one reference or more. */
const reachedFrom = (start: string, pairs: readonly (readonly [string, string])[]): ReadonlySet<string> => {
  const found = new Set(pairs.filter(([from]) => from === start).map(([, to]) => to));
  for (const name of found) for (const [from, to] of pairs) if (from === name) found.add(to);
  return found;
};

test('names are of one circle if, and only if, they lead to each other', () => {
  const property = fc.property(REFERENCES, (pairs) => {
    const references = new Map(
      NAMES.map((name) => [name, pairs.filter(([from]) => from === name).map(([, to]) => to)]),
    );
    const circles = findCircles(references);
    for (const one of NAMES) {
      expect(circles.has(one)).toBe(reachedFrom(one, pairs).has(one));
      for (const other of NAMES) {
        const together = reachedFrom(one, pairs).has(other) && reachedFrom(other, pairs).has(one);
        expect(circles.has(one) && circles.get(one) === circles.get(other)).toBe(together);
      }
    }
  });
  fc.assert(property, { numRuns: 1_000, seed: 5 });
});

test('a chain of 50 000 names ends, and so does a circle of them', () => {
  const names = Array.from({ length: 50_000 }, (_, place) => String(place));
  const chain = new Map(names.map((name, place) => [name, [String(place + 1)]]));
  expect(findCircles(chain).size).toBe(0);
  chain.set('49999', ['0']);
  expect(findCircles(chain).size).toBe(50_000);
});
