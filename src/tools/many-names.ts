import { isRecord } from '../contract/json-record.ts';
import type { JsonSchema } from '../contract/tool-description.ts';

/**
 * The names of an object that has many, by whoever lists them first; null of any other. V8 sorts the names of a large object
 * whenever they are listed: 12 ms for ninety thousand, half of what parsing them takes.
 */
export type ManyNames = readonly string[] | null;

export const MANY_NAMES = 2_000;
// As many as are ever told of.
const MOST_UNKNOWN = 100;

/** An object without most of its unknown names, and how many those are. */
export type FewNames = { readonly value: JsonSchema; readonly further: number };

/**
 * An object with the `known` ones of its many names and the first hundred of the others: a check of it by a schema that lets
 * in the known ones alone finds what is told of the whole. Null where nothing would be left out, or either names are not known.
 */
export const toFewNames = (value: unknown, names: ManyNames, known: readonly string[] | null): FewNames | null =>
  names === null || known === null || !isRecord(value) ? null : leaveOut(value, names, known);

const leaveOut = (value: JsonSchema, names: readonly string[], known: readonly string[]): FewNames | null => {
  const kept: Record<string, unknown> = {};
  let count = 0;
  const keep = (name: string): void => {
    kept[name] = value[name];
    count += 1;
  };
  for (const name of known) if (Object.hasOwn(value, name)) keep(name);
  const most = count + MOST_UNKNOWN;
  for (const name of names) {
    if (count === most) break;
    if (!Object.hasOwn(kept, name)) keep(name);
  }
  return count === names.length ? null : { value: kept, further: names.length - count };
};

/** The names that an object schema lets in, where it says nothing else of names; else null. */
export const findOnlyNames = (schema: JsonSchema): readonly string[] | null => {
  const { additionalProperties, properties = {} } = schema;
  const isPlain = additionalProperties === false && Object.keys(schema).every((word) => PLAIN.has(word));
  return isPlain && isRecord(properties) ? Object.keys(properties) : null;
};

const PLAIN: ReadonlySet<string> = new Set([
  'type',
  'properties',
  'required',
  'additionalProperties',
  '$schema',
  '$id',
  '$defs',
  'definitions',
  'title',
  'description',
  'default',
  'examples',
  'sensitive',
]);
