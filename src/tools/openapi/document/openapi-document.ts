import { parse as parseYaml } from 'yaml';
import { isRecord, type JsonRecord, textAt } from './json-record.ts';

/** A document whose version is known. In 3.0 schemas are a dialect of their own, from 3.1 on they are JSON Schema. */
export type OpenApiDocument = { readonly root: JsonRecord; readonly schemas: 'of_3_0' | 'json_schema' };

/** Why a document cannot be used at all: one line for people. */
export class DocumentProblem extends Error {
  override readonly name: string = 'DocumentProblem';
}

// The parser takes half a second a megabyte, in one piece, and the service answers nothing meanwhile.
const MOST_YAML_CHARACTERS = 4_194_304;

/** Parses JSON or YAML. Throws a DocumentProblem, or what the parsers throw, where it is no OpenAPI 3 document. */
export const parseOpenApiDocument = (text: string): OpenApiDocument => {
  const root = parseText(text.replace(/^\ufeff/, ''));
  if (!isRecord(root)) throw new DocumentProblem('The document is not an object.');
  const version = textAt(root, 'openapi');
  if (version === undefined && 'swagger' in root)
    throw new DocumentProblem('The document is Swagger 2.0, which is not supported: convert it to OpenAPI 3.');
  if (version === undefined)
    throw new DocumentProblem('The document has no member openapi: it is no OpenAPI document.');
  if (!/^3\.[0-2](\.|$)/.test(version))
    throw new DocumentProblem(`The document is OpenAPI ${version.slice(0, 20)}; 3.0, 3.1 and 3.2 are supported.`);
  return { root, schemas: version.startsWith('3.0') ? 'of_3_0' : 'json_schema' };
};

const parseText = (text: string): unknown => {
  if (/^\s*\{/.test(text)) return JSON.parse(text);
  if (text.length > MOST_YAML_CHARACTERS)
    throw new DocumentProblem('The document is YAML of more than 4 MiB: convert it to JSON.');
  return parseYaml(text, { logLevel: 'silent' });
};
