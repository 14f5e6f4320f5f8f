import { toPlainText } from 'recourse-server/cli/terminal';
import type { JsonSchema } from 'recourse-server/contract/tool-description';
import { parseJson } from 'recourse-server/json/parse-json';
import { isWideInteger } from 'recourse-server/tools/wide-integers';
import { WrongUse } from './command-output.ts';

export type Arguments = Readonly<Record<string, unknown>>;

/** `name=value` words as one object, each value read as the input schema of the tool says. null = no schema is known. */
export const readPairs = (pairs: readonly string[], schema: JsonSchema | null): Arguments => {
  const named = pairs.map((pair) => {
    const at = pair.indexOf('=');
    if (at < 1) throw new WrongUse(`'${pair}' is not an argument: write name=value, for example ${exampleOf(schema)}.`);
    return { name: pair.slice(0, at), text: pair.slice(at + 1) };
  });
  const texts = Map.groupBy(named, ({ name }) => name);
  const values = [...texts].map(([name, given]) => {
    const value = parseValue(
      given.map(({ text }) => text),
      schema,
      name,
    );
    if (value === undefined) throw new WrongUse(`${name} is given more than once, but is not a list: give it once.`);
    return [name, value] as const;
  });
  return Object.fromEntries(values);
};

const exampleOf = (schema: JsonSchema | null): string =>
  `${Object.keys(Object(schema?.['properties']))[0] ?? 'path'}=…`;

const EXAMPLE = `Write for example --args '{"path":"notes.md"}', or name=value.`;

/** A JSON object as the arguments. */
export const readObject = (json: string): Arguments => {
  const parsed = parseJson(json);
  if (!parsed.ok) throw new WrongUse(`--args is not JSON: ${toPlainText(parsed.problem)}. ${EXAMPLE}`);
  const { value } = parsed;
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new WrongUse(`--args must be a JSON object. ${EXAMPLE}`);
  if (containsInfinity(value))
    throw new WrongUse('--args contains a number that is too large: send a smaller one, or a string.');
  return { ...value };
};

/**
 * The texts given for one argument as the value that the input schema wants: a number, true, false, null or JSON where it
 * allows that, else the text. Several texts are a list; undefined where the schema wants none. What fits nothing stays
 * text: the service says what is wrong with it.
 */
const parseValue = (texts: readonly string[], root: JsonSchema | null, name: string): unknown => {
  const schema = memberOf(root?.['properties'], name);
  const kinds = kindsOf(schema, root);
  const [text = ''] = texts;
  const single = parseSingle(text, kinds);
  const isList = kinds.has('array');
  if (texts.length === 1 && (!isList || Array.isArray(single) || kinds.has('string'))) return single;
  if (!isList) return undefined;
  const items = kindsOf(itemsOf(schema, root), root);
  return texts.map((item) => parseSingle(item, items));
};

const parseSingle = (text: string, kinds: ReadonlySet<string>): unknown => {
  // As a number it would be another one. Imports and MCP servers take the text for the number.
  if (isWideInteger(text)) return text;
  const parsed = parseJson(text);
  if (!parsed.ok || containsInfinity(parsed.value)) return text;
  const kind = kindOf(parsed.value);
  const isWanted = kinds.has(kind) || (kind === 'integer' && kinds.has('number'));
  return isWanted && kind !== 'string' ? parsed.value : text;
};

/** Whether a number was too large to be read, as 1e400 is: written as JSON again it would be null. */
const containsInfinity = (value: unknown): boolean =>
  typeof value === 'object' && value !== null
    ? Object.values(value).some(containsInfinity)
    : typeof value === 'number' && !Number.isFinite(value);

const kindOf = (value: unknown): string => {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
};

const MAX_LEVELS = 16;

/** The types of JSON that a schema allows, as far as its own words say; none where they say nothing. */
const kindsOf = (schema: unknown, root: JsonSchema | null, level = 0): ReadonlySet<string> => {
  if (typeof schema !== 'object' || schema === null || level > MAX_LEVELS) return new Set();
  const only = memberOf(schema, 'const');
  const named = [memberOf(schema, 'type')].flat().filter((kind) => typeof kind === 'string');
  const values = [...parseList(memberOf(schema, 'enum')), ...(only === undefined ? [] : [only])];
  const parts = ['anyOf', 'oneOf', 'allOf'].flatMap((word) => parseList(memberOf(schema, word)));
  const inner = [...parts, targetOf(schema, root)].flatMap((part) => [...kindsOf(part, root, level + 1)]);
  return new Set([...named, ...values.map(kindOf), ...inner]);
};

/** The schema of a list's items: its own, else that of the alternative or the reference that is a list. */
const itemsOf = (schema: unknown, root: JsonSchema | null): unknown => {
  const alternatives = ['anyOf', 'oneOf'].flatMap((word) => parseList(memberOf(schema, word)));
  const list = alternatives.find((part) => kindsOf(part, root).has('array')) ?? targetOf(schema, root);
  return memberOf(schema, 'items') ?? memberOf(list, 'items');
};

/** What the reference of a schema leads to within the whole: `#/$defs/Point`. */
const targetOf = (schema: unknown, root: JsonSchema | null): unknown => {
  const reference = memberOf(schema, '$ref');
  if (typeof reference !== 'string' || !reference.startsWith('#/')) return undefined;
  const steps = reference.slice(2).split('/');
  return steps.reduce<unknown>(
    (place, step) => memberOf(place, step.replaceAll('~1', '/').replaceAll('~0', '~')),
    root,
  );
};

const parseList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined;
