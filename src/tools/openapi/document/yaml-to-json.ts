import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { DocumentProblem } from './document-problem.ts';

/** The file of the thread, in src and in the built dist alike. */
const YAML_WORKER = new URL(`./yaml-worker${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url);

const MOST_CHARACTERS = 4_194_304;
// Each may become a value, and a value takes half a kilobyte of the parser.
const MOST_SIGNS = 400_000;
// Half a second a megabyte, and more where the processors are busy. Two megabytes of aliases took minutes.
const MOST_MS = 30_000;

/**
 * A document of YAML as a text of JSON. Made in a thread that is ended after 30 s: other work of the process goes on.
 * Throws a DocumentProblem where the text is too large, or the parser's error.
 */
export const toJsonText = async (yaml: string): Promise<string> => {
  if (yaml.length > MOST_CHARACTERS)
    throw new DocumentProblem('The document is YAML of more than 4 MiB: convert it to JSON.');
  if (hasMoreSigns(yaml, MOST_SIGNS))
    throw new DocumentProblem('The document is YAML of too many values: convert it to JSON.');
  // No limit of its heap: passing one ends the process now and then, not the thread (nodejs/node#65019).
  const worker = new Worker(YAML_WORKER, { name: 'openapi-yaml', env: {}, execArgv: [], workerData: yaml });
  const ending = new AbortController();
  const limit = setTimeout(() => ending.abort(), MOST_MS).unref();
  try {
    const [json]: readonly unknown[] = await once(worker, 'message', { signal: ending.signal });
    return String(json);
  } catch (thrown) {
    if (ending.signal.aborted)
      throw new DocumentProblem(`The document is YAML that takes longer than ${MOST_MS / 1_000} s to parse.`);
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
