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
import { findRule, isPortable, type Part, type PartContext, readExplode, settlePart } from './parameters.ts';
import { toPlainText } from './plain-text.ts';
import { followReferences, OperationProblem } from './references.ts';
import { STYLES, type Styling } from './written-values.ts';

type BodyKind = 'json' | 'form' | 'multipart' | 'text' | 'binary';

/** What a request carries as its body, and which arguments it is made of. */
export type RequestBody = {
  readonly kind: BodyKind;
  /** The Content-Type, without a boundary. */
  readonly media: string;
  readonly required: boolean;
  /** The one argument that is the whole body; null = each member is an argument of its own. */
  readonly whole: Part | null;
  /** With `whole`, only those that are files, that have a default, or that the settings give. */
  readonly members: readonly Part[];
  /** How members of a form are written where the document says so. */
  readonly encodings: ReadonlyMap<string, Pick<Styling, 'style' | 'explode'>>;
};

const KINDS: readonly (readonly [RegExp, BodyKind])[] = [
  [/^application\/json$/, 'json'],
  [/^(\*\/\*|application\/\*)$|^[\w.-]+\/([\w.-]+\+)?json(-patch)?$/, 'json'],
  [/^application\/x-www-form-urlencoded$/, 'form'],
  [/^multipart\/form-data$/, 'multipart'],
  [/^text\/[\w.+*-]+$/, 'text'],
  [/^application\/(octet-stream|pdf|zip|x-tar|gzip|x-gzip|dicom)$|^(image|audio|video)\/[\w.+*-]+$/, 'binary'],
];

/**
 * Reads what an operation takes as its body, null where it takes none. `used`: the names of the arguments that are
 * parameters. Throws an OperationProblem for media we cannot write.
 */
export const readRequestBody = (
  operation: JsonRecord,
  used: ReadonlySet<string>,
  context: PartContext,
): RequestBody | null => {
  if (memberOf(operation, 'requestBody') === undefined) return null;
  const source = followReferences(context.root, operation['requestBody']);
  const contents = recordAt(source, 'content');
  const required = source['required'] === true;
  const chosen = chooseMedia(context.root, contents);
  if (chosen === null) return refuseMedia(Object.keys(contents), required);
  const { content, kind } = chosen;
  const schema = memberOf(content, 'schema');
  const body = { kind, media: toSentMedia(chosen.media, kind), required, encodings: readEncodings(content) };
  const members = ['text', 'binary'].includes(kind) ? null : readOwnMembers(schema, kind, context);
  const argument = canStandAlone(members, required, used) ? null : nameOfBody(used);
  if (members !== null && (argument === null || kind === 'multipart')) {
    const parts = members.flatMap((member) => readMember(member, kind, context));
    return { ...body, members: parts, whole: createWhole(argument, required, toArgumentsSchema(parts)) };
  }
  const { left, parts } = splitRuled(schema ?? {}, kind, context);
  return { ...body, members: parts, whole: createWhole(argument, required, convertBody(kind, left, context)) };
};

// Of an optional body all or nothing is sent: beside the others, its required members would seem optional.
const canStandAlone = (members: readonly Member[] | null, isSent: boolean, used: ReadonlySet<string>): boolean =>
  members?.every(({ name, isRequired }) => (isSent || !isRequired) && isPortable(name) && !used.has(name)) === true;

const nameOfBody = (used: ReadonlySet<string>): string =>
  ['body', 'request_body', 'request_body_2'].find((name) => !used.has(name)) ?? 'the_request_body';

const createWhole = (argument: string | null, required: boolean, schema: JsonSchema): Part | null =>
  argument === null
    ? null
    : {
        ...{ name: argument, argument, in: 'body', required, fallback: undefined, schema },
        ...{ style: 'form', explode: true, reserved: 'encode', content: 'plain' },
      };

/** The schema of an object of these arguments, and of nothing else. */
export const toArgumentsSchema = (parts: readonly Part[]): JsonSchema => {
  const shown = parts.flatMap((part) => (part.argument === null ? [] : [{ ...part, argument: part.argument }]));
  const required = shown.filter((part) => part.required).map(({ argument }) => argument);
  return {
    type: 'object',
    properties: Object.fromEntries(shown.map(({ argument, schema }) => [argument, schema])),
    ...(required.length === 0 ? {} : { required }),
    additionalProperties: false,
  };
};

const convertBody = (kind: BodyKind, source: unknown, { schemas, uploads }: PartContext): JsonSchema => {
  if (kind === 'binary') return createFileSchema('one', uploads, source);
  return kind === 'text' ? { type: 'string', description: 'The text to send.' } : schemas.convert(source);
};

/** The first of our kinds that the operation takes; of a form with files, the one that can carry them. */
const chooseMedia = (root: JsonRecord, contents: JsonRecord) => {
  const all = Object.entries(contents).map(([name, content]) => ({
    media: name.split(';', 1)[0]?.trim().toLowerCase() ?? '',
    content: isRecord(content) ? content : {},
  }));
  const known = KINDS.flatMap(([pattern, kind]) =>
    all.filter(({ media }) => pattern.test(media)).map((one) => ({ ...one, kind })),
  );
  const [first = null] = known;
  const multipart = known.find(({ kind }) => kind === 'multipart');
  if (first?.kind !== 'form' || multipart === undefined) return first;
  return holdsFile(root, memberOf(multipart.content, 'schema'), 0) ? multipart : first;
};

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

const readEncodings = (content: JsonRecord): RequestBody['encodings'] =>
  new Map(
    Object.entries(recordAt(content, 'encoding')).flatMap(([name, encoding]) => {
      const style = STYLES.find((candidate) => candidate === memberOf(encoding, 'style'));
      if (style === undefined || !isRecord(encoding)) return [];
      return [[name, { style, explode: readExplode(encoding, style) }] as const];
    }),
  );

/** A member of a body as the document has it. */
type Member = { readonly name: string; readonly source: unknown; readonly isRequired: boolean };

/** Those of a plain object that a request may have; null where the schema is none. */
const readOwnMembers = (schema: unknown, kind: BodyKind, { root }: PartContext): readonly Member[] | null => {
  const flat = flattenObject(root, schema);
  if (flat === null && kind === 'multipart' && holdsFile(root, schema, 0))
    throw new OperationProblem('Its body has a file among alternatives, which is not supported.');
  const isForAnswers = (source: unknown): boolean =>
    isRecord(source) && (source['readOnly'] === true || followReferences(root, source)['readOnly'] === true);
  const members = flat === null ? null : [...flat.properties].filter(([, source]) => !isForAnswers(source));
  return members?.map(([name, source]) => ({ name, source, isRequired: flat?.required.has(name) === true })) ?? null;
};

const readMember = ({ name, source, isRequired }: Member, kind: BodyKind, context: PartContext): readonly Part[] => {
  const file = kind === 'multipart' ? findFileKind(context.root, source) : null;
  return settlePart(
    {
      ...{ name, in: 'body', required: isRequired, style: 'form', explode: true, reserved: 'encode' },
      content: file === null ? 'plain' : 'file',
      schema: file === null ? context.schemas.convert(source) : createFileSchema(file, context.uploads, source),
    },
    context,
  );
};

/** Of a body that is one argument: the members that the settings set, and its schema without them. */
const splitRuled = (source: unknown, kind: BodyKind, context: PartContext) => {
  const schema = context.rules.length > 0 && isRecord(source) ? followReferences(context.root, source) : {};
  const members = Object.entries(recordAt(schema, 'properties'));
  const isRuled = (name: string): boolean => findRule(context.rules, name, 'body') !== undefined;
  const ruled = members.filter(([name]) => isRuled(name));
  if (ruled.length === 0) return { left: source, parts: [] };
  const required = textsAt(schema, 'required');
  return {
    left: {
      ...schema,
      properties: Object.fromEntries(members.filter(([name]) => !isRuled(name))),
      required: required.filter((name) => !isRuled(name)),
    },
    parts: ruled.flatMap(([name, member]) =>
      readMember({ name, source: member, isRequired: required.includes(name) }, kind, context),
    ),
  };
};

const MOST_LEVELS = 4;

/** Whether a file is among the members of a schema, in one of the ways that it combines. */
const holdsFile = (root: JsonRecord, source: unknown, level: number): boolean => {
  if (!isRecord(source) || level > MOST_LEVELS) return false;
  const schema = followReferences(root, source);
  const parts = ['allOf', 'anyOf', 'oneOf'].flatMap((word) => listAt(schema, word));
  return (
    Object.values(recordAt(schema, 'properties')).some((member) => findFileKind(root, member) !== null) ||
    parts.some((part) => holdsFile(root, part, level + 1))
  );
};

/** Whether a member of a multipart body is a file, or a list of files. */
const findFileKind = (root: JsonRecord, source: unknown): 'one' | 'list' | null => {
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

const FILE_MEMBERS = {
  text: { type: 'string', description: 'The content, if it is text.' },
  base64: { type: 'string', description: 'The content in base64, if it is not text.' },
  path: { type: 'string', description: 'A file of the workspace, by its path.' },
  file_name: { type: 'string', maxLength: 255, description: 'The file name sent to the API.' },
  content_type: { type: 'string', maxLength: 255, description: 'The media type of the content, such as image/png.' },
} as const;

/** What a model gives for a file: exactly one of `text`, `base64` and, where the settings allow it, `path`. */
const createFileSchema = (kind: 'one' | 'list', uploads: PartContext['uploads'], described: unknown): JsonSchema => {
  const own = isRecord(described) ? toPlainText(textAt(described, 'description') ?? '') : '';
  const { path, ...content } = FILE_MEMBERS;
  const one: JsonSchema = {
    type: 'object',
    description:
      `${own} A file: give one of ${uploads === 'workspace' ? 'text, base64 or path' : 'text or base64'}.`.trim(),
    properties: uploads === 'workspace' ? FILE_MEMBERS : content,
    additionalProperties: false,
  };
  return kind === 'one' ? one : { type: 'array', items: one };
};

/** The members of an object schema and which of them must be there. */
type FlatObject = { readonly properties: ReadonlyMap<string, unknown>; readonly required: ReadonlySet<string> };

const MOST_COMBINED = 256;
// With these the members alone do not say what the object is.
const FURTHER_WORDS = ['oneOf', 'if', 'not', 'patternProperties', 'propertyNames', 'dependentSchemas', '$dynamicRef'];

/**
 * The members that can stand beside other arguments, or null where the schema is not a plain object: `allOf` of plain
 * objects is one, with each part once; `anyOf` makes it none unless its parts only say what is required, which is left to
 * the API; `oneOf`, two parts with one member, no member at all and an object that says it takes any further members make
 * it none. A name that is required and that nothing describes is a member, too: without it no call could succeed.
 */
export const flattenObject = (root: JsonRecord, source: unknown): FlatObject | null => {
  const parts = listParts(root, source);
  const members = (parts ?? []).flatMap((part) => Object.entries(recordAt(part, 'properties')));
  const required = new Set(parts?.flatMap((part) => textsAt(part, 'required')));
  const properties = new Map(members);
  if (parts === null || properties.size < members.length) return null;
  for (const name of required) if (!properties.has(name)) properties.set(name, {});
  return properties.size === 0 ? null : { properties, required };
};

/** The objects that `allOf` joins, in their order and each once; null where one of them is no plain object. */
const listParts = (root: JsonRecord, source: unknown): readonly JsonRecord[] | null => {
  const parts = new Set<JsonRecord>();
  const open = [source];
  while (open.length > 0) {
    const part = open.pop();
    if (!isRecord(part) || parts.size > MOST_COMBINED) return null;
    const schema = followReferences(root, part);
    if (!isPlainObject(schema)) return null;
    if (!parts.has(schema)) open.push(...listAt(schema, 'allOf').toReversed());
    parts.add(schema);
  }
  return [...parts];
};

const isPlainObject = (schema: JsonRecord): boolean =>
  ['type', 'properties', 'allOf', 'required'].some((word) => word in schema) &&
  (schema['additionalProperties'] ?? false) === false &&
  (schema['type'] ?? 'object') === 'object' &&
  schema['nullable'] !== true &&
  !FURTHER_WORDS.some((word) => word in schema) &&
  listAt(schema, 'anyOf').every((part) => isRecord(part) && Object.keys(part).every((word) => word === 'required'));
