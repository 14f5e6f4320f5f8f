import type { JsonSchema } from '../../../contract/tool-description.ts';
import { showText } from '../../http/show-url.ts';
import { type JsonRecord, memberOf, recordAt, textAt } from '../document/json-record.ts';
import { toPlainText } from '../document/plain-text.ts';
import { OperationProblem } from '../document/references.ts';
import type { RequestSchemas } from '../document/request-schema.ts';

export const STYLES = ['form', 'simple', 'label', 'matrix', 'spaceDelimited', 'pipeDelimited', 'deepObject'] as const;
export type Style = (typeof STYLES)[number];
export const PLACES = ['path', 'query', 'header', 'cookie'] as const;
export type Place = (typeof PLACES)[number];

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
  const fallback = isRequired ? (schemas.defaultOf(schema) ?? undefined) : undefined;
  return { required: isRequired && fallback === undefined, fallback };
};

// A path has no room for nothing.
const checkSendable = (name: string, schema: JsonSchema, schemas: RequestSchemas): void => {
  if (schemas.isForEmptyObjects(schema))
    throw new OperationProblem(`Its parameter ${name} of the path has no value that a request may hold.`);
};

const toNamedPlace = (source: JsonRecord): { readonly name: string; readonly place: Place } => {
  const name = textAt(source, 'name');
  const place = PLACES.find((candidate) => candidate === source['in']);
  if (name === undefined || place === undefined)
    throw new OperationProblem(`It has a parameter without a name, or in an unknown place (${String(source['in'])}).`);
  if (place === 'header' && !HEADER_NAME.test(name))
    throw new OperationProblem(`Its header parameter '${showText(name)}' has a name that no header can have.`);
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
