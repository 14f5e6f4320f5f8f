import type { JsonSchema } from '../../contract/tool-description.ts';
import { parseJson } from '../../json/parse-json.ts';

/**
 * The texts given for one argument as the value that the input schema wants: a number, true, false, null or JSON where it
 * allows that, else the text. Several texts are a list; undefined where the schema wants none. What fits nothing stays
 * text: the service says what is wrong with it.
 */
export const toValue = (texts: readonly string[], root: JsonSchema | null, name: string): unknown => {
  const schema = root === null ? null : memberOf(root['properties'], name);
  const kinds = kindsOf(schema, root, 0);
  const [text = ''] = texts;
  const single = toSingle(text, kinds);
  const isList = kinds.has('array');
  if (texts.length === 1 && (!isList || Array.isArray(single) || kinds.has('string'))) return single;
  if (!isList) return undefined;
  const items = kindsOf(itemsOf(schema, root), root, 0);
  return texts.map((item) => toSingle(item, items));
};

const toSingle = (text: string, kinds: ReadonlySet<string>): unknown => {
  const parsed = parseJson(text);
  if (!parsed.ok || holdsInfinity(parsed.value)) return text;
  const kind = kindOf(parsed.value);
  const isWanted = kinds.has(kind) || (kind === 'integer' && kinds.has('number'));
  return isWanted && kind !== 'string' ? parsed.value : text;
};

/** Whether a number was too large to be read, as 1e400 is: written as JSON again it would be null. */
export const holdsInfinity = (value: unknown): boolean =>
  typeof value === 'object' && value !== null
    ? Object.values(value).some(holdsInfinity)
    : typeof value === 'number' && !Number.isFinite(value);

const kindOf = (value: unknown): string => {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
};

const MAX_LEVELS = 16;

/** The types of JSON that a schema allows, as far as its own words say; none where they say nothing. */
const kindsOf = (schema: unknown, root: JsonSchema | null, level: number): ReadonlySet<string> => {
  if (typeof schema !== 'object' || schema === null || level > MAX_LEVELS) return new Set();
  const { type, anyOf, oneOf, allOf, enum: values, const: only, $ref } = Object.assign(NO_WORDS(), schema);
  const named = [type].flat().filter((kind) => typeof kind === 'string');
  const ofValues = [...(Array.isArray(values) ? values : []), ...(only === undefined ? [] : [only])].map(kindOf);
  const parts = [anyOf, oneOf, allOf].flatMap((part) => (Array.isArray(part) ? part : []));
  const target = typeof $ref === 'string' ? [follow(root, $ref)] : [];
  const inner = [...parts, ...target].flatMap((part) => [...kindsOf(part, root, level + 1)]);
  return new Set([...named, ...ofValues, ...inner]);
};

type Words = {
  readonly [word in 'type' | 'anyOf' | 'oneOf' | 'allOf' | 'enum' | 'const' | '$ref' | 'items']: unknown;
};

const NO_WORDS = (): Words => ({
  type: undefined,
  anyOf: undefined,
  oneOf: undefined,
  allOf: undefined,
  enum: undefined,
  const: undefined,
  $ref: undefined,
  items: undefined,
});

const itemsOf = (schema: unknown, root: JsonSchema | null): unknown => {
  if (typeof schema !== 'object' || schema === null) return null;
  const { items, anyOf, oneOf, $ref } = Object.assign(NO_WORDS(), schema);
  if (items !== undefined) return items;
  const parts = [anyOf, oneOf].flatMap((part) => (Array.isArray(part) ? part : []));
  const list = parts.find((part: unknown) => kindsOf(part, root, 0).has('array'));
  if (list !== undefined) return memberOf(list, 'items');
  return typeof $ref === 'string' ? memberOf(follow(root, $ref), 'items') : null;
};

/** What a reference within the schema leads to: `#/$defs/Point`. */
const follow = (root: JsonSchema | null, reference: string): unknown => {
  if (!reference.startsWith('#/')) return null;
  const steps = reference
    .slice(2)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  let place: unknown = root;
  for (const step of steps) place = memberOf(place, step);
  return place;
};

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name) ? Reflect.get(value, name) : null;
