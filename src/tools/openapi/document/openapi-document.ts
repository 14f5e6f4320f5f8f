import { DocumentProblem } from './document-problem.ts';
import { hasMoreParts } from './json-parts.ts';
import { isRecord, type JsonRecord, textAt } from './json-record.ts';
import { toJsonText } from './yaml-to-json.ts';

/** A document whose version is known. In 3.0 schemas are a dialect of their own, from 3.1 on they are JSON Schema. */
export type OpenApiDocument = { readonly root: JsonRecord; readonly schemas: 'of_3_0' | 'json_schema' };

// Some 100 bytes each, and one turn of the event loop for all of them. GitHub's document has half a million.
const MOST_PARTS = 2_000_000;

/** Parses JSON or YAML. Rejects with a DocumentProblem, or what the parsers throw, where it is no OpenAPI 3 document. */
export const parseOpenApiDocument = async (text: string): Promise<OpenApiDocument> => {
  const root = await parseText(text.replace(/^\ufeff/, ''));
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

const parseText = async (text: string): Promise<unknown> => {
  const json = /^\s*\{/.test(text) ? text : await toJsonText(text);
  if (hasMoreParts(json, MOST_PARTS))
    throw new DocumentProblem(
      `The document has more than ${MOST_PARTS} values and names: leave out what is not needed.`,
    );
  return JSON.parse(json);
};
