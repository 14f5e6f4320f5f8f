import { isRecord, type JsonRecord, memberOf, recordAt } from './json-record.ts';
import type { LinkedFiles } from './linked-files.ts';
import { followPointer, LINKED_FILES, UNFOLLOWED } from './references.ts';

export type JoinOptions = {
  readonly files: LinkedFiles;
  /** Texts as values, in their order, or why there is none: the words after `which`. */
  readonly parse: (texts: readonly string[]) => Promise<readonly ParsedFile[]>;
};

export type ParsedFile = { readonly value: unknown } | { readonly problem: string };

/** A document or a file that it refers to, and what its own references become. */
type Holder = {
  readonly url: URL;
  readonly value: unknown;
  /** `#` of the document itself, `#/x-recourse-files/name` of a file. */
  readonly prefix: string;
};

type Join = {
  readonly options: JoinOptions;
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
export const joinLinkedFiles = async (root: JsonRecord, options: JoinOptions): Promise<void> => {
  const document: Holder = { url: withoutFragment(options.files.home), value: root, prefix: '#' };
  const join: Join = {
    options,
    document,
    holders: new Map([[document.url.href, document]]),
    names: new Set(),
    problems: new Map(),
    unfollowed: new Map(),
    visited: new WeakSet(),
    open: toStart(root, document),
    waiting: [],
  };
  lookThrough(join);
  while (join.waiting.length > 0) {
    await readWaiting(join);
    lookThrough(join);
  }
  if (join.unfollowed.size > 0) Reflect.set(root, UNFOLLOWED, Object.fromEntries(join.unfollowed));
  if (join.holders.size === 1) return;
  const files = [...join.holders.values()].slice(1).map(({ prefix, value }) => [prefix.split('/').at(-1), value]);
  Reflect.set(root, LINKED_FILES, Object.fromEntries(files));
};

// What operations are made of; the rest of a document is looked at where one refers to it.
const toStart = (root: JsonRecord, holder: Holder): Node[] => [
  { value: memberOf(root, 'paths'), holder, keys: 'names' },
  { value: memberOf(recordAt(root, 'components'), 'securitySchemes'), holder, keys: 'names' },
  { value: memberOf(root, 'securityDefinitions'), holder, keys: 'names' },
];

const withoutFragment = (url: URL): URL => {
  const plain = new URL(url);
  plain.hash = '';
  return plain;
};

const lookThrough = (join: Join): void => {
  for (let node = join.open.pop(); node !== undefined; node = join.open.pop()) {
    const { value } = node;
    if (typeof value !== 'object' || value === null || join.visited.has(value)) continue;
    join.visited.add(value);
    if (isRecord(value)) lookAtReference(join, value, node.holder);
    addMembers(join, value, node);
  }
};

const addMembers = ({ open }: Join, value: object, node: Node): void => {
  for (const [key, member] of Object.entries(value))
    if (!isLeftOut(key, node))
      open.push({ value: member, holder: node.holder, keys: NAMED.has(key) ? 'names' : 'keywords' });
};

// Whose members are called as the document likes.
const NAMED: ReadonlySet<string> = new Set([
  ...['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions', 'responses', 'headers', 'content'],
]);

// Examples are not followed, and of the answers only what a success looks like.
const isLeftOut = (key: string, { value, keys }: Node): boolean => {
  if (keys === 'names') return /^(default|[145](\d\d|XX))$/i.test(key) && isRecord(value) && isResponses(value);
  return key === 'example' || key === 'examples' || key.startsWith('x-');
};

const isResponses = (value: JsonRecord): boolean => Object.keys(value).some((key) => /^([1-5](\d\d|XX))$/i.test(key));

const lookAtReference = (join: Join, place: JsonRecord, holder: Holder): void => {
  const reference = memberOf(place, '$ref');
  if (typeof reference === 'string') followReference(join, place, holder, reference);
};

const followReference = (join: Join, place: JsonRecord, holder: Holder, reference: string): void => {
  const [address = '', ...rest] = reference.split('#');
  const fragment = rest.join('#');
  const url = address === '' ? holder.url : URL.parse(address, holder.url.href);
  const known = url === null ? undefined : join.holders.get(url.href);
  const objection =
    url === null ? 'is not a URL.' : (join.problems.get(url.href) ?? join.options.files.objectionTo(url));
  if (known !== undefined) leadTo(join, place, known, fragment);
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

const NOT_READ = { problem: 'was not read.' } as const;

/** What each of them holds; all that were read are parsed together. */
const readFiles = async ({ options }: Join, urls: readonly URL[]): Promise<readonly ParsedFile[]> => {
  const read = await options.files.read(urls);
  const parsed = await options.parse(read.flatMap((one) => ('text' in one ? [one.text] : [])));
  const left = parsed.values();
  return read.map((one) => ('text' in one ? (left.next().value ?? NOT_READ) : one));
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
