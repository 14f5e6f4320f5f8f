import { once } from 'node:events';
import { isRecord, type JsonRecord, textAt } from 'recourse-server/contract/json-record';
import { startThread } from 'recourse-server/files/own-thread';
import { joinLinkedFiles, type LinkedFiles } from './linked-files.ts';
import { DocumentProblem, type Problem } from './read-document.ts';

/** A document whose version is known. In 3.0 schemas are a dialect of their own, from 3.1 on they are JSON Schema. */
export type OpenApiDocument = { readonly root: JsonRecord; readonly schemas: 'of_3_0' | 'json_schema' };

// Some 100 bytes each, and one turn of the event loop for all of them. GitHub's document has half a million.
const MOST_PARTS = 2_000_000;

/**
 * Parses JSON or YAML, with the files that it refers to. Rejects with a DocumentProblem, or what the parsers throw, where
 * it is no OpenAPI document.
 */
export const parseOpenApiDocument = async (text: string, files: LinkedFiles): Promise<OpenApiDocument> => {
  const parse = createParser();
  const [parsed = { problem: 'is empty.' }] = await parse([text]);
  if ('problem' in parsed) throw new DocumentProblem(`The document ${parsed.problem}`);
  const { value: root, json } = parsed;
  if (!isRecord(root)) throw new DocumentProblem('The document is not an object.');
  checkVersion(root);
  if (REFERS_ELSEWHERE.test(json)) await joinLinkedFiles(root, files, parse);
  const version = textAt(root, 'openapi');
  if (version === undefined) return { root: await upgradeSwagger(root, files), schemas: 'of_3_0' };
  return { root, schemas: version.startsWith('3.0') ? 'of_3_0' : 'json_schema' };
};

/** Loads the converter into a thread, where it stays: few documents are of 2.0. */
const upgradeSwagger = async (root: JsonRecord, { home }: LinkedFiles): Promise<JsonRecord> => {
  const late = 'The document is Swagger 2.0 that takes longer to convert than';
  const scheme = home.protocol === 'http:' ? 'http' : 'https';
  const upgraded = await runInThread('swagger-worker', { root, scheme }, late);
  if (!isRecord(upgraded)) throw new DocumentProblem('The document is Swagger 2.0 that cannot be converted.');
  return upgraded;
};

const REFERS_ELSEWHERE = /"\$ref"\s*:\s*"[^#"]/;

const checkVersion = (root: JsonRecord): void => {
  const version = textAt(root, 'openapi');
  // 2.0 is a number in YAML.
  const swagger = root['swagger'] === 2 ? '2.0' : textAt(root, 'swagger');
  if (version === undefined && swagger !== undefined && !/^2\.0/.test(swagger))
    throw new DocumentProblem(`The document is Swagger ${swagger.slice(0, 20)}; of Swagger only 2.0 is supported.`);
  if (version === undefined && swagger === undefined)
    throw new DocumentProblem('The document has no member openapi: it is not an OpenAPI document.');
  if (version !== undefined && !/^3\.[0-2](\.|$)/.test(version))
    throw new DocumentProblem(`The document is OpenAPI ${version.slice(0, 20)}; 3.0, 3.1 and 3.2 are supported.`);
};

const MOST_YAML_CHARACTERS = 4_194_304;
// Each may become a value, and a value takes half a kilobyte of the parser.
const MOST_YAML_SIGNS = 400_000;

/** A parser of a document and its files, which have one limit of parts in all. */
const createParser = () => {
  let partsLeft = MOST_PARTS;
  const parse = (json: string): { readonly json: string; readonly value: unknown } | Problem => {
    partsLeft -= countParts(json, partsLeft);
    if (partsLeft < 0) return { problem: `has more than ${MOST_PARTS} values and names: remove what is not needed.` };
    try {
      const value: unknown = JSON.parse(json);
      return { value, json };
    } catch (thrown) {
      if (thrown instanceof SyntaxError) return { problem: `cannot be parsed: ${thrown.message}` };
      throw thrown;
    }
  };
  /** Texts of JSON or YAML as values, in their order, or why there is none. */
  return async (texts: readonly string[]) =>
    (await readTexts(texts)).map((one) => ('problem' in one ? one : parse(one.json)));
};

/**
 * Texts of JSON as they are, and those of YAML all together, in their order. YAML is parsed in a thread that is ended
 * after 30 s: other work of the process goes on. Rejects with a DocumentProblem where that is not enough.
 */
const readTexts = async (texts: readonly string[]): Promise<readonly ({ readonly json: string } | Problem)[]> => {
  const sources = texts.map((text) => readSource(text.replace(/^\ufeff/, '')));
  const yamls = sources.flatMap((source) => ('yaml' in source ? [source.yaml] : []));
  const late = 'The document is YAML that takes longer to parse than';
  const answers = yamls.length === 0 ? [] : await runInThread('yaml-worker', yamls, late);
  const parsed = (Array.isArray(answers) ? answers.map(readAnswer) : []).values();
  return sources.map((source) => ('yaml' in source ? (parsed.next().value ?? { problem: 'was not parsed.' }) : source));
};

const readSource = (text: string): { readonly json: string } | { readonly yaml: string } | Problem => {
  if (/^\s*\{/.test(text)) return { json: text };
  if (text.length > MOST_YAML_CHARACTERS) return { problem: 'is YAML larger than 4 MiB: convert it to JSON.' };
  if (hasMoreSigns(text, MOST_YAML_SIGNS)) return { problem: 'is YAML with too many values: convert it to JSON.' };
  return { yaml: text };
};

const readAnswer = (answer: unknown): { readonly json: string } | Problem =>
  isRecord(answer) && typeof answer['json'] === 'string'
    ? { json: answer['json'] }
    : { problem: `cannot be parsed: ${isRecord(answer) ? String(answer['problem']) : ''}` };

// Half a second a megabyte, and more where the processors are busy. Two megabytes of aliases took minutes.
const MOST_THREAD_MS = 30_000;

/**
 * The first message of a thread that works on a document: other work of the process goes on meanwhile. `file`: its name in
 * this folder, without its end (`.ts` in src, `.js` in dist). It is ended after 30 s. Rejects with a DocumentProblem then,
 * which begins with `late`, and with what the thread throws.
 */
const runInThread = async (file: string, data: unknown, late: string): Promise<unknown> => {
  const url = new URL(`./${file}${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url);
  // No limit of its heap: passing one ends the process now and then, not the thread (nodejs/node#65019).
  const worker = startThread(url, { name: `openapi-${file}`, workerData: data });
  const ending = new AbortController();
  const limit = setTimeout(() => ending.abort(), MOST_THREAD_MS).unref();
  try {
    const [message]: readonly unknown[] = await once(worker, 'message', { signal: ending.signal });
    return message;
  } catch (thrown) {
    if (ending.signal.aborted) throw new DocumentProblem(`${late} ${MOST_THREAD_MS / 1_000} s.`);
    throw thrown;
  } finally {
    clearTimeout(limit);
    await worker.terminate();
  }
};

const SIGNS: ReadonlySet<number> = new Set([...'\n,:[{'].map((sign) => sign.charCodeAt(0)));

const hasMoreSigns = (text: string, most: number): boolean => {
  let signs = 0;
  for (let at = 0; at < text.length && signs <= most; at += 1) if (SIGNS.has(text.charCodeAt(at))) signs += 1;
  return signs > most;
};

const [QUOTE, COMMA, COLON, BACKSLASH, OPEN_LIST, OPEN_OBJECT] = [34, 44, 58, 92, 91, 123] as const;

/** Whether a text of JSON has more than so many parts. */
export const hasMoreParts = (json: string, most: number): boolean => countParts(json, most) > most;

/**
 * How many parts (values and names of members) a text of JSON has, counted by its signs before anything parses it: three
 * bytes of text can be a hundred of memory. Of more than `most` it gives one more.
 */
const countParts = (json: string, most: number): number => {
  let parts = 0;
  for (let at = 0; at < json.length; at += 1) {
    const sign = json.charCodeAt(at);
    if (sign === QUOTE) at = findStringEnd(json, at);
    else if (sign === COMMA || sign === COLON || sign === OPEN_LIST || sign === OPEN_OBJECT) parts += 1;
    if (parts > most) return parts;
  }
  return parts;
};

/** Where the string ends that begins here; the end of the text where it does not. */
const findStringEnd = (json: string, begin: number): number => {
  for (let at = begin + 1; at < json.length; at += 1) {
    const sign = json.charCodeAt(at);
    if (sign === BACKSLASH) at += 1;
    else if (sign === QUOTE) return at;
  }
  return json.length;
};
