import { isRecord, type JsonRecord, memberOf, recordAt, textAt } from 'recourse-server/contract/json-record';
import type { JsonSchema } from 'recourse-server/contract/tool-description';
import { loosenSchema, mapParts } from 'recourse-server/tools/loosen-schema';
import { OperationProblem } from './references.ts';

/** A schema of arguments that is no larger than a model can be told, and what was done for it. */
export type FittedSchema = { readonly schema: JsonSchema; readonly cut: 'no' | 'descriptions' | 'schemas' };

// Of an argument itself; what stands further inside loses its texts first.
const MOST_OF_DESCRIPTION = 200;
const LEVELS = [Infinity, 8, 6, 4, 3, 2] as const;

/**
 * The schema itself where its JSON has at most so many characters. Else without the texts within its arguments; then also
 * without the definitions that lie furthest from the arguments, and without what is nested deepest: any value fits there,
 * and the API judges it. Throws an OperationProblem where not even the arguments by themselves fit.
 */
export const fitSchema = (schema: JsonSchema, most: number): FittedSchema => {
  if (sizeOf(schema) <= most) return { schema, cut: 'no' };
  const terse = withoutTexts(schema);
  if (sizeOf(terse) <= most) return { schema: terse, cut: 'descriptions' };
  // Any part may be left out.
  const loose = loosenSchema(terse, () => true);
  for (const levels of LEVELS) {
    const flat = withNearDefinitions(withoutDepth(loose, levels), most);
    if (flat !== null) return { schema: flat, cut: 'schemas' };
  }
  throw new OperationProblem(`Its schema is larger than ${most} bytes, even without nested schemas.`);
};

const sizeOf = (schema: unknown): number => JSON.stringify(schema).length;

const withoutTexts = (schema: JsonSchema): JsonSchema => ({
  ...toTerse(schema),
  properties: mapMembers(recordAt(schema, 'properties'), (argument) =>
    isRecord(argument) ? { ...toTerse(argument), ...toShortText(argument) } : argument,
  ),
});

const toShortText = (argument: JsonRecord): JsonSchema => {
  const text = textAt(argument, 'description');
  if (text === undefined) return {};
  return { description: text.length > MOST_OF_DESCRIPTION ? `${text.slice(0, MOST_OF_DESCRIPTION - 1)}…` : text };
};

const mapMembers = (members: JsonRecord, change: (member: unknown, name: string) => unknown): JsonRecord =>
  Object.fromEntries(Object.entries(members).map(([name, member]) => [name, change(member, name)]));

const without = (schema: JsonRecord, words: ReadonlySet<string>): JsonRecord =>
  Object.fromEntries(Object.entries(schema).filter(([word]) => !words.has(word)));

const TEXTS = new Set(['description', 'title', 'examples']);

/** The same at every level without what only explains. */
const toTerse = (schema: JsonRecord): JsonRecord => mapParts(without(schema, TEXTS), toTerse);

const LEFT_OUT = 'Its schema is too large to be shown.';

/** With as many definitions as fit, the nearest to the arguments first; null where the rest alone is too large. */
const withNearDefinitions = (schema: JsonSchema, most: number): JsonSchema | null => {
  const { $defs: _definitions, ...own } = schema;
  const left = most - costOf(own);
  if (left < 0) return null;
  const near = nearestOf(own, recordAt(schema, '$defs'), left);
  const cut = (value: unknown): unknown => withoutOthers(value, near);
  const rest = mapMembers(own, cut);
  return near.size === 0 ? rest : { ...rest, $defs: mapMembers(Object.fromEntries(near), cut) };
};

const LEFT_OUT_SIZE = JSON.stringify({ description: LEFT_OUT }).length;

// Each reference may have to say that its schema is left out, which is longer than the reference.
const costOf = (value: unknown): number => sizeOf(value) + namesIn(value).length * LEFT_OUT_SIZE;

const nearestOf = (own: JsonSchema, definitions: JsonRecord, most: number): ReadonlyMap<string, unknown> => {
  const near = new Map<string, unknown>();
  let left = most;
  // What is added while it is gone through comes last.
  const names = new Set(namesIn(own));
  for (const name of names) {
    const definition = memberOf(definitions, name);
    const cost = costOf(definition ?? null) + name.length + 8;
    if (definition === undefined || cost > left) continue;
    left -= cost;
    near.set(name, definition);
    for (const next of namesIn(definition)) names.add(next);
  }
  return near;
};

/** The names of the definitions that are referred to, each as often as it is. */
const namesIn = (value: unknown): readonly string[] =>
  [...JSON.stringify(value ?? null).matchAll(/"\$ref":"#\/\$defs\/([^"]+)"/g)].map(([, name = '']) => name);

const withoutOthers = (value: unknown, near: ReadonlyMap<string, unknown>): unknown => {
  if (Array.isArray(value)) return value.map((item) => withoutOthers(item, near));
  if (!isRecord(value)) return value;
  const name = textAt(value, '$ref')?.replace('#/$defs/', '');
  if (name !== undefined && !near.has(name)) return { description: LEFT_OUT };
  return mapMembers(value, (member) => withoutOthers(member, near));
};

/** Any value where objects and lists of schemas lie deeper than so many levels; of definitions each counts by itself. */
const withoutDepth = (schema: JsonSchema, levels: number): JsonSchema => {
  const flatten = (members: JsonRecord): JsonRecord =>
    mapMembers(members, (one) => (isRecord(one) ? toFlat(one, levels) : one));
  return {
    ...schema,
    properties: flatten(recordAt(schema, 'properties')),
    ...('$defs' in schema ? { $defs: flatten(recordAt(schema, '$defs')) } : {}),
  };
};

const toFlat = (schema: JsonRecord, levels: number): JsonRecord =>
  mapParts(schema, (part) => (levels <= 1 ? { description: LEFT_OUT } : toFlat(part, levels - 1)));
