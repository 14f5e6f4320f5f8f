import { realpath } from 'node:fs/promises';
import { dirname, relative, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { showText } from '@recourse/toolkit-kit/egress/show-url';
import { isRecord, type JsonRecord, memberOf, recordAt } from 'recourse-server/contract/json-record';
import { RetryableToolError } from 'recourse-server/tools/tool-errors';
import {
  type DocumentPlace,
  DocumentProblem,
  type ReadDocument,
  type ReadOptions,
  readDocument,
} from './read-document.ts';
import { followPointer, LINKED_FILES, UNFOLLOWED } from './references.ts';

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

type Problem = { readonly problem: string };
type LinkedText = { readonly text: string } | Problem;

type LinkedFilesOptions = Omit<ReadOptions, 'tag' | 'subject'> & {
  readonly place: DocumentPlace;
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

/** For one reading of a document. Reads nothing by itself. */
export const createLinkedFiles = (options: LinkedFilesOptions): LinkedFiles => {
  const { place } = options;
  const home = place.kind === 'url' ? place.url : pathToFileURL(place.path);
  const budget = { files: MOST_FILES, bytes: MOST_BYTES, endsMs: performance.now() + MOST_MS };
  const seen = new Map<string, Seen>();
  const readOne = async (url: URL): Promise<LinkedText> => {
    budget.files -= 1;
    if (budget.files < 0) return { problem: `exceeds the limit of ${MOST_FILES} files for one document.` };
    if (performance.now() > budget.endsMs) return { problem: `was not reached within ${MOST_MS / 1_000} s.` };
    const found = (await look(url, NEVER_READ, options)) ?? NOT_READ;
    if ('problem' in found) {
      seen.set(url.href, { tag: NEVER_READ, version: null });
      return found;
    }
    seen.set(url.href, found);
    budget.bytes -= found.text.length;
    return budget.bytes < 0 ? { problem: `exceeds the limit of ${MOST_BYTES} bytes for one document.` } : found;
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
      const answers = await inGroups([...seen], async ([href, before]) => !signal.aborted && isOther(href, before));
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

const NOT_BELOW = 'is not below the directory of the document.';

const objectionTo = (url: URL, home: URL): string | null => {
  if (home.protocol !== 'file:')
    return url.origin === home.origin && url.username === '' ? null : 'is not on the origin of the document.';
  const directory = new URL('.', home).href;
  return url.href.startsWith(directory) && !/%2f|%5c|%00/i.test(url.href) ? null : NOT_BELOW;
};

/** null where it is as it was with this tag. */
const look = async (
  url: URL,
  tag: string,
  { place, mayRead, ...options }: LinkedFilesOptions,
): Promise<ReadDocument | Problem | null> => {
  const read = (from: DocumentPlace, shown: string): Promise<ReadDocument | Problem | null> =>
    readDocument(from, shown, { ...options, tag, subject: '' }).catch(toProblem);
  if (place.kind === 'url') {
    const found = await read({ kind: 'url', url }, showText(url.origin + url.pathname));
    const isElsewhere = found !== null && 'from' in found && found.from?.origin !== url.origin;
    return isElsewhere ? { problem: 'redirects to another origin.' } : found;
  }
  const path = fileURLToPath(url);
  const shown = showText(relative(dirname(place.path), path));
  // By their real paths: a link may lead out of the directory.
  const toReal = (one: string): Promise<string | null> => realpath(one).catch(() => null);
  const [directory, real] = await Promise.all([toReal(dirname(place.path)), toReal(path)]);
  if (directory === null || real === null) return { problem: `cannot be read: ${shown} does not exist.` };
  if (!real.startsWith(`${directory}${sep}`)) return { problem: NOT_BELOW };
  if (!(await mayRead(real))) return { problem: 'is in the workspace, where tools could change it.' };
  return read({ kind: 'file', path: real }, shown);
};

const toProblem = (thrown: unknown): Problem => {
  if (thrown instanceof DocumentProblem) return { problem: thrown.message.trimStart() };
  // A redirect that is not followed.
  if (thrown instanceof RetryableToolError) return { problem: `cannot be read: ${thrown.message}` };
  throw thrown;
};

export type ParsedFile = { readonly value: unknown } | Problem;
/** Texts as values, in their order, or why there is none: the words after `which`. */
type ParseFiles = (texts: readonly string[]) => Promise<readonly ParsedFile[]>;

/** A document or a file that it refers to, and what its own references become. */
type Holder = {
  readonly url: URL;
  readonly value: unknown;
  /** `#` of the document itself, `#/x-recourse-files/name` of a file. */
  readonly prefix: string;
};

type Join = {
  readonly files: LinkedFiles;
  readonly parse: ParseFiles;
  readonly document: Holder;
  readonly holders: Map<string, Holder>;
  readonly names: Set<string>;
  /** The sentence why a file is none of them. */
  readonly problems: Map<string, string>;
  readonly unfollowed: Map<string, string>;
  readonly visited: WeakSet<object>;
  /** What is yet to be looked through. */
  readonly open: Node[];
  /** References to files that are not read yet. */
  waiting: Waiting[];
};

type Node = { readonly value: unknown; readonly holder: Holder; readonly keys: 'keywords' | 'names' };
type Waiting = { readonly place: JsonRecord; readonly reference: string; readonly url: URL; readonly fragment: string };

/**
 * Reads the files that the operations of a document refer to, puts them under `x-recourse-files` of the document, and
 * makes each reference to one a reference within the document. One that is not followed leads nowhere, and says why
 * where it is resolved. Changes the document.
 */
export const joinLinkedFiles = async (root: JsonRecord, files: LinkedFiles, parse: ParseFiles): Promise<void> => {
  const url = new URL(files.home);
  url.hash = '';
  const document: Holder = { url, value: root, prefix: '#' };
  // What operations are made of; the rest of a document is looked at where one refers to it.
  const starts = [
    memberOf(root, 'paths'),
    memberOf(recordAt(root, 'components'), 'securitySchemes'),
    memberOf(root, 'securityDefinitions'),
  ];
  const join: Join = {
    ...{ files, parse, document, holders: new Map([[url.href, document]]), names: new Set(), problems: new Map() },
    ...{ unfollowed: new Map(), visited: new WeakSet(), waiting: [] },
    open: starts.map((value) => ({ value, holder: document, keys: 'names' })),
  };
  lookThrough(join);
  while (join.waiting.length > 0) {
    await readWaiting(join);
    lookThrough(join);
  }
  if (join.unfollowed.size > 0) Reflect.set(root, UNFOLLOWED, Object.fromEntries(join.unfollowed));
  if (join.holders.size === 1) return;
  const linked = [...join.holders.values()].slice(1).map(({ prefix, value }) => [prefix.split('/').at(-1), value]);
  Reflect.set(root, LINKED_FILES, Object.fromEntries(linked));
};

const lookThrough = (join: Join): void => {
  for (let node = join.open.pop(); node !== undefined; node = join.open.pop()) {
    const { value } = node;
    if (typeof value !== 'object' || value === null || join.visited.has(value)) continue;
    join.visited.add(value);
    if (isRecord(value)) followReference(join, value, node.holder);
    addMembers(join, value, node);
  }
};

const addMembers = ({ open }: Join, value: object, node: Node): void => {
  for (const [key, member] of Object.entries(value))
    if (!isLeftOut(key, node))
      open.push({ value: member, holder: node.holder, keys: NAMED.has(key) ? 'names' : 'keywords' });
};

// Whose members have names of the document's own.
const NAMED: ReadonlySet<string> = new Set([
  ...['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions', 'responses', 'headers', 'content'],
]);

// Examples are not followed, and of the answers only what a success looks like.
const isLeftOut = (key: string, { value, keys }: Node): boolean => {
  if (keys === 'keywords') return key === 'example' || key === 'examples' || key.startsWith('x-');
  if (!/^(default|[145](\d\d|XX))$/i.test(key)) return false;
  return isRecord(value) && Object.keys(value).some((name) => /^([1-5](\d\d|XX))$/i.test(name));
};

const followReference = (join: Join, place: JsonRecord, holder: Holder): void => {
  const reference = memberOf(place, '$ref');
  if (typeof reference !== 'string') return;
  const [address = '', ...rest] = reference.split('#');
  const fragment = rest.join('#');
  const url = address === '' ? holder.url : URL.parse(address, holder.url.href);
  const target = url === null ? undefined : join.holders.get(url.href);
  const objection = url === null ? 'is not a URL.' : (join.problems.get(url.href) ?? join.files.objectionTo(url));
  if (target !== undefined) leadTo(join, place, target, fragment);
  else if (url === null || objection !== null) refuse(join, place, reference, objection ?? NOT_READ.problem);
  else join.waiting.push({ place, reference, url, fragment });
};

const leadTo = (join: Join, place: JsonRecord, holder: Holder, fragment: string): void => {
  // A whole file may be a schema; the whole of the document is none, and a name within either is not looked for.
  const isPath = fragment.startsWith('/') || (fragment === '' && holder !== join.document);
  Reflect.set(place, '$ref', isPath ? `${holder.prefix}${fragment}` : `#${fragment}`);
  if (isPath) join.open.push({ value: followPointer(holder.value, fragment), holder, keys: 'keywords' });
};

const refuse = ({ unfollowed }: Join, place: JsonRecord, reference: string, problem: string): void => {
  const key = `unfollowed:${unfollowed.size}`;
  unfollowed.set(key, `It refers to '${reference.slice(0, 200)}', which ${problem}`);
  Reflect.set(place, '$ref', key);
};

const NOT_READ = { problem: 'was not read.' } as const;

const readWaiting = async (join: Join): Promise<void> => {
  const { waiting, holders, problems } = join;
  join.waiting = [];
  const urls = [...new Map(waiting.map(({ url }) => [url.href, url])).values()];
  const files = await readFiles(join, urls);
  for (const [place, url] of urls.entries()) {
    const file = files[place] ?? NOT_READ;
    if ('problem' in file) problems.set(url.href, file.problem);
    else holders.set(url.href, { url, value: file.value, prefix: `#/${LINKED_FILES}/${toName(join, url)}` });
  }
  for (const { place, reference, url, fragment } of waiting) {
    const holder = holders.get(url.href);
    if (holder === undefined) refuse(join, place, reference, problems.get(url.href) ?? NOT_READ.problem);
    else leadTo(join, place, holder, fragment);
  }
};

/** What each of them holds; all that were read are parsed together. */
const readFiles = async ({ files, parse }: Join, urls: readonly URL[]): Promise<readonly ParsedFile[]> => {
  const read = await files.read(urls);
  const parsed = (await parse(read.flatMap((one) => ('text' in one ? [one.text] : [])))).values();
  return read.map((one) => ('text' in one ? (parsed.next().value ?? NOT_READ) : one));
};

/** `models/droplet.yml` → `droplet`, as a definition of it will be called. */
const toName = ({ names }: Join, { pathname }: URL): string => {
  const file = (pathname.split('/').at(-1) ?? '').replace(/\.(ya?ml|json)$/i, '');
  const stem = file.replace(/%[0-9a-f]{2}|[^A-Za-z0-9_-]/gi, '_').slice(0, 60) || 'file';
  let name = stem;
  for (let count = 2; names.has(name); count += 1) name = `${stem}_${count}`;
  names.add(name);
  return name;
};
