import { isRecord, type JsonRecord, memberOf, recordAt, textAt } from 'recourse-server/contract/json-record';
import type { JsonSchema } from 'recourse-server/contract/tool-description';
import { loosenSchema, mapParts } from 'recourse-server/tools/loosen-schema';
import { OperationProblem } from './references.ts';

// Of an argument itself; what stands further inside loses its texts first.
const MOST_OF_DESCRIPTION = 200;
const LEVELS = [Infinity, 8, 6, 4, 3, 2] as const;
const LEFT_OUT = { description: 'Its schema is too large to be shown.' };

/**
 * The schema itself where its JSON has at most so many characters. Else without the texts within its arguments; then also
 * without the definitions that lie furthest from the arguments, and without what is nested deepest (`isCut`): any value fits
 * there, and the API judges it. Throws an OperationProblem where not even the arguments by themselves fit.
 */
export const fitSchema = (
  schema: JsonSchema,
  most: number,
): { readonly schema: JsonSchema; readonly isCut: boolean } => {
  if (sizeOf(schema) <= most) return { schema, isCut: false };
  const terse = removeTexts(schema);
  if (sizeOf(terse) <= most) return { schema: terse, isCut: false };
  // Any part may be left out.
  const { $defs: definitions = {}, ...own } = loosenSchema(terse, () => true);
  for (const levels of LEVELS) {
    const cut = (part: JsonSchema): JsonSchema => cutDepth(part, levels);
    const flat = { ...own, properties: mapSchemas(recordAt(own, 'properties'), cut) };
    const near = chooseNearest(flat, isRecord(definitions) ? mapSchemas(definitions, cut) : {}, most);
    if (near === null) continue;
    const trim = (part: JsonSchema): JsonSchema => (leadsTo(part, near) ? mapParts(part, trim) : LEFT_OUT);
    return { schema: trim(near.size === 0 ? flat : { ...flat, $defs: Object.fromEntries(near) }), isCut: true };
  }
  throw new OperationProblem(`Its schema is larger than ${most} bytes, even without nested schemas.`);
};

const sizeOf = (schema: unknown): number => JSON.stringify(schema).length;

const mapSchemas = (schemas: JsonRecord, change: (schema: JsonSchema) => JsonSchema): JsonRecord =>
  Object.fromEntries(Object.entries(schemas).map(([name, one]) => [name, isRecord(one) ? change(one) : one]));

const removeTexts = (schema: JsonSchema): JsonSchema => ({
  ...removeExplanations(schema),
  properties: mapSchemas(recordAt(schema, 'properties'), (argument) => {
    const text = textAt(argument, 'description') ?? '';
    const short = text.length > MOST_OF_DESCRIPTION ? `${text.slice(0, MOST_OF_DESCRIPTION - 1)}…` : text;
    return { ...removeExplanations(argument), ...(text === '' ? {} : { description: short }) };
  }),
});

const removeExplanations = ({ description: _1, title: _2, examples: _3, ...schema }: JsonSchema): JsonSchema =>
  mapParts(schema, removeExplanations);

/** Any value where schemas lie deeper than so many levels; of definitions each counts by itself. */
const cutDepth = (schema: JsonSchema, levels: number): JsonSchema =>
  mapParts(schema, (part) => (levels <= 1 ? LEFT_OUT : cutDepth(part, levels - 1)));

/** As many definitions as fit, the nearest to the arguments first; null where the arguments alone are too large. */
const chooseNearest = (own: JsonSchema, definitions: JsonRecord, most: number): ReadonlyMap<string, unknown> | null => {
  const near = new Map<string, unknown>();
  let left = most - costOf(own);
  if (left < 0) return null;
  // What is added while it is gone through comes last.
  const names = new Set(listReferred(own));
  for (const name of names) {
    const definition = memberOf(definitions, name);
    const cost = costOf(definition) + name.length + 8;
    if (definition === undefined || cost > left) continue;
    left -= cost;
    near.set(name, definition);
    for (const next of listReferred(definition)) names.add(next);
  }
  return near;
};

// Each reference may have to say that its schema is left out, which is longer than the reference.
const costOf = (schema: unknown): number => sizeOf(schema ?? null) + listReferred(schema).length * sizeOf(LEFT_OUT);

/** The names of the definitions that are referred to, each as often as it is. */
const listReferred = (schema: unknown): readonly string[] =>
  [...JSON.stringify(schema ?? null).matchAll(/"\$ref":"#\/\$defs\/([^"]+)"/g)].map(([, name = '']) => name);

const leadsTo = (schema: JsonSchema, near: ReadonlyMap<string, unknown>): boolean => {
  const name = textAt(schema, '$ref')?.replace('#/$defs/', '');
  return name === undefined || near.has(name);
};
