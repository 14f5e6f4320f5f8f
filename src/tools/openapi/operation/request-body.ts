import type { JsonSchema } from '../../../contract/tool-description.ts';
import { isRecord, type JsonRecord, memberOf, recordAt, textAt } from '../document/json-record.ts';
import { followReferences, OperationProblem } from '../document/references.ts';
import type { RequestSchemas } from '../document/request-schema.ts';
import { toFlatObject, withAllRequired } from './flat-object.ts';
import { isPortable, STYLES, type Style, toDemand } from './parameters.ts';

export type BodyKind = 'json' | 'form' | 'multipart' | 'text';
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
  /** What is sent of a required member for which the model gives nothing. */
  readonly fallbacks: ReadonlyMap<string, unknown>;
  readonly encodings: ReadonlyMap<string, MemberEncoding>;
};

const KINDS: readonly (readonly [RegExp, BodyKind])[] = [
  [/^application\/json$/, 'json'],
  [/^(\*\/\*|application\/\*)$|^[\w.-]+\/([\w.-]+\+)?json(-patch)?$/, 'json'],
  [/^application\/x-www-form-urlencoded$/, 'form'],
  [/^multipart\/form-data$/, 'multipart'],
  [/^text\/[\w.+*-]+$/, 'text'],
];

/** Reads what an operation takes as its body, null where it takes none. Throws an OperationProblem for media we cannot write. */
export const toRequestBody = (
  root: JsonRecord,
  operation: JsonRecord,
  schemas: RequestSchemas,
  taken: ReadonlySet<string>,
): RequestBody | null => {
  if (memberOf(operation, 'requestBody') === undefined) return null;
  const source = followReferences(root, operation['requestBody']);
  const contents = recordAt(source, 'content');
  const required = source['required'] === true;
  const [chosen] = KINDS.flatMap(([pattern, kind]) =>
    Object.keys(contents).flatMap((media) => (pattern.test(toMedia(media)) ? [{ media, kind }] : [])),
  );
  if (chosen === undefined) return refuseMedia(Object.keys(contents), required);
  const content = recordAt(contents, chosen.media);
  const whole = {
    kind: chosen.kind,
    media: toSentMedia(toMedia(chosen.media), chosen.kind),
    required,
    encodings: toEncodings(content),
  };
  const members = chosen.kind === 'text' ? null : toMembers(root, content, chosen.kind);
  const fits = members !== null && [...members.properties.keys()].every((name) => isPortable(name) && !taken.has(name));
  // Of an optional body all or nothing is sent: beside the others, its required members would seem optional.
  if (members !== null && fits && (required || members.required.size === 0))
    return { ...whole, ...toOwnArguments(members, schemas) };
  return { ...whole, ...toOneArgument(content, whole, schemas, taken) };
};

const toMedia = (media: string): string => media.split(';', 1)[0]?.trim().toLowerCase() ?? '';

const toSentMedia = (media: string, kind: BodyKind): string => {
  if (!media.includes('*')) return media;
  return kind === 'json' ? 'application/json' : 'text/plain';
};

const refuseMedia = (media: readonly string[], required: boolean): null => {
  if (!required && media.length === 0) return null;
  throw new OperationProblem(
    `It takes a body of ${media.join(', ').slice(0, 200) || 'no known media type'}, which cannot be written here.`,
  );
};

type Members = { readonly properties: ReadonlyMap<string, unknown>; readonly required: ReadonlySet<string> };

const toMembers = (root: JsonRecord, content: JsonRecord, kind: BodyKind): Members | null => {
  const flat = toFlatObject(root, memberOf(content, 'schema'));
  if (flat === null) return null;
  const found = withAllRequired(flat);
  // An object of which nothing is said takes any members: the model gives all of it.
  if (found.properties.size === 0) return null;
  const kept = [...found.properties].filter(([name, schema]) => {
    const resolved = isRecord(schema) ? followReferences(root, schema) : {};
    const isFile = kind === 'multipart' && holdsFile(root, resolved);
    if (isFile && found.required.has(name))
      throw new OperationProblem(`Its member ${name} is a file, which cannot be sent from here.`);
    return !isFile && resolved['readOnly'] !== true && (!isRecord(schema) || schema['readOnly'] !== true);
  });
  const properties = new Map(kept);
  return { properties, required: new Set([...found.required].filter((name) => properties.has(name))) };
};

const holdsFile = (root: JsonRecord, schema: JsonRecord): boolean => {
  const items = memberOf(schema, 'items');
  return (
    schema['format'] === 'binary' ||
    textAt(schema, 'contentMediaType') === 'application/octet-stream' ||
    (isRecord(items) && followReferences(root, items)['format'] === 'binary')
  );
};

const toOwnArguments = ({ properties, required }: Members, schemas: RequestSchemas) => {
  const members = new Map([...properties].map(([name, schema]) => [name, schemas.toSchema(schema)]));
  const demands = [...members].map(([name, schema]) => [name, toDemand(required.has(name), schema, schemas)] as const);
  return {
    argument: null,
    arguments: members,
    requiredArguments: demands.filter(([, demand]) => demand.required).map(([name]) => name),
    fallbacks: new Map(demands.flatMap(([name, { fallback }]) => (fallback === undefined ? [] : [[name, fallback]]))),
  };
};

const toOneArgument = (
  content: JsonRecord,
  { kind, required }: Pick<RequestBody, 'kind' | 'required'>,
  schemas: RequestSchemas,
  taken: ReadonlySet<string>,
) => {
  const argument = ['body', 'request_body', 'request_body_2'].find((name) => !taken.has(name)) ?? 'the_request_body';
  const source = memberOf(content, 'schema') ?? {};
  const schema = kind === 'text' ? { type: 'string', description: 'The text that is sent.' } : schemas.toSchema(source);
  return {
    argument,
    arguments: new Map([[argument, schema]]),
    requiredArguments: required ? [argument] : [],
    fallbacks: new Map<string, unknown>(),
  };
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
