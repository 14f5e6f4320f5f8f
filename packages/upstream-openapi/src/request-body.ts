import {
  isRecord,
  type JsonRecord,
  listAt,
  memberOf,
  recordAt,
  textAt,
  textsAt,
} from 'recourse-server/contract/json-record';
import type { JsonSchema } from 'recourse-server/contract/tool-description';
import type { SetParameters } from './parameters.ts';
import { isPortable, STYLES, type Style, toDemand } from './parameters.ts';
import { toPlainText } from './plain-text.ts';
import { followReferences, OperationProblem } from './references.ts';
import type { RequestSchemas } from './request-schema.ts';

type BodyKind = 'json' | 'form' | 'multipart' | 'text' | 'binary';
/** How one member of a form is written where the document says so. */
export type MemberEncoding = { readonly style: Style; readonly explode: boolean };

/** What a request carries as its body, and which arguments it is made of. */
export type RequestBody = {
  readonly kind: BodyKind;
  /** The Content-Type, without a boundary. */
  readonly media: string;
  readonly required: boolean;
  /** The one argument that is the whole body; null = each member is an argument of its own. */
  readonly argument: string | null;
  /** Argument → its schema. */
  readonly arguments: ReadonlyMap<string, JsonSchema>;
  readonly requiredArguments: readonly string[];
  /** What is sent of a member for which the model gives nothing: a default, or what the settings say. */
  readonly fallbacks: ReadonlyMap<string, unknown>;
  /** What is sent of a member whatever the model gives. */
  readonly fixed: ReadonlyMap<string, unknown>;
  /** Members of a multipart body that are files. */
  readonly files: ReadonlySet<string>;
  readonly encodings: ReadonlyMap<string, MemberEncoding>;
};

type BodyOptions = {
  readonly root: JsonRecord;
  readonly schemas: RequestSchemas;
  /** The names of the arguments that are parameters. */
  readonly taken: ReadonlySet<string>;
  readonly uploads: Uploads;
  readonly set: SetParameters;
};

const KINDS: readonly (readonly [RegExp, BodyKind])[] = [
  [/^application\/json$/, 'json'],
  [/^(\*\/\*|application\/\*)$|^[\w.-]+\/([\w.-]+\+)?json(-patch)?$/, 'json'],
  [/^application\/x-www-form-urlencoded$/, 'form'],
  [/^multipart\/form-data$/, 'multipart'],
  [/^text\/[\w.+*-]+$/, 'text'],
  [/^application\/(octet-stream|pdf|zip|x-tar|gzip|x-gzip|dicom)$|^(image|audio|video)\/[\w.+*-]+$/, 'binary'],
];

/** Reads what an operation takes as its body, null where it takes none. Throws an OperationProblem for media we cannot write. */
export const toRequestBody = (operation: JsonRecord, options: BodyOptions): RequestBody | null => {
  if (memberOf(operation, 'requestBody') === undefined) return null;
  const { root } = options;
  const source = followReferences(root, operation['requestBody']);
  const contents = recordAt(source, 'content');
  const required = source['required'] === true;
  const chosen = chooseMedia(root, contents);
  if (chosen === null) return refuseMedia(Object.keys(contents), required);
  const content = recordAt(contents, chosen.media);
  const whole: Whole = {
    kind: chosen.kind,
    media: toSentMedia(toMedia(chosen.media), chosen.kind),
    required,
    encodings: toEncodings(content),
  };
  const members = whole.kind === 'text' || whole.kind === 'binary' ? null : toMembers(content, whole, options);
  if (members !== null && canStandAlone(members, required, options.taken))
    return toOwnArguments(members, whole, options);
  if (members !== null && whole.kind === 'multipart') return toOneOfMembers(members, whole, options);
  return toOneArgument(memberOf(content, 'schema') ?? {}, whole, options);
};

// Of an optional body all or nothing is sent: beside the others, its required members would seem optional.
const canStandAlone = (members: Members, isRequired: boolean, taken: ReadonlySet<string>): boolean =>
  (isRequired || members.required.size === 0) &&
  [...members.properties.keys()].every((name) => isPortable(name) && !taken.has(name));

type Whole = Pick<RequestBody, 'kind' | 'media' | 'required' | 'encodings'>;
type Chosen = { readonly media: string; readonly kind: BodyKind };

/** The first of our kinds that the operation takes; of a form with files, the one that can carry them. */
const chooseMedia = (root: JsonRecord, contents: JsonRecord): Chosen | null => {
  const all = KINDS.flatMap(([pattern, kind]) =>
    Object.keys(contents).flatMap((media): readonly Chosen[] =>
      pattern.test(toMedia(media)) ? [{ media, kind }] : [],
    ),
  );
  const [first] = all;
  const multipart = all.find(({ kind }) => kind === 'multipart');
  if (first?.kind !== 'form' || multipart === undefined) return first ?? null;
  const flat = toFlatObject(root, memberOf(recordAt(contents, multipart.media), 'schema'));
  const hasFile = [...(flat?.properties.values() ?? [])].some((member) => toFileKind(root, member) !== null);
  return hasFile ? multipart : first;
};

const toMedia = (media: string): string => media.split(';', 1)[0]?.trim().toLowerCase() ?? '';

const toSentMedia = (media: string, kind: BodyKind): string => {
  if (!media.includes('*')) return media;
  if (kind === 'binary') return 'application/octet-stream';
  return kind === 'json' ? 'application/json' : 'text/plain';
};

const refuseMedia = (media: readonly string[], required: boolean): null => {
  if (!required && media.length === 0) return null;
  throw new OperationProblem(
    `It needs a body of ${media.join(', ').slice(0, 200) || 'no known media type'}, which is not supported.`,
  );
};

type Members = { readonly properties: ReadonlyMap<string, unknown>; readonly required: ReadonlySet<string> };

const toMembers = (content: JsonRecord, { kind }: Whole, { root }: BodyOptions): Members | null => {
  const flat = toFlatObject(root, memberOf(content, 'schema'));
  if (flat === null && kind === 'multipart' && holdsFile(root, memberOf(content, 'schema'), 0))
    throw new OperationProblem('Its body has a file among alternatives, which is not supported.');
  if (flat === null) return null;
  const found = withAllRequired(flat);
  // An object of which nothing is said takes any members: the model gives all of it.
  if (found.properties.size === 0) return null;
  const kept = [...found.properties].filter(([, schema]) => {
    const resolved = isRecord(schema) ? followReferences(root, schema) : {};
    return resolved['readOnly'] !== true && (!isRecord(schema) || schema['readOnly'] !== true);
  });
  const properties = new Map(kept);
  return { properties, required: new Set([...found.required].filter((name) => properties.has(name))) };
};

const MOST_LEVELS = 4;

/** Whether a file is among the members of a schema, in one of the ways that it combines. */
const holdsFile = (root: JsonRecord, source: unknown, level: number): boolean => {
  if (!isRecord(source) || level > MOST_LEVELS) return false;
  const schema = followReferences(root, source);
  const parts = ['allOf', 'anyOf', 'oneOf'].flatMap((word) => listAt(schema, word));
  return (
    Object.values(recordAt(schema, 'properties')).some((member) => toFileKind(root, member) !== null) ||
    parts.some((part) => holdsFile(root, part, level + 1))
  );
};

const NOTHING = { fallbacks: new Map<string, unknown>(), fixed: new Map<string, unknown>(), files: new Set<string>() };

const toOwnArguments = ({ properties, required }: Members, whole: Whole, options: BodyOptions): RequestBody => {
  const members = [...properties].map(([name, source]) =>
    toMember({ name, source, isRequired: required.has(name) }, whole.kind, options),
  );
  const offered = members.filter((member) => member.rule === null);
  return {
    ...whole,
    argument: null,
    arguments: new Map(offered.map(({ name, schema }) => [name, schema])),
    requiredArguments: offered.filter((member) => member.required).map(({ name }) => name),
    fallbacks: new Map(
      members.flatMap(({ name, fallback }) => (fallback === undefined ? [] : [[name, fallback] as const])),
    ),
    fixed: new Map(members.flatMap(({ name, rule }) => (rule?.kind === 'value' ? [[name, rule.value] as const] : []))),
    files: new Set(members.filter((member) => member.file !== null).map(({ name }) => name)),
  };
};

type DocumentedMember = { readonly name: string; readonly source: unknown; readonly isRequired: boolean };

const toMember = ({ name, source, isRequired }: DocumentedMember, kind: BodyKind, options: BodyOptions) => {
  const { root, schemas, uploads, set } = options;
  const file = kind === 'multipart' ? toFileKind(root, source) : null;
  const schema = file === null ? schemas.toSchema(source) : toFileSchema(file, uploads, source);
  const demand = toDemand(isRequired, schema, schemas);
  const rule = set.find(name, 'body');
  if (rule?.kind === 'hidden' && demand.required) throw new OperationProblem(hiddenProblem(name));
  return { name, file, schema, rule, ...demand };
};

/** Why an operation that must have what the settings keep from it is unavailable. */
export const hiddenProblem = (name: string): string =>
  `Its parameter ${name.slice(0, 100)} is required, but the settings hide it without a value.`;

const nameOfBody = (taken: ReadonlySet<string>): string =>
  ['body', 'request_body', 'request_body_2'].find((name) => !taken.has(name)) ?? 'the_request_body';

/** A multipart body whose members cannot stand by themselves: one argument that has them. */
const toOneOfMembers = (members: Members, whole: Whole, options: BodyOptions): RequestBody => {
  const own = toOwnArguments(members, whole, options);
  const argument = nameOfBody(options.taken);
  const schema: JsonSchema = {
    type: 'object',
    properties: Object.fromEntries(own.arguments),
    ...(own.requiredArguments.length === 0 ? {} : { required: own.requiredArguments }),
    additionalProperties: false,
  };
  return {
    ...own,
    argument,
    arguments: new Map([[argument, schema]]),
    requiredArguments: whole.required ? [argument] : [],
  };
};

const toOneArgument = (
  source: unknown,
  whole: Whole,
  { root, schemas, taken, uploads, set }: BodyOptions,
): RequestBody => {
  const argument = nameOfBody(taken);
  const { fixed, left } = set.splitBody(root, source);
  const schema = toBodySchema(whole.kind, left, { schemas, uploads });
  return {
    ...whole,
    ...NOTHING,
    fixed,
    argument,
    arguments: new Map([[argument, schema]]),
    requiredArguments: whole.required ? [argument] : [],
  };
};

const toBodySchema = (
  kind: BodyKind,
  source: unknown,
  { schemas, uploads }: Pick<BodyOptions, 'schemas' | 'uploads'>,
): JsonSchema => {
  if (kind === 'binary') return toFileSchema('one', uploads, source);
  return kind === 'text' ? { type: 'string', description: 'The text to send.' } : schemas.toSchema(source);
};

const toEncodings = (content: JsonRecord): ReadonlyMap<string, MemberEncoding> =>
  new Map(
    Object.entries(recordAt(content, 'encoding')).flatMap(([name, encoding]) => {
      const style = isRecord(encoding) ? STYLES.find((known) => known === encoding['style']) : undefined;
      if (style === undefined || !isRecord(encoding)) return [];
      const explode = encoding['explode'];
      return [[name, { style, explode: typeof explode === 'boolean' ? explode : style === 'form' }] as const];
    }),
  );

/** What files a model may send: those whose content it gives, or also files of the workspace. */
type Uploads = 'content' | 'workspace';

/** Whether a member of a multipart body is a file, or a list of files. */
const toFileKind = (root: JsonRecord, source: unknown): 'one' | 'list' | null => {
  if (!isRecord(source)) return null;
  const schema = followReferences(root, source);
  if (isBinary(schema)) return 'one';
  const items = memberOf(schema, 'items');
  return isRecord(items) && isBinary(followReferences(root, items)) ? 'list' : null;
};

// OpenAPI 3.0 says it with `format`, 3.1 with what JSON Schema says of content.
const isBinary = (schema: JsonRecord): boolean =>
  schema['format'] === 'binary' ||
  (textAt(schema, 'contentMediaType') === 'application/octet-stream' && !('contentEncoding' in schema));

const CONTENT = {
  text: { type: 'string', description: 'The content, if it is text.' },
  base64: { type: 'string', description: 'The content in base64, if it is not text.' },
} as const;
const PATH = { path: { type: 'string', description: 'A file of the workspace, by its path.' } } as const;
const NAMES = {
  file_name: { type: 'string', maxLength: 255, description: 'The file name sent to the API.' },
  content_type: { type: 'string', maxLength: 255, description: 'The media type of the content, such as image/png.' },
} as const;

/** What a model gives for a file: exactly one of `text`, `base64` and, where the settings allow it, `path`. */
const toFileSchema = (kind: 'one' | 'list', uploads: Uploads, described: unknown): JsonSchema => {
  const own = isRecord(described) ? toPlainText(textAt(described, 'description') ?? '') : '';
  const ways = uploads === 'workspace' ? 'text, base64 or path' : 'text or base64';
  const description = [own, `A file: give one of ${ways}.`].filter((text) => text !== '').join(' ');
  const one: JsonSchema = {
    type: 'object',
    description,
    properties: { ...CONTENT, ...(uploads === 'workspace' ? PATH : {}), ...NAMES },
    additionalProperties: false,
  };
  return kind === 'one' ? one : { type: 'array', items: one };
};

/** The members of an object schema and which of them must be there. */
type FlatObject = { readonly properties: ReadonlyMap<string, unknown>; readonly required: ReadonlySet<string> };

const MOST_COMBINED_LEVELS = 8;
// With these the members alone do not say what the object is.
const FURTHER_WORDS = ['oneOf', 'if', 'not', 'patternProperties', 'propertyNames', 'dependentSchemas', '$dynamicRef'];

/**
 * The members that can stand beside other arguments, or null where the schema is not a plain object: `allOf` of plain
 * objects is one; `anyOf` makes it none unless its parts only say what is required, which is left to the API; `oneOf`
 * and an object that says it takes any further members make it none.
 */
export const toFlatObject = (root: JsonRecord, source: unknown): FlatObject | null => {
  const joining: Joining = { root, properties: new Map(), required: new Set(), known: new Map() };
  return join(joining, source, 0) ? joining : null;
};

type Joining = {
  readonly root: JsonRecord;
  readonly properties: Map<string, unknown>;
  readonly required: Set<string>;
  /** What was joined: no member can be there twice, and what is open would go on without end. */
  readonly known: Map<JsonRecord, 'open' | 'with_members' | 'without_members'>;
};

/** Joins a part to the others, each part once. False where it cannot be, and then the whole is no plain object. */
const join = (joining: Joining, source: unknown, level: number): boolean => {
  if (level > MOST_COMBINED_LEVELS || !isRecord(source)) return false;
  const schema = followReferences(joining.root, source);
  const { properties, known } = joining;
  const state = known.get(schema);
  if (state !== undefined) return state === 'without_members';
  const before = properties.size;
  known.set(schema, 'open');
  if (!isPlainObject(schema) || !joinOwn(joining, schema)) return false;
  if (!listAt(schema, 'allOf').every((part) => join(joining, part, level + 1))) return false;
  known.set(schema, properties.size > before ? 'with_members' : 'without_members');
  return true;
};

const joinOwn = ({ properties, required }: Joining, schema: JsonRecord): boolean => {
  const own = Object.entries(recordAt(schema, 'properties'));
  if (own.some(([name]) => properties.has(name))) return false;
  for (const [name, property] of own) properties.set(name, property);
  for (const name of textsAt(schema, 'required')) required.add(name);
  return true;
};

/** With a member for every name that is required and that nothing describes: without it no call could succeed. */
const withAllRequired = ({ properties, required }: FlatObject): FlatObject => {
  const undescribed = [...required].filter((name) => !properties.has(name));
  return { properties: new Map([...properties, ...undescribed.map((name) => [name, {}] as const)]), required };
};

const isPlainObject = (schema: JsonRecord): boolean => {
  const isObject = schema['type'] === 'object' || 'properties' in schema || 'allOf' in schema || 'required' in schema;
  const further = schema['additionalProperties'] ?? false;
  return (
    isObject &&
    further === false &&
    (schema['type'] ?? 'object') === 'object' &&
    schema['nullable'] !== true &&
    !FURTHER_WORDS.some((word) => word in schema) &&
    listAt(schema, 'anyOf').every(onlyRequires)
  );
};

const onlyRequires = (alternative: unknown): boolean =>
  isRecord(alternative) && Object.keys(alternative).every((word) => word === 'required');
