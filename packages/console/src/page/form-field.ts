import { isRecord, type JsonRecord, listOf, memberOf } from './json.ts';

/** How one value of the arguments is entered. `json` stands for whatever a form has no control for. */
export type Field = {
  readonly name: string;
  readonly description: string;
  readonly presence: 'required' | 'optional';
  /** What else the schema says in a few words: its default and its limits. */
  readonly notes: readonly string[];
} & (
  | { readonly kind: 'text' | 'number' | 'json' }
  | { readonly kind: 'choice'; readonly options: readonly unknown[] }
  | { readonly kind: 'object'; readonly fields: readonly Field[] }
  | { readonly kind: 'list'; readonly item: Field }
);

// A schema that refers to itself would never end; deeper than this no person fills in a form.
const MAX_DEPTH = 5;

/** A form of more fields, or a list of more options, keeps a browser busy for seconds, at every key that is pressed. */
export const MAX_FIELDS = 200;

/** The document that references lead into, and how many more fields the form has room for. */
type Form = { readonly root: JsonRecord; room: number };

/** The first fields of a tool's arguments, from its input schema (draft 2020-12); `left` counts those that have no room. */
export const buildFields = (root: JsonRecord): { readonly fields: readonly Field[]; readonly left: number } => {
  const top = resolve(root, root);
  const fields = buildMembers(top, { root, room: MAX_FIELDS }, 0);
  return { fields, left: namesOf(top).length - fields.length };
};

export const recordOf = (value: unknown): JsonRecord => (isRecord(value) ? value : {});

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

const namesOf = ({ properties }: JsonRecord): readonly string[] => Object.keys(recordOf(properties));

const buildMembers = (schema: JsonRecord, form: Form, depth: number): readonly Field[] => {
  const names = namesOf(schema).slice(0, MAX_FIELDS);
  // All of one object first: what is inside of the first must not take the room of the others.
  form.room -= names.length;
  const required = new Set(listOf(schema['required']));
  return names.map((name) => {
    const declared = recordOf(memberOf(schema['properties'], name));
    return buildField(declared, form, depth, { name, presence: required.has(name) ? 'required' : 'optional' });
  });
};

const buildField = (
  declared: JsonRecord,
  form: Form,
  depth: number,
  place: Pick<Field, 'name' | 'presence'>,
): Field => {
  const schema = resolve(declared, form.root);
  const { type, items, description } = schema;
  const about = { ...place, description: textOf(description), notes: explainLimits(schema) };
  const { length } = namesOf(schema);
  const options = optionsOf(schema);
  if (options.length > 0 && options.length <= MAX_FIELDS) return { ...about, kind: 'choice', options };
  if (type === 'string') return { ...about, kind: 'text' };
  if (type === 'number' || type === 'integer') return { ...about, kind: 'number' };
  // Not a map of any names, or members that only a combination names: a form cannot know them.
  if (type === 'object' && depth < MAX_DEPTH && length > 0 && length <= form.room)
    return { ...about, kind: 'object', fields: buildMembers(schema, form, depth + 1) };
  if (type === 'array' && depth < MAX_DEPTH && isRecord(items))
    return { ...about, kind: 'list', item: buildField(items, form, depth + 1, { name: 'Item', presence: 'required' }) };
  return { ...about, kind: 'json' };
};

const optionsOf = (schema: JsonRecord): readonly unknown[] => {
  if ('const' in schema) return [schema['const']];
  return schema['type'] === 'boolean' ? [true, false] : listOf(schema['enum']);
};

/** Follows `$ref` within the document, and "this or null"; a description nearer to the field wins. */
export const resolve = (declared: JsonRecord, root: JsonRecord, steps = MAX_DEPTH): JsonRecord => {
  const next = steps === 0 ? null : follow(declared, root);
  if (next === null) return declared;
  const { description } = declared;
  return resolve(textOf(description) === '' ? next : { ...next, description }, root, steps - 1);
};

const follow = (schema: JsonRecord, root: JsonRecord): JsonRecord | null => {
  const { $ref, anyOf, oneOf, ...around } = schema;
  if (textOf($ref) !== '') return findAt(root, textOf($ref));
  const [only, ...others] = [...listOf(anyOf), ...listOf(oneOf)].map(recordOf).filter(({ type }) => type !== 'null');
  return only !== undefined && others.length === 0 ? { ...around, ...only } : null;
};

// RFC 6901, as far as schemas use it.
const findAt = (root: JsonRecord, reference: string): JsonRecord | null => {
  if (!reference.startsWith('#/')) return null;
  const names = reference.slice(2).split('/');
  const found = names.reduce<unknown>(
    (value, name) => memberOf(value, name.replaceAll('~1', '/').replaceAll('~0', '~')),
    root,
  );
  return isRecord(found) ? found : null;
};

const LIMITS = 'minimum exclusiveMinimum maximum exclusiveMaximum minLength maxLength minItems maxItems'.split(' ');

const explainLimits = (schema: JsonRecord): readonly string[] => {
  // zod writes the bounds of a safe integer beside every integer; they say nothing to a person.
  const isTelling = (name: string): boolean =>
    name in schema && !(Math.abs(Number(schema[name])) >= Number.MAX_SAFE_INTEGER);
  const notes = [...LIMITS, 'format', 'pattern', 'default'].filter(isTelling);
  const type = schema['type'] === 'integer' ? ['whole number'] : [];
  return [...type, ...notes.map((name) => `${name} ${JSON.stringify(schema[name])}`)];
};
