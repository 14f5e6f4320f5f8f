import type { Json, StandInDocument } from './openapi-stand-in-schemas.ts';
import { isJson, jsonAt } from './openapi-stand-in-schemas.ts';

/** An answer as the document gives it: the first success, else the first redirect. */
export type StandInAnswer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

const MOST_LEVELS = 6;

export const toStandInAnswer = (document: StandInDocument, operation: Json): StandInAnswer => {
  const responses = Object.entries(jsonAt(operation, 'responses'));
  const chosen = responses.find(([status]) => /^2/.test(status)) ?? responses.find(([status]) => /^3/.test(status));
  const status = Number(chosen?.[0].replace(/XX$/, '00') ?? 200);
  if (status >= 300) return { status, headers: { location: 'https://elsewhere.example/moved' }, body: '' };
  const contents = jsonAt(document.follow(chosen?.[1]), 'content');
  const [media, content] = Object.entries(contents)[0] ?? [];
  if (media === undefined || status === 204 || status === 205) return { status, headers: {}, body: '' };
  const sent = media.includes('*') ? 'application/json' : media;
  return { status, headers: { 'content-type': sent }, body: toBody(sent, exampleOf(document, content)) };
};

const toBody = (media: string, value: unknown): string => {
  if (/json/.test(media)) return JSON.stringify(value ?? null);
  return typeof value === 'string' ? value : 'text';
};

const exampleOf = (document: StandInDocument, content: unknown): unknown => {
  if (!isJson(content)) return null;
  if ('example' in content) return content['example'];
  const [first] = Object.values(jsonAt(content, 'examples')).map(document.follow);
  return first !== undefined && 'value' in first ? first['value'] : sampleOf(document, content['schema'], 0);
};

/** Something of the form of a schema; not all of its rules hold. */
const sampleOf = (document: StandInDocument, source: unknown, level: number): unknown => {
  const schema = document.follow(source);
  const [example] = Array.isArray(schema['examples']) ? schema['examples'] : [];
  if (example !== undefined) return example;
  if (Array.isArray(schema['enum'])) return schema['enum'][0];
  if ('const' in schema) return schema['const'];
  const [way] = [schema['oneOf'], schema['anyOf']].flat().filter(isJson);
  if (way !== undefined) return level > MOST_LEVELS ? null : sampleOf(document, way, level + 1);
  return sampleOfType(document, schema, level);
};

const sampleOfType = (document: StandInDocument, schema: Json, level: number): unknown => {
  switch ([schema['type']].flat()[0]) {
    case 'string':
      return 'text';
    case 'integer':
    case 'number':
      return 1;
    case 'boolean':
      return true;
    case 'array':
      return level > MOST_LEVELS ? [] : [sampleOf(document, schema['items'], level + 1)];
    case 'null':
      return null;
    default: {
      if (level > MOST_LEVELS) return {};
      const parts = [schema, ...[schema['allOf']].flat().map(document.follow)];
      const members = parts.flatMap((part) => Object.entries(jsonAt(part, 'properties')));
      return Object.fromEntries(members.map(([name, member]) => [name, sampleOf(document, member, level + 1)]));
    }
  }
};
