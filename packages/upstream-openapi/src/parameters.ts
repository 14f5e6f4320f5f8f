import { showText } from '@recourse/toolkit-kit/egress/show-url';
import { isRecord, type JsonRecord, listAt, memberOf, recordAt, textAt } from 'recourse-server/contract/json-record';
import type { JsonSchema } from 'recourse-server/contract/tool-description';
import type { OpenApiAuth, ParameterRule } from './openapi-import-settings.ts';
import { toPlainText } from './plain-text.ts';
import { followReferences, OperationProblem } from './references.ts';
import type { RequestSchemas } from './request-schema.ts';

export const STYLES = ['form', 'simple', 'label', 'matrix', 'spaceDelimited', 'pipeDelimited', 'deepObject'] as const;
export type Style = (typeof STYLES)[number];
const PLACES = ['path', 'query', 'header', 'cookie'] as const;
type Place = (typeof PLACES)[number];

/** One parameter: the argument it is taken from, and how it is written into the request (OpenAPI, "Style Values"). */
export type Parameter = {
  readonly name: string;
  /** null: the model is not told of it, and `fallback` is sent. */
  readonly argument: string | null;
  readonly in: Place;
  readonly required: boolean;
  /** What is sent where the model gives nothing: a default, or what the settings say; undefined = nothing. */
  readonly fallback: unknown;
  readonly style: Style;
  readonly explode: boolean;
  readonly reserved: 'encode' | 'keep';
  /** The value is written as JSON text, whatever the style. */
  readonly asJson: boolean;
  readonly schema: JsonSchema;
};

const DEFAULT_STYLE = { path: 'simple', query: 'form', header: 'simple', cookie: 'form' } as const satisfies Record<
  Place,
  Style
>;

// A token (RFC 9110, section 5.1).
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Reads a parameter whose references are followed. Throws an OperationProblem where it cannot be written. */
export const toParameter = (source: JsonRecord, schemas: RequestSchemas): Parameter => {
  const { name, place } = toNamedPlace(source);
  const styleName = textAt(source, 'style') ?? DEFAULT_STYLE[place];
  const style = STYLES.find((candidate) => candidate === styleName);
  if (style === undefined) throw new OperationProblem(`Its parameter ${name} has an unknown style, ${styleName}.`);
  const explode = source['explode'];
  const [content] = Object.entries(recordAt(source, 'content'));
  const schema = schemas.toSchema(toParameterSchema(source, content?.[1]));
  if (place === 'path') checkSendable(name, schema, schemas);
  const own = toPlainText(textAt(source, 'description') ?? '');
  const description = own === '' ? schema['description'] : own;
  return {
    name,
    argument: name,
    in: place,
    ...toDemand(place === 'path' || source['required'] === true, schema, schemas),
    style,
    explode: typeof explode === 'boolean' ? explode : style === 'form',
    reserved: source['allowReserved'] === true ? 'keep' : 'encode',
    asJson: content !== undefined && /json/i.test(content[0]),
    schema: description === undefined ? schema : { ...schema, description },
  };
};

/** What has a default is not demanded of the model: where the API demands it, the default is sent. */
export const toDemand = (
  isRequired: boolean,
  schema: JsonSchema,
  schemas: RequestSchemas,
): { readonly required: boolean; readonly fallback: unknown } => {
  const fallback = isRequired ? schemas.defaultOf(schema) : undefined;
  return { required: isRequired && fallback === undefined, fallback };
};

// A path has no room for nothing.
const checkSendable = (name: string, schema: JsonSchema, schemas: RequestSchemas): void => {
  if (schemas.isForEmptyObjects(schema))
    throw new OperationProblem(`Its path parameter ${name} has no value that a request can contain.`);
};

const toNamedPlace = (source: JsonRecord): { readonly name: string; readonly place: Place } => {
  const name = textAt(source, 'name');
  const place = PLACES.find((candidate) => candidate === source['in']);
  if (name === undefined || place === undefined)
    throw new OperationProblem(`It has a parameter without a name, or in an unknown place (${String(source['in'])}).`);
  if (place === 'header' && !HEADER_NAME.test(name))
    throw new OperationProblem(`Its header parameter '${showText(name)}' has an invalid header name.`);
  return { name, place };
};

const toParameterSchema = (source: JsonRecord, content: unknown): unknown => {
  if (typeof content === 'object' && content !== null && 'schema' in content) return content.schema;
  return memberOf(source, 'schema') ?? {};
};

/**
 * Gives each parameter an argument of its own: where two would share a name, the later is called `{name}_{in}`, and
 * where that is taken, too, `{name}_{in}_2` and so on.
 */
export const withDistinctArguments = (parameters: readonly Parameter[]): readonly Parameter[] => {
  const sorted = parameters.toSorted((a, b) => PLACES.indexOf(a.in) - PLACES.indexOf(b.in));
  const taken = new Set<string>();
  return sorted.map((parameter) => {
    if (parameter.argument === null) return parameter;
    const own = toArgumentName(parameter.name);
    const argument = taken.has(own) ? toFreeName(`${own}_${parameter.in}`, taken) : own;
    taken.add(argument);
    return { ...parameter, argument };
  });
};

const toFreeName = (stem: string, taken: ReadonlySet<string>): string => {
  let name = stem;
  for (let count = 2; taken.has(name); count += 1) name = `${stem}_${count}`;
  return name;
};

/** Whether every provider takes an argument of this name: for another one Anthropic refuses all tools of a request. */
export const isPortable = (name: string): boolean => /^[A-Za-z0-9_.-]{1,64}$/.test(name);

/** `filter[status]` → `filter_status`, `$top` → `top`, `DateSent<` → `DateSent_lt`, `DateSent>` → `DateSent_gt`. */
const toArgumentName = (name: string): string => {
  if (isPortable(name)) return name;
  const plain = name
    .replaceAll('<', '_lt')
    .replaceAll('>', '_gt')
    .replace(/[^A-Za-z0-9_.-]+/g, '_')
    .replace(/^_+|_+$/g, '')
    .slice(0, 50);
  return plain === '' ? 'parameter' : plain;
};

/** Where an operation is: its path, and what is always asked behind it, both with `{placeholders}`. */
export type PathTemplate = {
  readonly path: string;
  /** '' = nothing. */
  readonly query: string;
};

/** `/a?b=c#d`: the path, what stands behind its `?`, and no fragment: that only tells two operations of a document apart. */
export const toPathTemplate = (text: string): PathTemplate => {
  const [whole = '', fragment = ''] = text.split('#', 2);
  // A path goes on behind it: what that is to be is not known.
  if (/[/{]/.test(fragment)) throw new OperationProblem(`Its path ${text.slice(0, 200)} cannot be requested.`);
  const [path = ''] = whole.split('?', 1);
  return { path, query: whole.slice(path.length + 1) };
};

/**
 * Which of the two says it where the path and a parameter of the query have one name: `?action=list` is always sent, and
 * the parameter is no argument; of `?id={id}` the parameter is.
 */
export const settleQuery = (
  { path, query }: PathTemplate,
  parameters: readonly Parameter[],
): PathTemplate & { readonly parameters: readonly Parameter[] } => {
  const names = new Set(parameters.filter((one) => one.in === 'query').map(({ name }) => name));
  const pairs = query.split('&').filter((pair) => !(names.has(nameOf(pair)) && /=\{[^{}]*\}$/.test(pair)));
  const fixed = new Set(pairs.map(nameOf));
  const isNeeded = (one: Parameter): boolean =>
    one.in === 'path'
      ? `${path}?${pairs.join('&')}`.includes(`{${one.name}}`)
      : one.in !== 'query' || !fixed.has(one.name);
  return { path, query: pairs.join('&'), parameters: parameters.filter(isNeeded) };
};

const nameOf = (pair: string): string => pair.split('=', 1)[0] ?? '';

/** Throws an OperationProblem where no request can be made of it. */
export const checkTemplate = ({ path, query }: PathTemplate, parameters: readonly Parameter[]): void => {
  const literal = path.replace(/\{[^{}]*\}/g, 'x');
  if (/[\\{}]/.test(literal) || literal.split('/').some((segment) => /^(\.|%2e){1,2}$/i.test(segment)))
    throw new OperationProblem(`Its path ${path.slice(0, 200)} cannot be requested.`);
  for (const [, name] of `${path}?${query}`.matchAll(/\{([^{}]*)\}/g))
    if (!parameters.some((parameter) => parameter.in === 'path' && parameter.name === name))
      throw new OperationProblem(`Its path contains {${name}}, but it has no such parameter.`);
};

/** What the settings say of one parameter, or member of a body: always this value, or never anything. */
type SetParameter = { readonly kind: 'value'; readonly value: unknown } | { readonly kind: 'hidden' };

/** What the settings say of the parameters of one operation; the model is told of none of them. */
export type SetParameters = {
  readonly find: (name: string, place: Place | 'body') => SetParameter | null;
  /** Of a body that is one argument: what is always sent of it, and its schema without those members and the hidden ones. */
  readonly splitBody: (
    root: JsonRecord,
    source: unknown,
  ) => { readonly fixed: ReadonlyMap<string, unknown>; readonly left: unknown };
};

/** The first rule that names a parameter and its place counts. `rules`: those that fit the operation. */
export const createSetParameters = (rules: readonly ParameterRule[]): SetParameters => {
  const find: SetParameters['find'] = (name, place) => {
    const rule = rules.find((one) => isNamed(one, name, place) && (one.in ?? place) === place);
    if (rule === undefined) return null;
    return rule.hidden === true ? { kind: 'hidden' } : { kind: 'value', value: rule.value };
  };
  return {
    find,
    splitBody: (root, source) => {
      const schema = rules.length > 0 && isRecord(source) ? followReferences(root, source) : {};
      const members = Object.entries(recordAt(schema, 'properties')).map(
        ([name, member]) => ({ name, member, rule: find(name, 'body') }) as const,
      );
      const set = members.filter(({ rule }) => rule !== null);
      if (set.length === 0) return { fixed: new Map(), left: source };
      const fixed = set.flatMap(({ name, rule }) => (rule?.kind === 'value' ? [[name, rule.value] as const] : []));
      const left = members.filter(({ rule }) => rule === null).map(({ name, member }) => [name, member]);
      const required = listAt(schema, 'required').filter((name) => !set.some((one) => one.name === name));
      return { fixed: new Map(fixed), left: { ...schema, properties: Object.fromEntries(left), required } };
    },
  };
};

const isNamed = ({ name }: ParameterRule, given: string, place: Place | 'body'): boolean =>
  place === 'header' ? name.toLowerCase() === given.toLowerCase() : name === given;

// Set by the client, or never by anyone (OpenAPI: "Accept, Content-Type or Authorization … shall be ignored").
const OWN_HEADERS: ReadonlySet<string> = new Set([
  ...['accept', 'accept-encoding', 'authorization', 'connection', 'content-length', 'content-type', 'cookie', 'expect'],
  ...['host', 'http2-settings', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'user-agent', 'via'],
  ...['cookie2', 'set-cookie', 'set-cookie2'],
  ...['traceparent', 'tracestate', 'baggage', 'forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto'],
]);

/** `header x-api-key`: headers are the same in any case, the others are not. */
const toPlaceKey = (place: string, name: string): string =>
  `${place} ${place === 'header' ? name.toLowerCase() : name}`;

/** The parameters that carry credentials: those that the settings fill, and those that the document calls API keys. */
export const toCredentialKeys = (root: JsonRecord, auth: OpenApiAuth | undefined): ReadonlySet<string> => {
  const schemes = Object.values(recordAt(recordAt(root, 'components'), 'securitySchemes')).filter(isRecord);
  const documented = schemes
    .filter((scheme) => scheme['type'] === 'apiKey')
    .map((scheme) => toPlaceKey(textAt(scheme, 'in') ?? '', textAt(scheme, 'name') ?? ''));
  return new Set([...documented, ...toFilledKeys(auth)]);
};

const toFilledKeys = (auth: OpenApiAuth | undefined): readonly string[] => {
  if (auth?.type === 'apiKey') return [toPlaceKey(auth.in, auth.name)];
  return auth?.type === 'headers' ? Object.keys(auth.headers).map((name) => toPlaceKey('header', name)) : [];
};

/** Whether a parameter is none of the model's business: credentials, or what the client itself writes. */
export const isWithheld = (place: string, name: string, credentials: ReadonlySet<string>): boolean =>
  credentials.has(toPlaceKey(place, name)) || (place === 'header' && isOwnHeader(name.toLowerCase()));

const isOwnHeader = (name: string): boolean => OWN_HEADERS.has(name) || name.startsWith('proxy-');
