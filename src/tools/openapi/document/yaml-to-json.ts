import { isRecord } from './json-record.ts';
import { runInThread } from './run-in-thread.ts';

const MOST_CHARACTERS = 4_194_304;
// Each may become a value, and a value takes half a kilobyte of the parser.
const MOST_SIGNS = 400_000;

/** A text of JSON, or why there is none. */
export type JsonText = { readonly json: string } | { readonly problem: string };

/**
 * Texts of YAML as texts of JSON, in their order. Made in a thread that is ended after 30 s: other work of the process
 * goes on. Rejects with a DocumentProblem where that is not enough.
 */
export const toJsonTexts = async (yamls: readonly string[]): Promise<readonly JsonText[]> => {
  const objections = yamls.map(objectionTo);
  const parsed = await parseInThread(yamls.filter((_, place) => objections[place] === null));
  let next = 0;
  return objections.map((objection) => {
    if (objection !== null) return { problem: objection };
    next += 1;
    return parsed[next - 1] ?? { problem: 'it was not parsed.' };
  });
};

const objectionTo = (yaml: string): string | null => {
  if (yaml.length > MOST_CHARACTERS) return 'is YAML of more than 4 MiB: convert it to JSON.';
  if (hasMoreSigns(yaml, MOST_SIGNS)) return 'is YAML of too many values: convert it to JSON.';
  return null;
};

const parseInThread = async (yamls: readonly string[]): Promise<readonly JsonText[]> => {
  if (yamls.length === 0) return [];
  const late = 'The document is YAML that takes longer to parse than';
  const texts = await runInThread({ file: 'yaml-worker', data: yamls, late });
  return Array.isArray(texts) ? texts.map(toJsonText) : [];
};

const toJsonText = (given: unknown): JsonText =>
  isRecord(given) && typeof given['json'] === 'string'
    ? { json: given['json'] }
    : { problem: `cannot be parsed: ${isRecord(given) ? String(given['problem']) : ''}` };

const SIGNS: ReadonlySet<number> = new Set([...'\n,:[{'].map((sign) => sign.charCodeAt(0)));

const hasMoreSigns = (text: string, most: number): boolean => {
  let signs = 0;
  for (let at = 0; at < text.length && signs <= most; at += 1) if (SIGNS.has(text.charCodeAt(at))) signs += 1;
  return signs > most;
};
