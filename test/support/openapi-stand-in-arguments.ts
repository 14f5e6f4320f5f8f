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
  const reference = source['$ref'];
  if (typeof reference === 'string') {
    const target = jsonAt(place.root, '$defs', reference.replace('#/$defs/', ''));
    return sampleOf(target, { ...place, level: place.level + 1 });
  }
  const values = [source['const'], [source['enum']].flat().find((value) => value !== null)];
  const given = values.find((value) => value !== undefined);
  return given === undefined ? sampleOfForm(source, place) : given;
};

const sampleOfForm = (source: Json, place: Place): unknown => {
  const ways = [source['oneOf'], source['anyOf']].flat().filter(isJson);
  const [way] = ways.filter((one) => one['type'] !== 'null' && Object.keys(one).some((word) => word !== 'required'));
  const parts = [source['allOf']].flat().filter(isJson);
  if (way !== undefined || parts.length > 0) {
    const own = 'properties' in source ? [sampleOfType(source, place)] : [];
    const all = [...own, ...[way, ...parts].filter(isJson).map((part) => sampleOf(part, place))];
    return all.every(isJson) ? Object.assign({}, ...all) : all.at(-1);
  }
  return sampleOfType(source, place);
};

const sampleOfType = (schema: Json, place: Place): unknown => {
  const type = [schema['type']].flat().find((one) => one !== 'null') ?? ('properties' in schema ? 'object' : 'string');
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
  if (typeof format === 'string' && format in FORMATS) return FORMATS[format] ?? '';
  if (typeof pattern === 'string')
    return fc.sample(fc.stringMatching(new RegExp(pattern, 'u')), { seed: SEED, numRuns: 1 })[0] ?? '';
  const least = Number(schema['minLength'] ?? 0);
  return 'text'.padEnd(least, 'x').slice(0, Math.max(Number(schema['maxLength'] ?? 4), least) || 4);
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
  return Object.fromEntries(members.map(([name, member]) => [name, sampleOf(member, deeper)]));
};
