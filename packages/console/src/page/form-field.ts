import { isRecord, type JsonRecord, listOf, memberOf, numberOf, recordOf, textOf } from './json.ts';

type About = {
  readonly name: string;
  readonly description: string;
  readonly presence: 'required' | 'optional';
  /** What else the schema says in a few words: its default and its limits. */
  readonly notes: readonly string[];
};

/** How one value of the arguments is asked for. `json` stands for whatever a form has no control for. */
export type Field = About &
  (
    | { readonly kind: 'text' | 'number' | 'boolean' | 'json' }
    | { readonly kind: 'choice'; readonly options: readonly unknown[] }
    | { readonly kind: 'object'; readonly fields: readonly Field[] }
    | { readonly kind: 'list'; readonly item: Field }
  );

// A schema that refers to itself would never end; deeper than this nobody fills in a form.
const MAX_DEPTH = 5;

/** A form of more fields, or a list of more options, keeps a browser busy for seconds, at every key that is pressed. */
export const MAX_FIELDS = 200;

/** The document that references lead into, and how many more fields the form has room for. */
type Around = { readonly root: JsonRecord; room: number };

/** The first fields of a tool's arguments, from its input schema (draft 2020-12); `left` counts those that have no room. */
export const toFields = (schema: JsonRecord): { readonly fields: readonly Field[]; readonly left: number } => {
  const top = resolve(schema, schema, '');
  const names = namesOf(top);
  const fields = toMembers(top, names.slice(0, MAX_FIELDS), { root: schema, room: MAX_FIELDS }, 0);
  return { fields, left: names.length - fields.length };
};

const namesOf = (schema: JsonRecord): readonly string[] => Object.keys(recordOf(memberOf(schema, 'properties')));

const toMembers = (schema: JsonRecord, names: readonly string[], around: Around, depth: number): readonly Field[] => {
  // All of one object first: what is inside of the first must not take the room of the others.
  around.room -= names.length;
  const required = new Set(listOf(memberOf(schema, 'required')));
  const properties = recordOf(memberOf(schema, 'properties'));
  return names.map((name) =>
    toField(recordOf(memberOf(properties, name)), around, depth, {
      name,
      presence: required.has(name) ? 'required' : 'optional',
    }),
  );
};

type Place = Pick<About, 'name' | 'presence'>;

const toField = (declared: JsonRecord, around: Around, depth: number, place: Place): Field => {
  const schema = resolve(declared, around.root, textOf(memberOf(declared, 'description')));
  const about: About = { ...place, description: textOf(memberOf(schema, 'description')), notes: toNotes(schema) };
  const options = toOptions(schema);
  if (options !== null && options.length <= MAX_FIELDS) return { ...about, kind: 'choice', options };
  const type = memberOf(schema, 'type');
  if (depth < MAX_DEPTH && type === 'object') return toObject(schema, around, depth, about);
  if (depth < MAX_DEPTH && type === 'array') return toList(schema, around, depth, about);
  return { ...about, kind: (typeof type === 'string' ? SIMPLE.get(type) : undefined) ?? 'json' };
};

const SIMPLE: ReadonlyMap<string, 'text' | 'number' | 'boolean'> = new Map([
  ['string', 'text'],
  ['number', 'number'],
  ['integer', 'number'],
  ['boolean', 'boolean'],
]);

const toObject = (schema: JsonRecord, around: Around, depth: number, about: About): Field => {
  const names = namesOf(schema);
  // A map of any names, or members that only a combination names: a form cannot know them.
  if (names.length === 0 || names.length > around.room) return { ...about, kind: 'json' };
  return { ...about, kind: 'object', fields: toMembers(schema, names, around, depth + 1) };
};

const toList = (schema: JsonRecord, around: Around, depth: number, about: About): Field => {
  const items = memberOf(schema, 'items');
  if (!isRecord(items)) return { ...about, kind: 'json' };
  return { ...about, kind: 'list', item: toField(items, around, depth + 1, { name: 'Item', presence: 'required' }) };
};

const toOptions = (schema: JsonRecord): readonly unknown[] | null => {
  if (Object.hasOwn(schema, 'const')) return [schema['const']];
  const options = listOf(memberOf(schema, 'enum'));
  return options.length === 0 ? null : options;
};

/** Follows `$ref` within the document, and "this or null"; a description nearer to the field wins. */
const resolve = (declared: JsonRecord, root: JsonRecord, description: string): JsonRecord => {
  let schema = declared;
  for (let step = 0; step < MAX_DEPTH; step += 1) {
    const next = followed(schema, root);
    if (next === null) break;
    schema = next;
  }
  return description === '' ? schema : { ...schema, description };
};

const followed = (schema: JsonRecord, root: JsonRecord): JsonRecord | null => {
  const reference = textOf(memberOf(schema, '$ref'));
  if (reference !== '') return atPointer(root, reference);
  const choices = [...listOf(memberOf(schema, 'anyOf')), ...listOf(memberOf(schema, 'oneOf'))].map(recordOf);
  const real = choices.filter((choice) => memberOf(choice, 'type') !== 'null');
  return real.length === 1 && real[0] !== undefined ? { ...schemaAround(schema), ...real[0] } : null;
};

const schemaAround = (schema: JsonRecord): JsonRecord =>
  Object.fromEntries(Object.entries(schema).filter(([name]) => name !== 'anyOf' && name !== 'oneOf'));

// RFC 6901, as far as schemas use it.
const atPointer = (root: JsonRecord, reference: string): JsonRecord | null => {
  if (!reference.startsWith('#/')) return null;
  const names = reference.slice(2).split('/');
  const found = names.reduce<unknown>(
    (value, name) => memberOf(recordOf(value), name.replaceAll('~1', '/').replaceAll('~0', '~')),
    root,
  );
  return isRecord(found) ? found : null;
};

const LIMITS: readonly (readonly [string, string])[] = [
  ['minimum', 'at least'],
  ['exclusiveMinimum', 'more than'],
  ['maximum', 'at most'],
  ['exclusiveMaximum', 'less than'],
  ['minLength', 'characters, at least'],
  ['maxLength', 'characters, at most'],
  ['minItems', 'items, at least'],
  ['maxItems', 'items, at most'],
];

// zod writes the bounds of a safe integer beside every integer; they say nothing to a person.
const isTelling = (limit: number | null): limit is number =>
  limit !== null && Math.abs(limit) < Number.MAX_SAFE_INTEGER;

const toNotes = (schema: JsonRecord): readonly string[] => {
  const limits = LIMITS.flatMap(([name, words]) => {
    const limit = numberOf(memberOf(schema, name));
    return isTelling(limit) ? [`${words} ${limit}`] : [];
  });
  const type = memberOf(schema, 'type') === 'integer' ? ['whole number'] : [];
  const format = ['format', 'pattern'].flatMap((name) => {
    const text = textOf(memberOf(schema, name));
    return text === '' ? [] : [`${name} ${text}`];
  });
  const standard = Object.hasOwn(schema, 'default') ? [`default ${JSON.stringify(schema['default'])}`] : [];
  return [...type, ...limits, ...format, ...standard];
};
