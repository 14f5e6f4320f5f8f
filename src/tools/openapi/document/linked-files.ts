import { realpath } from 'node:fs/promises';
import { dirname, relative, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { showText } from '../../http/show-url.ts';
import { RetryableToolError } from '../../tool-errors.ts';
import { DocumentProblem } from './document-problem.ts';
import { type DocumentPlace, type ReadDocument, type ReadMeans, readDocument } from './read-document.ts';

/** The files that a document refers to: those below the directory of its file, or on the origin of its URL. */
export type LinkedFiles = {
  /** Of the document itself. */
  readonly home: URL;
  /** Why this one is never read; null where it may be. */
  readonly objectionTo: (url: URL) => string | null;
  /** One text each, in their order, or why there is none: the words after `It refers to 'x', which`. */
  readonly read: (urls: readonly URL[]) => Promise<readonly LinkedText[]>;
  /** Whether one of those that were read, or could not be, is another by now. */
  readonly hasChanged: (signal: AbortSignal) => Promise<boolean>;
};

export type LinkedText = { readonly text: string } | { readonly problem: string };

export type LinkedFilesOptions = ReadMeans & {
  readonly place: DocumentPlace;
  readonly signal: AbortSignal;
  /** Whether a file of this real path may be read: not where models write. */
  readonly mayRead: (path: string) => Promise<boolean>;
};

// DigitalOcean's document has 1 900.
const MOST_FILES = 4_000;
const MOST_BYTES = 67_108_864;
// Of all together; a document is looked at every five minutes.
const MOST_MS = 60_000;
const AT_ONCE = 8;
const NEVER_READ = '';

type Seen = { readonly tag: string; readonly version: string | null };

/** For one reading of a document. Nothing is read before it is asked for. */
export const createLinkedFiles = (options: LinkedFilesOptions): LinkedFiles => {
  const { place } = options;
  const home = place.kind === 'url' ? place.url : pathToFileURL(place.path);
  const budget = { files: MOST_FILES, bytes: MOST_BYTES, endsMs: performance.now() + MOST_MS };
  const seen = new Map<string, Seen>();
  const readOne = async (url: URL): Promise<LinkedText> => {
    budget.files -= 1;
    if (budget.files < 0) return { problem: `is beyond the ${MOST_FILES} files that are read for one document.` };
    if (performance.now() > budget.endsMs) return { problem: `was not reached within ${MOST_MS / 1_000} s.` };
    const found = await look(url, NEVER_READ, options);
    if (found === null || 'problem' in found) {
      seen.set(url.href, { tag: NEVER_READ, version: null });
      return found ?? { problem: 'was not read.' };
    }
    seen.set(url.href, found);
    budget.bytes -= found.text.length;
    return budget.bytes < 0 ? { problem: `is beyond the ${MOST_BYTES} bytes of one document.` } : found;
  };
  const isOther = async (href: string, { tag, version }: Seen): Promise<boolean> => {
    const found = await look(new URL(href), tag, options);
    if (found === null) return false;
    return 'problem' in found ? version !== null : found.version !== version;
  };
  return {
    home,
    objectionTo: (url) => objectionTo(url, home),
    read: (urls) => inGroups(urls, readOne),
    hasChanged: async (signal) => {
      const answers = await inGroups([...seen], async ([href, known]) => !signal.aborted && isOther(href, known));
      return answers.includes(true);
    },
  };
};

const inGroups = async <Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> => {
  const results: Result[] = [];
  for (let from = 0; from < items.length; from += AT_ONCE)
    results.push(...(await Promise.all(items.slice(from, from + AT_ONCE).map(work))));
  return results;
};

const objectionTo = (url: URL, home: URL): string | null => {
  if (home.protocol !== 'file:')
    return url.origin === home.origin && url.username === '' ? null : 'is not on the origin of the document.';
  const directory = new URL('.', home).href;
  return url.href.startsWith(directory) && !/%2f|%5c|%00/i.test(url.href)
    ? null
    : 'is not below the directory of the document.';
};

/** null where it is as it was with this tag. */
const look = (
  url: URL,
  tag: string,
  { place, mayRead, signal, ...means }: LinkedFilesOptions,
): Promise<ReadDocument | { readonly problem: string } | null> =>
  place.kind === 'file'
    ? lookAtFile(place.path, fileURLToPath(url), tag, { signal, mayRead, means })
    : lookAtUrl(url, tag, signal, means);

type FileLook = {
  readonly signal: AbortSignal;
  readonly mayRead: LinkedFilesOptions['mayRead'];
  readonly means: ReadMeans;
};

const lookAtFile = async (
  document: string,
  path: string,
  tag: string,
  { signal, mayRead, means }: FileLook,
): Promise<ReadDocument | { readonly problem: string } | null> => {
  const shown = showText(relative(dirname(document), path));
  // By their real paths: a link may lead out of the directory.
  const [directory, real] = await Promise.all(
    [dirname(document), path].map((one) => realpath(one).then(itself, () => null)),
  );
  if (directory === null || directory === undefined || real === null || real === undefined)
    return { problem: `cannot be read: ${shown} is not there.` };
  if (!real.startsWith(`${directory}${sep}`)) return { problem: 'is not below the directory of the document.' };
  if (!(await mayRead(real))) return { problem: 'lies in the workspace, where tools could change it.' };
  return orProblem(readDocument({ place: { kind: 'file', path: real }, subject: '', shown }, tag, signal, means));
};

const lookAtUrl = async (
  url: URL,
  tag: string,
  signal: AbortSignal,
  means: ReadMeans,
): Promise<ReadDocument | { readonly problem: string } | null> => {
  const shown = showText(url.origin + url.pathname);
  const found = await orProblem(readDocument({ place: { kind: 'url', url }, subject: '', shown }, tag, signal, means));
  if (found === null || 'problem' in found || found.from === undefined || found.from.origin === url.origin)
    return found;
  return { problem: 'redirects to another origin.' };
};

const itself = (path: string): string | null => path;

const orProblem = (
  reading: Promise<ReadDocument | null>,
): Promise<ReadDocument | { readonly problem: string } | null> =>
  reading.then(same, (thrown: unknown) => {
    if (thrown instanceof DocumentProblem) return { problem: thrown.message.trimStart() };
    // A redirect that is not followed.
    if (thrown instanceof RetryableToolError) return { problem: `cannot be read: ${thrown.message}` };
    throw thrown;
  });

const same = (found: ReadDocument | null): ReadDocument | { readonly problem: string } | null => found;
