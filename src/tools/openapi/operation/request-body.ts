import type { JsonSchema } from '../../../contract/tool-description.ts';
import { isRecord, type JsonRecord, listAt, memberOf, recordAt } from '../document/json-record.ts';
import { followReferences, OperationProblem } from '../document/references.ts';
import type { RequestSchemas } from '../document/request-schema.ts';
import { toFileKind, toFileSchema, type Uploads } from './file-argument.ts';
import { toFlatObject, withAllRequired } from './flat-object.ts';
import { isPortable, STYLES, type Style, toDemand } from './parameters.ts';
import type { SetParameters } from './set-parameters.ts';

export type BodyKind = 'json' | 'form' | 'multipart' | 'text' | 'binary';
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

export type BodyOptions = {
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
    `It takes a body of ${media.join(', ').slice(0, 200) || 'no known media type'}, which cannot be written here.`,
  );
};

type Members = { readonly properties: ReadonlyMap<string, unknown>; readonly required: ReadonlySet<string> };

const toMembers = (content: JsonRecord, { kind }: Whole, { root }: BodyOptions): Members | null => {
  const flat = toFlatObject(root, memberOf(content, 'schema'));
  if (flat === null && kind === 'multipart' && holdsFile(root, memberOf(content, 'schema'), 0))
    throw new OperationProblem('Its body holds a file among alternatives, which cannot be sent from here.');
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
  `Its parameter ${name.slice(0, 100)} is required, and the settings hide it without a value.`;

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
  return kind === 'text' ? { type: 'string', description: 'The text that is sent.' } : schemas.toSchema(source);
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
