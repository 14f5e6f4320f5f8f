import type { JsonSchema } from 'recourse-server/contract/tool-description';
import { COMBINING, isSchema, partsOf, resolveReference } from './schema-parts.ts';

// By root: a schema never changes.
const verdictsOf = new WeakMap<JsonSchema, WeakMap<JsonSchema, boolean>>();

/**
 * Whether a JSON Schema takes null, as far as its type, literals and combinations tell; what tells nothing takes it, and
 * so does a circle of references. Strict schemas make nullable what this refuses, and what a model then sends as null is
 * dropped: both must agree.
 */
export const acceptsNull = (schema: unknown, root: JsonSchema): boolean => {
  if (!isSchema(schema)) return schema !== false;
  const verdicts = verdictsOf.get(root) ?? new WeakMap();
  verdictsOf.set(root, verdicts);
  if (!verdicts.has(schema)) judge(schema, root, verdicts);
  return verdicts.get(schema) ?? true;
};

// A schema with more is not written strictly: nothing of it is made nullable, and nothing dropped.
const MOST_PARTS = 50_000;
// One pass judges parts before what combines them, but for parts that several combine.
const MOST_PASSES = 64;

/** Fills in the verdicts of a schema and of all its parts: all take null until a part refuses it. Never recursive. */
const judge = (start: JsonSchema, root: JsonSchema, verdicts: WeakMap<JsonSchema, boolean>): void => {
  const parts = partsOf([start], root, COMBINING, MOST_PARTS).toReversed();
  const accepts = (part: unknown): boolean => (isSchema(part) ? (verdicts.get(part) ?? true) : part !== false);
  const acceptsNow = (schema: JsonSchema): boolean =>
    acceptsLiteral(schema) &&
    listOf(schema['allOf']).every(accepts) &&
    (schema['$ref'] === undefined || accepts(resolveReference(schema['$ref'], root) ?? true)) &&
    [schema['anyOf'], schema['oneOf']].every((ways) => !Array.isArray(ways) || ways.some(accepts));
  for (const part of parts) if (!verdicts.has(part)) verdicts.set(part, true);
  const isRefused = (part: JsonSchema): boolean => {
    if (verdicts.get(part) === false || acceptsNow(part)) return false;
    verdicts.set(part, false);
    return true;
  };
  let pass = 0;
  while (pass < MOST_PASSES && parts.filter(isRefused).length > 0) pass += 1;
};

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const acceptsLiteral = (schema: JsonSchema): boolean => {
  const type = schema['type'];
  if (type !== undefined && ![type].flat().includes('null')) return false;
  if ('const' in schema && schema['const'] !== null) return false;
  return !Array.isArray(schema['enum']) || schema['enum'].includes(null);
};
