import fc from 'fast-check';
import { isJson, type Json, jsonAt } from './openapi-stand-in-schemas.ts';

/** Which parameters get a value: all, also those that need not be there, or the required ones alone. */
export type Extent = 'all' | 'required';

const MOST_LEVELS = 4;
const SEED = 20_261_121;

/** Arguments that fit a tool's input schema, as far as examples, types and simple rules lead. */
export const toSampleArguments = (schema: Json, extent: Extent): Json => {
  const sample = sampleOf(schema, { root: schema, extent, level: 0 });
  return isJson(sample) ? sample : {};
};

type Place = { readonly root: Json; readonly extent: Extent; readonly level: number };

const FORMATS: Readonly<Record<string, string>> = {
  'date-time': '2026-11-21T12:00:00Z',
  date: '2026-11-21',
  time: '12:00:00Z',
  email: 'someone@example.com',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uri: 'https://example.com/',
  'uri-reference': '/place',
  uuid: '123e4567-e89b-42d3-a456-426614174000',
  byte: 'dGV4dA==',
  duration: 'P1D',
  url: 'https://example.com/',
  'json-pointer': '/a',
  'relative-json-pointer': '1/a',
};

const sampleOf = (source: unknown, place: Place): unknown => {
  if (!isJson(source)) return 'text';
  const joined = joinParts(partsOf(source, place.root, 0));
  const values = [joined['const'], [joined['enum']].flat().find((value) => value !== null)];
  const given = values.find((value) => value !== undefined);
  if (given !== undefined) return given;
  return sampleOfType(joined, '$ref' in source ? { ...place, level: place.level + 1 } : place);
};

const MOST_COMBINED = 8;

/** A schema, the first of its alternatives that is more than a list of names, and all that it combines by `allOf`. */
const partsOf = (source: Json, root: Json, level: number): readonly Json[] => {
  const target = String(source['$ref'] ?? '').replace('#/$defs/', '');
  const own = { ...jsonAt(root, '$defs', target), ...source };
  const ways = [own['oneOf'], own['anyOf']].flat().filter(isJson);
  const [way] = ways.filter((one) => one['type'] !== 'null' && Object.keys(one).some((word) => word !== 'required'));
  const { $ref: next } = jsonAt(root, '$defs', target);
  const others = [typeof next === 'string' ? { $ref: next } : undefined, way, own['allOf']].flat().filter(isJson);
  if (level > MOST_COMBINED) return [own];
  return [own, ...others.flatMap((part) => partsOf(part, root, level + 1))];
};

const joinParts = (parts: readonly Json[]): Json => {
  const properties = Object.assign({}, ...parts.map((part) => jsonAt(part, 'properties')));
  const required = parts.flatMap((part) => [part['required'] ?? []].flat());
  return {
    ...Object.assign({}, ...parts),
    ...(Object.keys(properties).length === 0 ? {} : { properties }),
    ...(required.length === 0 ? {} : { required }),
  };
};

const isObject = (schema: Json): boolean => 'properties' in schema || 'required' in schema;

const sampleOfType = (schema: Json, place: Place): unknown => {
  const type = [schema['type']].flat().find((one) => one !== 'null') ?? (isObject(schema) ? 'object' : 'string');
  switch (type) {
    case 'integer':
    case 'number':
      return numberOf(schema);
    case 'boolean':
      return true;
    case 'array':
      return listOf(schema, place);
    case 'object':
      return objectOf(schema, place);
    default:
      return textOf(schema);
  }
};

const numberOf = (schema: Json): number => {
  const least = Number(
    schema['minimum'] ?? (schema['exclusiveMinimum'] === undefined ? 1 : Number(schema['exclusiveMinimum']) + 1),
  );
  const most = Number(schema['maximum'] ?? schema['exclusiveMaximum'] ?? Number.POSITIVE_INFINITY);
  const step = Number(schema['multipleOf'] ?? 1);
  return Math.min(most, Math.max(least, Math.ceil(least / step) * step));
};

const textOf = (schema: Json): string => {
  const { format, pattern } = schema;
  const [least, most] = [Number(schema['minLength'] ?? 0), Number(schema['maxLength'] ?? Number.POSITIVE_INFINITY)];
  const expression = typeof pattern === 'string' ? toExpression(pattern) : null;
  const fits = (text: string): boolean => {
    const length = [...text].length;
    return length >= least && length <= most && (expression === null || expression.test(text));
  };
  const ofFormat = typeof format === 'string' ? (FORMATS[format] ?? []) : [];
  const ofLength = (text: string): readonly string[] => [
    ...[text, text.padEnd(least, 'x'), text.padEnd(least, '1'), text.slice(0, most)],
  ];
  const simple = [ofFormat, 'text', '1', 'T', '/text'].flat().flatMap(ofLength);
  const [usual = 'text'] = simple;
  const found = simple.find(fits) ?? (expression === null ? [] : generate(expression)).flatMap(ofLength).find(fits);
  return found ?? usual.padEnd(least, 'x').slice(0, Math.max(most, least));
};

const toExpression = (pattern: string): RegExp | null => attempt(() => new RegExp(pattern, 'u'));

// Texts for an expression without what it looks around for: whether one fits all of it is judged by the expression.
const generate = ({ source }: RegExp): readonly string[] =>
  attempt(() => {
    const plain = new RegExp(source.replace(/\(\?<?[=!](?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)/g, ''), 'u');
    return fc.sample(fc.stringMatching(plain, { size: 'small' }), { seed: SEED, numRuns: 40 });
  }) ?? [];

/** null where it is none, or one for which no texts can be made. */
const attempt = <Result>(make: () => Result): Result | null => {
  try {
    return make();
  } catch (thrown) {
    if (thrown instanceof Error) return null;
    throw thrown;
  }
};

const listOf = (schema: Json, place: Place): readonly unknown[] => {
  const least = Number(schema['minItems'] ?? 0);
  const length = place.level >= MOST_LEVELS ? least : Math.max(1, least);
  const inPlace = [schema['prefixItems']].flat().filter(isJson);
  const deeper = { ...place, level: place.level + 1 };
  return Array.from({ length: Math.max(length, inPlace.length) }, (_, index) => {
    const item = sampleOf(inPlace[index] ?? schema['items'] ?? {}, deeper);
    return schema['uniqueItems'] === true && typeof item === 'string' && index > 0 ? `${item}${index}` : item;
  });
};

const objectOf = (schema: Json, place: Place): Json => {
  // Of alternatives that only say what is required the first is taken, and nothing that only the others want.
  const [first, ...others] = [schema['oneOf']]
    .flat()
    .filter(isJson)
    .map((way) => new Set([way['required']].flat()));
  const unwanted = (name: string): boolean => !first?.has(name) && others.some((other) => other.has(name));
  const required = new Set([...[schema['required']].flat(), ...(first ?? [])]);
  const members = Object.entries(jsonAt(schema, 'properties'))
    .filter(([name]) => !unwanted(name))
    .filter(([name]) => required.has(name) || (place.extent === 'all' && place.level < MOST_LEVELS));
  const deeper = { ...place, level: place.level + 1 };
  const missing = Math.max(0, Number(schema['minProperties'] ?? 0) - members.length);
  const further = Array.from(
    { length: missing },
    (_, index) => [`key${index + 1}`, schema['additionalProperties']] as const,
  );
  return Object.fromEntries([...members, ...further].map(([name, member]) => [name, sampleOf(member, deeper)]));
};
