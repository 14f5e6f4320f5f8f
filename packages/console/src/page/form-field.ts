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

const recordOf = (value: unknown): JsonRecord => (isRecord(value) ? value : {});

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

const namesOf = ({ properties }: JsonRecord): readonly string[] => Object.keys(recordOf(properties));

const buildMembers = (schema: JsonRecord, form: Form, depth: number): readonly Field[] => {
  const names = namesOf(schema).slice(0, MAX_FIELDS);
  // All of one object first: what is inside of the first must not take the room of the others.
  form.room -= names.length;
  const required = new Set(listOf(schema['required']));
  return names.map((name) => {
    const declared = recordOf(memberOf(schema['properties'], name));
    return buildField(declared, form, depth, name, required.has(name) ? 'required' : 'optional');
  });
};

const buildField = (
  declared: JsonRecord,
  form: Form,
  depth: number,
  name: string,
  presence: Field['presence'],
): Field => {
  const schema = resolve(declared, form.root);
  const { type, items, description } = schema;
  const about = { name, presence, description: textOf(description), notes: explainLimits(schema) };
  const options = optionsOf(schema);
  if (options.length > 0 && options.length <= MAX_FIELDS) return { ...about, kind: 'choice', options };
  if (type === 'string') return { ...about, kind: 'text' };
  if (type === 'number' || type === 'integer') return { ...about, kind: 'number' };
  if (type === 'object' && depth < MAX_DEPTH && hasRoom(schema, form))
    return { ...about, kind: 'object', fields: buildMembers(schema, form, depth + 1) };
  if (type === 'array' && depth < MAX_DEPTH && isRecord(items))
    return { ...about, kind: 'list', item: buildField(items, form, depth + 1, 'Item', 'required') };
  return { ...about, kind: 'json' };
};

// A map of any names, or members that only a combination names: a form cannot know them.
const hasRoom = (schema: JsonRecord, { room }: Form): boolean => {
  const { length } = namesOf(schema);
  return length > 0 && length <= room;
};

const optionsOf = (schema: JsonRecord): readonly unknown[] => {
  if ('const' in schema) return [schema['const']];
  return schema['type'] === 'boolean' ? [true, false] : listOf(schema['enum']);
};

/** Follows `$ref` within the document, and "this or null"; a description nearer to the field wins. */
const resolve = (declared: JsonRecord, root: JsonRecord): JsonRecord => {
  let schema: JsonRecord | null = declared;
  let resolved = declared;
  for (let step = 0; step < MAX_DEPTH && schema !== null; step += 1) {
    resolved = schema;
    schema = follow(schema, root);
  }
  const { description } = declared;
  return textOf(description) === '' ? resolved : { ...resolved, description };
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

const LIMITS = {
  minimum: 'at least',
  exclusiveMinimum: 'more than',
  maximum: 'at most',
  exclusiveMaximum: 'less than',
  minLength: 'characters, at least',
  maxLength: 'characters, at most',
  minItems: 'items, at least',
  maxItems: 'items, at most',
  format: 'format',
  pattern: 'pattern',
};

const explainLimits = (schema: JsonRecord): readonly string[] => {
  const limits = Object.entries(LIMITS).flatMap(([name, words]) => {
    const limit = schema[name];
    // zod writes the bounds of a safe integer beside every integer; they say nothing to a person.
    const isTelling = typeof limit === 'number' && Math.abs(limit) < Number.MAX_SAFE_INTEGER;
    return isTelling || textOf(limit) !== '' ? [`${words} ${limit}`] : [];
  });
  const type = schema['type'] === 'integer' ? ['whole number'] : [];
  return [...type, ...limits, ...('default' in schema ? [`default ${JSON.stringify(schema['default'])}`] : [])];
};
