import { realpath } from 'node:fs/promises';
import { dirname, relative, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { showText } from '@recourse/toolkit-kit/egress/show-url';
import { isRecord, type JsonRecord, memberOf } from 'recourse-server/contract/json-record';
import {
  type DocumentPlace,
  type Problem,
  type ReadDocument,
  type ReadOptions,
  readDocument,
} from './read-document.ts';
import { LINKED_FILES, UNFOLLOWED } from './references.ts';

// DigitalOcean's document has 1 900.
const MOST_FILES = 4_000;
const MOST_BYTES = 67_108_864;
// Of all together; a document is looked at every five minutes.
const MOST_MS = 60_000;
const AT_ONCE = 8;
const NEVER_READ = '';

const NOT_BELOW = { problem: 'is not below the directory of the document.' };
const NOT_READ = { problem: 'was not read.' };

/**
 * The files that a document refers to: those below the directory of its file, or on the origin of its URL. For one reading of
 * the document; owns the budget of files, bytes and time, and what it saw of each file.
 */
export class LinkedFiles {
  /** Of the document itself. */
  readonly home: URL;
  readonly #place: DocumentPlace;
  readonly #reading: ReadOptions;
  /** Whether a file of this real path may be read: not where models write. */
  readonly #mayRead: (path: string) => Promise<boolean>;
  readonly #endsMs = performance.now() + MOST_MS;
  #filesLeft = MOST_FILES;
  #bytesLeft = MOST_BYTES;
  /** Address → the tag and the version that were read; a file that could not be has no version. */
  readonly #seen = new Map<string, Pick<ReadDocument, 'tag'> & { readonly version: string | null }>();

  constructor(place: DocumentPlace, reading: ReadOptions, mayRead: (path: string) => Promise<boolean>) {
    this.home = typeof place === 'string' ? pathToFileURL(place) : new URL(place);
    this.home.hash = '';
    this.#place = place;
    this.#reading = reading;
    this.#mayRead = mayRead;
  }

  /** Why this one is never read; null where it may be. */
  findObjection(url: URL): string | null {
    if (this.home.protocol !== 'file:')
      return url.origin === this.home.origin && url.username === '' ? null : 'is not on the origin of the document.';
    const isBelow = url.href.startsWith(new URL('.', this.home).href) && !/%2f|%5c|%00/i.test(url.href);
    return isBelow ? null : NOT_BELOW.problem;
  }

  /** The text of one, or why there is none. */
  async read(url: URL): Promise<ReadDocument | Problem> {
    this.#filesLeft -= 1;
    if (this.#filesLeft < 0) return { problem: `exceeds the limit of ${MOST_FILES} files for one document.` };
    if (performance.now() > this.#endsMs) return { problem: `was not reached within ${MOST_MS / 1_000} s.` };
    const found = (await this.#look(url, NEVER_READ)) ?? NOT_READ;
    this.#seen.set(url.href, 'problem' in found ? { tag: NEVER_READ, version: null } : found);
    if ('problem' in found) return found;
    this.#bytesLeft -= found.text.length;
    return this.#bytesLeft < 0 ? { problem: `exceeds the limit of ${MOST_BYTES} bytes for one document.` } : found;
  }

  /** Whether one of those that were read, or could not be, is another by now. */
  async hasChanged(): Promise<boolean> {
    const answers = await inGroups([...this.#seen], async ([href, { tag, version }]) => {
      const found = this.#reading.signal.aborted ? null : await this.#look(new URL(href), tag);
      return found !== null && ('problem' in found ? null : found.version) !== version;
    });
    return answers.includes(true);
  }

  /** null where it is as it was with this tag. */
  async #look(url: URL, tag: string): Promise<ReadDocument | Problem | null> {
    const options = { ...this.#reading, tag };
    if (typeof this.#place !== 'string') {
      const found = await readDocument(url, showText(url.origin + url.pathname), options);
      const isElsewhere = found !== null && 'from' in found && found.from?.origin !== url.origin;
      return isElsewhere ? { problem: 'redirects to another origin.' } : found;
    }
    const home = dirname(this.#place);
    const path = fileURLToPath(url);
    const shown = showText(relative(home, path));
    // By their real paths: a link may lead out of the directory.
    const [directory, real] = await Promise.all([home, path].map((one) => realpath(one).catch(() => null)));
    if (typeof directory !== 'string' || typeof real !== 'string')
      return { problem: `cannot be read: ${shown} does not exist.` };
    if (!real.startsWith(`${directory}${sep}`)) return NOT_BELOW;
    if (!(await this.#mayRead(real))) return { problem: 'is in the workspace, where tools could change it.' };
    return readDocument(real, shown, options);
  }
}

const inGroups = async <Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> => {
  const results: Result[] = [];
  for (let from = 0; from < items.length; from += AT_ONCE)
    results.push(...(await Promise.all(items.slice(from, from + AT_ONCE).map(work))));
  return results;
};

/** A reference of the document or of a file: the object that has it, and what it leads to. */
type Reference = { readonly owner: JsonRecord; readonly written: string; readonly url: URL; readonly fragment: string };

/** Texts as values, in their order, or why there is none: the words after `which`. */
type ParseTexts = (texts: readonly string[]) => Promise<readonly ({ readonly value: unknown } | Problem)[]>;

/**
 * Reads the files that a document refers to, puts them under `x-recourse-files` of the document, and makes each reference to
 * one a reference within the document. One that is not followed leads nowhere, and says why where it is resolved. Changes
 * the document.
 */
export const joinLinkedFiles = async (root: JsonRecord, files: LinkedFiles, parse: ParseTexts): Promise<void> => {
  const home = files.home.href;
  const { values, problems, references } = await readReferred(root, files, parse);
  const prefixes = namePrefixes([...values.keys()]);
  const unfollowed: Record<string, string> = {};
  for (const { owner, written, url, fragment } of references) {
    const prefix = prefixes.get(url.href);
    const key = `unfollowed:${Object.keys(unfollowed).length}`;
    // A whole file may be a schema; the whole of the document is none, and a name within either is not looked for.
    const isPath = fragment.startsWith('/') || (fragment === '' && url.href !== home);
    if (prefix === undefined)
      unfollowed[key] = `It refers to '${written.slice(0, 200)}', which ${problems.get(url.href)}`;
    Reflect.set(owner, '$ref', prefix === undefined ? key : `${isPath ? prefix : '#'}${fragment}`);
  }
  Reflect.set(root, UNFOLLOWED, unfollowed);
  const linked = [...values].filter(([href]) => href !== home);
  const members = linked.map(([href, value]) => [prefixes.get(href)?.split('/').at(-1), value]);
  Reflect.set(root, LINKED_FILES, Object.fromEntries(members));
};

/** The document and all files that it leads to, by address: each has a value, or a problem. */
const readReferred = async (root: JsonRecord, files: LinkedFiles, parse: ParseTexts) => {
  const values = new Map<string, unknown>([[files.home.href, root]]);
  const problems = new Map<string, string>();
  const references = [...listReferences(root, files.home)];
  for (let open = references; open.length > 0; ) {
    const urls = new Map(open.map(({ url }) => [url.href, url]));
    const unread = [...urls.values()].filter(({ href }) => !values.has(href) && !problems.has(href));
    const read = await readFiles(unread, files, parse);
    open = unread.flatMap((url, place) => {
      const file = read[place] ?? NOT_READ;
      if ('problem' in file) problems.set(url.href, file.problem);
      else values.set(url.href, file.value);
      return 'problem' in file ? [] : listReferences(file.value, url);
    });
    references.push(...open);
  }
  return { values, problems, references };
};

/** What each of them holds; all that were read are parsed together. */
const readFiles = async (urls: readonly URL[], files: LinkedFiles, parse: ParseTexts) => {
  const read = await inGroups(urls, async (url) => {
    const objection = files.findObjection(url);
    return objection === null ? files.read(url) : { problem: objection };
  });
  const parsed = (await parse(read.flatMap((one) => ('text' in one ? [one.text] : [])))).values();
  return read.map((one) => ('problem' in one ? one : (parsed.next().value ?? NOT_READ)));
};

// Whose members have names of the document's own.
const NAMED: ReadonlySet<string> = new Set([
  ...['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions', 'responses', 'headers', 'content'],
  ...['paths', 'schemas', 'parameters', 'requestBodies', 'securitySchemes'],
]);

/** All references of one file, but those of examples and of answers that are no success. */
const listReferences = (file: unknown, base: URL): readonly Reference[] => {
  const references: Reference[] = [];
  const open: { readonly value: unknown; readonly hasNames: boolean }[] = [{ value: file, hasNames: true }];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    const { value, hasNames } = node;
    const written = memberOf(value, '$ref');
    if (isRecord(value) && typeof written === 'string') references.push(readReference(value, written, base));
    for (const [key, member] of listMembers(value, hasNames))
      if (typeof member === 'object') open.push({ value: member, hasNames: NAMED.has(key) });
  }
  return references;
};

const listMembers = (value: unknown, hasNames: boolean): readonly (readonly [string, unknown])[] => {
  if (typeof value !== 'object' || value === null) return [];
  const members = Object.entries(value);
  if (!hasNames || Array.isArray(value)) return members.filter(([key]) => !/^(examples?$|x-)/.test(key));
  const isOfStatuses = members.some(([name]) => /^[1-5](\d\d|XX)$/i.test(name));
  return isOfStatuses ? members.filter(([key]) => !/^(default|[145](\d\d|XX))$/i.test(key)) : members;
};

const readReference = (owner: JsonRecord, written: string, base: URL): Reference => {
  const [address = '', ...rest] = written.split('#');
  // What is no URL leads to a place that is never read.
  const url = URL.parse(address, base.href) ?? new URL('invalid:');
  return { owner, written, url, fragment: rest.join('#') };
};

/** `models/droplet.yml` → `#/x-recourse-files/droplet`, as a definition of it will be called; `#` for the document itself. */
const namePrefixes = ([home = '', ...hrefs]: readonly string[]): ReadonlyMap<string, string> => {
  const prefixes = new Map([[home, '#']]);
  const used = new Set<string>();
  for (const href of hrefs) {
    const file = (new URL(href).pathname.split('/').at(-1) ?? '').replace(/\.(ya?ml|json)$/i, '');
    const stem = file.replace(/%[0-9a-f]{2}|[^A-Za-z0-9_-]/gi, '_').slice(0, 60) || 'file';
    let name = stem;
    for (let count = 2; used.has(name); count += 1) name = `${stem}_${count}`;
    used.add(name);
    prefixes.set(href, `#/${LINKED_FILES}/${name}`);
  }
  return prefixes;
};
