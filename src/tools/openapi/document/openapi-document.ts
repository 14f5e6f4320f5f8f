import { DocumentProblem } from './document-problem.ts';
import { joinLinkedFiles, type ParsedFile } from './join-linked-files.ts';
import { countParts } from './json-parts.ts';
import { isRecord, type JsonRecord, textAt } from './json-record.ts';
import type { LinkedFiles } from './linked-files.ts';
import { runInThread } from './run-in-thread.ts';
import { type JsonText, toJsonTexts } from './yaml-to-json.ts';

/** A document whose version is known. In 3.0 schemas are a dialect of their own, from 3.1 on they are JSON Schema. */
export type OpenApiDocument = { readonly root: JsonRecord; readonly schemas: 'of_3_0' | 'json_schema' };

// Some 100 bytes each, and one turn of the event loop for all of them. GitHub's document has half a million.
const MOST_PARTS = 2_000_000;

/**
 * Parses JSON or YAML, with the files that it refers to. Rejects with a DocumentProblem, or what the parsers throw, where
 * it is no OpenAPI document.
 */
export const parseOpenApiDocument = async (text: string, files: LinkedFiles): Promise<OpenApiDocument> => {
  const budget = { partsLeft: MOST_PARTS };
  const [json = { problem: 'is empty.' }] = await toJson([text]);
  if ('problem' in json) throw new DocumentProblem(`The document ${json.problem}`);
  if (isBeyond(json.json, budget))
    throw new DocumentProblem(
      `The document has more than ${MOST_PARTS} values and names: leave out what is not needed.`,
    );
  const root: unknown = JSON.parse(json.json);
  if (!isRecord(root)) throw new DocumentProblem('The document is not an object.');
  checkVersion(root);
  if (REFERS_ELSEWHERE.test(json.json))
    await joinLinkedFiles(root, { files, parse: (texts) => parseFiles(texts, budget) });
  if (textAt(root, 'openapi') === undefined) return { root: await upgradeSwagger(root, files), schemas: 'of_3_0' };
  const version = textAt(root, 'openapi') ?? '';
  return { root, schemas: version.startsWith('3.0') ? 'of_3_0' : 'json_schema' };
};

/** Loads the converter into a thread, where it stays: few documents are of 2.0. */
const upgradeSwagger = async (root: JsonRecord, { home }: LinkedFiles): Promise<JsonRecord> => {
  const late = 'The document is Swagger 2.0 that takes longer to convert than';
  const scheme = home.protocol === 'http:' ? 'http' : 'https';
  const upgraded = await runInThread({ file: 'swagger-worker', data: { root, scheme }, late });
  if (!isRecord(upgraded)) throw new DocumentProblem('The document is Swagger 2.0 that cannot be converted.');
  return upgraded;
};

const REFERS_ELSEWHERE = /"\$ref"\s*:\s*"[^#"]/;

type Budget = { partsLeft: number };

const isBeyond = (json: string, budget: Budget): boolean => {
  budget.partsLeft -= countParts(json, budget.partsLeft);
  return budget.partsLeft < 0;
};

const checkVersion = (root: JsonRecord): void => {
  const version = textAt(root, 'openapi');
  // 2.0 is a number in YAML.
  const swagger = root['swagger'] === 2 ? '2.0' : textAt(root, 'swagger');
  if (version === undefined && swagger !== undefined && !/^2\.0/.test(swagger))
    throw new DocumentProblem(`The document is Swagger ${swagger.slice(0, 20)}; of Swagger only 2.0 is supported.`);
  if (version === undefined && swagger === undefined)
    throw new DocumentProblem('The document has no member openapi: it is no OpenAPI document.');
  if (version !== undefined && !/^3\.[0-2](\.|$)/.test(version))
    throw new DocumentProblem(`The document is OpenAPI ${version.slice(0, 20)}; 3.0, 3.1 and 3.2 are supported.`);
};

/** Texts of JSON as they are, and those of YAML all together. */
const toJson = async (texts: readonly string[]): Promise<readonly JsonText[]> => {
  const plain = texts.map((text) => text.replace(/^\ufeff/, ''));
  const isJson = (text: string): boolean => /^\s*\{/.test(text);
  const converted = await toJsonTexts(plain.filter((text) => !isJson(text)));
  let next = 0;
  return plain.map((text) => {
    if (isJson(text)) return { json: text };
    next += 1;
    return converted[next - 1] ?? { problem: 'was not parsed.' };
  });
};

const parseFiles = async (texts: readonly string[], budget: Budget): Promise<readonly ParsedFile[]> =>
  (await toJson(texts)).map((json) => {
    if ('problem' in json) return json;
    if (isBeyond(json.json, budget))
      return { problem: `is beyond the ${MOST_PARTS} values and names of one document.` };
    return parseFile(json.json);
  });

const parseFile = (json: string): ParsedFile => {
  try {
    return { value: JSON.parse(json) };
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return { problem: `cannot be parsed: ${thrown.message}` };
    throw thrown;
  }
};
