import { showText } from '@recourse/toolkit-kit/egress/show-url';
import { isRecord, type JsonRecord, memberOf, recordAt, textAt } from 'recourse-server/contract/json-record';
import type { JsonSchema } from 'recourse-server/contract/tool-description';
import { isClientHeader } from 'recourse-server/tools/tool-override';
import type { OpenApiAuth, OpenApiImportSettings, ParameterRule } from './openapi-import-settings.ts';
import { toPlainText } from './plain-text.ts';
import { OperationProblem } from './references.ts';
import type { RequestSchemas } from './request-schema.ts';
import { hasDotSegment, STYLES, type Styling } from './written-values.ts';

const PLACES = ['path', 'query', 'header', 'cookie'] as const;
const ORDER: readonly string[] = PLACES;

/**
 * One part of a request, a parameter or a member of its body: the argument it is taken from, and how a parameter is
 * written (OpenAPI, "Style Values"). A member of a body is written as the body is.
 */
export type Part = Omit<Styling, 'encode'> & {
  /** null: the model is not told of it, and `fallback` is always sent. */
  readonly argument: string | null;
  readonly in: (typeof PLACES)[number] | 'body';
  readonly required: boolean;
  /** What is sent where the model gives nothing: a default, or what the settings say; undefined = nothing. */
  readonly fallback: unknown;
  readonly reserved: 'encode' | 'keep';
  /** A parameter is JSON text, whatever its style; a member of a multipart body is a file. */
  readonly content: 'plain' | 'json' | 'file';
  readonly schema: JsonSchema;
};

/** What the parts of one operation are read with. */
export type PartContext = Pick<OpenApiImportSettings, 'uploads'> & {
  readonly root: JsonRecord;
  readonly schemas: RequestSchemas;
  /** Those that fit the operation. */
  readonly rules: readonly ParameterRule[];
};

const DEFAULT_STYLE = { path: 'simple', query: 'form', header: 'simple', cookie: 'form' } as const;

// A token (RFC 9110, section 5.1).
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/**
 * A parameter whose references are followed, as the settings want it; none where they leave it out. Throws an
 * OperationProblem where it cannot be written.
 */
export const readParameter = (source: JsonRecord, context: PartContext): readonly Part[] => {
  const { name, place } = readNameAndPlace(source);
  const style = readStyle(source, name, DEFAULT_STYLE[place]);
  const [media = '', content] = Object.entries(recordAt(source, 'content'))[0] ?? [];
  const schema = context.schemas.convert(memberOf(content, 'schema') ?? memberOf(source, 'schema') ?? {});
  if (place === 'path' && context.schemas.isForEmptyObjects(schema))
    throw new OperationProblem(`Its path parameter ${name} has no value that a request can contain.`);
  const text = toPlainText(textAt(source, 'description') ?? '');
  return settlePart(
    {
      ...{ name, in: place, style, explode: readExplode(source, style) },
      required: place === 'path' || source['required'] === true,
      reserved: source['allowReserved'] === true ? 'keep' : 'encode',
      content: /json/i.test(media) ? 'json' : 'plain',
      schema: text === '' ? schema : { ...schema, description: text },
    },
    context,
  );
};

const readNameAndPlace = (source: JsonRecord) => {
  const name = textAt(source, 'name');
  const place = PLACES.find((candidate) => candidate === source['in']);
  if (name === undefined || place === undefined)
    throw new OperationProblem(`It has a parameter without a name, or in an unknown place (${String(source['in'])}).`);
  if (place === 'header' && !HEADER_NAME.test(name))
    throw new OperationProblem(`Its header parameter '${showText(name)}' has an invalid header name.`);
  return { name, place };
};

const readStyle = (source: JsonRecord, name: string, usual: Styling['style']): Styling['style'] => {
  const written = textAt(source, 'style') ?? usual;
  const style = STYLES.find((candidate) => candidate === written);
  if (style === undefined) throw new OperationProblem(`Its parameter ${name} has an unknown style, ${written}.`);
  return style;
};

export const readExplode = (source: JsonRecord, style: Styling['style']): boolean => {
  const explode = source['explode'];
  return typeof explode === 'boolean' ? explode : style === 'form';
};

/**
 * The part as the settings want it; none where they leave it out. What has a default is not demanded of the model: where
 * the API demands it, the default is sent. Throws an OperationProblem where the settings hide what a request must have.
 */
export const settlePart = (
  part: Omit<Part, 'argument' | 'fallback'>,
  { schemas, rules }: PartContext,
): readonly Part[] => {
  const fallback = part.required ? schemas.defaultOf(part.schema) : undefined;
  const settled: Part = { ...part, argument: part.name, required: part.required && fallback === undefined, fallback };
  const rule = findRule(rules, part.name, part.in);
  if (rule === undefined) return [settled];
  if (rule.hidden !== true) return [{ ...settled, argument: null, required: false, fallback: rule.value }];
  if (settled.required)
    throw new OperationProblem(
      `Its parameter ${part.name.slice(0, 100)} is required, but the settings hide it without a value.`,
    );
  return fallback === undefined ? [] : [{ ...settled, argument: null }];
};

/** The first rule of the settings that names a part and its place. */
export const findRule = (rules: readonly ParameterRule[], name: string, place: Part['in']): ParameterRule | undefined =>
  rules.find((rule) => placeKey(place, rule.name) === placeKey(place, name) && (rule.in ?? place) === place);

/**
 * Gives each parameter an argument of its own: where two would share a name, the later is called `{name}_{in}`, and
 * where that is taken, too, `{name}_{in}_2` and so on.
 */
export const nameArguments = (parameters: readonly Part[]): readonly Part[] => {
  const used = new Set<string>();
  return parameters
    .toSorted((a, b) => ORDER.indexOf(a.in) - ORDER.indexOf(b.in))
    .map((parameter) => {
      if (parameter.argument === null) return parameter;
      const own = toArgumentName(parameter.name);
      let argument = own;
      for (let count = 1; used.has(argument); count += 1)
        argument = `${own}_${parameter.in}${count === 1 ? '' : `_${count}`}`;
      used.add(argument);
      return { ...parameter, argument };
    });
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

/**
 * Where an operation is, both with `{placeholders}`: its path, and the query that is sent behind it with each call. A
 * fragment only tells two operations of a document apart. Of the query and a parameter of one name one counts:
 * `?action=list` is always sent, and the parameter is no argument; of `?id={id}` the parameter is. Throws an
 * OperationProblem where no request can be made of it.
 */
export const readTemplate = (text: string, all: readonly Part[]) => {
  const [whole = '', fragment = ''] = text.split('#', 2);
  const [path = ''] = whole.split('?', 1);
  const literal = path.replace(/\{[^{}]*\}/g, 'x');
  // A path that goes on behind its fragment cannot be requested either.
  if (/[/{]/.test(fragment) || /[\\{}]/.test(literal) || hasDotSegment(literal))
    throw new OperationProblem(`Its path ${text.slice(0, 200)} cannot be requested.`);
  const names = new Set(all.filter((one) => one.in === 'query').map(({ name }) => name));
  const pairs = whole
    .slice(path.length + 1)
    .split('&')
    .filter((pair) => !(names.has(nameOf(pair)) && /=\{[^{}]*\}$/.test(pair)));
  const fixed = new Set(pairs.map(nameOf));
  const query = pairs.join('&');
  const placeholders = new Set([...`${path}?${query}`.matchAll(/\{([^{}]*)\}/g)].map(([, name = '']) => name));
  const parameters = all.filter((one) =>
    one.in === 'path' ? placeholders.has(one.name) : one.in !== 'query' || !fixed.has(one.name),
  );
  for (const name of placeholders)
    if (!parameters.some((one) => one.in === 'path' && one.name === name))
      throw new OperationProblem(`Its path contains {${name}}, but it has no such parameter.`);
  return { path, query, parameters };
};

const nameOf = (pair: string): string => pair.split('=', 1)[0] ?? '';

/** `header x-api-key`: headers are the same in any case, the others are not. */
const placeKey = (place: string, name: string): string => `${place} ${place === 'header' ? name.toLowerCase() : name}`;

/** The parameters that carry credentials: those that the settings fill, and those that the document calls API keys. */
export const findCredentialKeys = (root: JsonRecord, auth: OpenApiAuth | undefined): ReadonlySet<string> => {
  const documented = Object.values(recordAt(recordAt(root, 'components'), 'securitySchemes'))
    .filter(isRecord)
    .filter((scheme) => scheme['type'] === 'apiKey')
    .map((scheme) => placeKey(textAt(scheme, 'in') ?? '', textAt(scheme, 'name') ?? ''));
  const own = auth?.type === 'apiKey' ? [placeKey(auth.in, auth.name)] : [];
  const headers = auth?.type === 'headers' ? Object.keys(auth.headers).map((name) => placeKey('header', name)) : [];
  return new Set([...documented, ...own, ...headers]);
};

/** Whether no model is told of a parameter: it carries credentials, or the client itself writes it. */
export const isHidden = (place: string, name: string, credentials: ReadonlySet<string>): boolean =>
  credentials.has(placeKey(place, name)) || (place === 'header' && isClientHeader(name));
