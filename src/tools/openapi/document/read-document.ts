import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { ACCEPT_ENCODING } from '../../http/bounded-body.ts';
import { codeOf } from '../../http/error-code.ts';
import type { HttpClient } from '../../http/http-client.ts';
import { isSuccess } from '../../http/is-success.ts';
import { showText } from '../../http/show-url.ts';
import { toText } from '../../http/text-content.ts';
import { DocumentProblem } from './document-problem.ts';
import { toSilenceFailure } from './silence-failure.ts';

/** Where a document is: a URL, or the absolute path of a file. */
export type DocumentPlace =
  | { readonly kind: 'url'; readonly url: URL }
  | { readonly kind: 'file'; readonly path: string };

/** A document as it was read. `version` differs where its text does; `tag` is what the next look may send or compare. */
export type ReadDocument = {
  readonly text: string;
  readonly version: string;
  readonly tag: string;
  /** Of a URL: the one that answered in the end. */
  readonly from?: URL;
};

/** What is read: where it is, and how a failure speaks of it. */
export type ReadSubject = {
  readonly place: DocumentPlace;
  /** The words that `cannot be read` follows. */
  readonly subject: string;
  /** The path or address as a failure shows it. */
  readonly shown: string;
};

export type ReadMeans = { readonly importName: string; readonly openClient: () => Promise<HttpClient> };

const MOST_BYTES = 67_108_864;
const READ_LIMIT_MS = 9_000;

export const toDocumentPlace = (document: string, directory: string): DocumentPlace => {
  const url = /^https?:\/\//i.test(document) ? URL.parse(document) : null;
  return url === null ? { kind: 'file', path: resolve(directory, document) } : { kind: 'url', url };
};

export const toDocumentSubject = (place: DocumentPlace): ReadSubject => ({
  place,
  subject: 'The document',
  // Of a URL without its query, which may hold a key.
  shown: showText(place.kind === 'file' ? place.path : place.url.origin + place.url.pathname),
});

/**
 * Reads a document, or a file that one refers to. null where nothing changed since the look that gave `tag`. Throws a
 * DocumentProblem, or what the system says.
 */
export const readDocument = (
  subject: ReadSubject,
  tag: string,
  signal: AbortSignal,
  means: ReadMeans,
): Promise<ReadDocument | null> =>
  subject.place.kind === 'file'
    ? readDocumentFile(subject, subject.place.path, tag)
    : readDocumentUrl(subject, subject.place.url, { tag, signal, means });

const versionOf = (text: string): string => createHash('sha256').update(text).digest('base64url');

const readDocumentFile = async (about: ReadSubject, path: string, tag: string): Promise<ReadDocument | null> => {
  const { subject, shown } = about;
  const found = await orFileProblem(about, stat(path));
  if (!found.isFile()) throw new DocumentProblem(`${subject} cannot be read: ${shown} is not a file.`);
  if (found.size > MOST_BYTES) throw new DocumentProblem(`${subject} is larger than ${MOST_BYTES} bytes.`);
  const seen = `${found.ino} ${found.size} ${found.mtimeMs}`;
  if (seen === tag) return null;
  const text = await orFileProblem(about, readFile(path, 'utf8'));
  return { text, version: versionOf(text), tag: seen };
};

const orFileProblem = <Found>({ subject, shown }: ReadSubject, work: Promise<Found>): Promise<Found> =>
  work.then(
    (found) => found,
    (thrown: unknown): never => {
      const code = codeOf(thrown);
      const problem = FILE_PROBLEMS.get(code) ?? `(${code})`;
      throw new DocumentProblem(`${subject} cannot be read: ${shown} ${problem}.`);
    },
  );

const FILE_PROBLEMS: ReadonlyMap<string, string> = new Map([
  ['ENOENT', 'is not there'],
  ['ENOTDIR', 'is not there'],
  ['EACCES', 'may not be read by this user'],
]);

type Asking = { readonly tag: string; readonly signal: AbortSignal; readonly means: ReadMeans };

const readDocumentUrl = async (
  { subject, shown }: ReadSubject,
  url: URL,
  { tag, signal, means }: Asking,
): Promise<ReadDocument | null> => {
  const headers = {
    accept: 'application/json, application/yaml;q=0.9, */*;q=0.5',
    'accept-encoding': ACCEPT_ENCODING,
    'user-agent': 'recourse-openapi',
    ...(tag === '' ? {} : { 'if-none-match': tag }),
  };
  const client = await means.openClient();
  const fetched = await client.get({ url, headers, maxBytes: MOST_BYTES, limitMs: READ_LIMIT_MS, signal });
  const refuse = (reason: string): never => {
    throw new DocumentProblem(`${subject} cannot be read from ${shown}: ${reason}`);
  };
  if (fetched.kind === 'no_answer') return refuse(toReason(toSilenceFailure(fetched, means.importName)));
  if (fetched.status === 304) return null;
  if (!isSuccess(fetched.status)) return refuse(`HTTP ${fetched.status}.`);
  if (fetched.body.cut !== null) return refuse('It is too large, or came too slowly.');
  const text = toText(fetched.body.bytes, 'text/plain; charset=utf-8', 'complete') ?? '';
  return { text, version: versionOf(text), tag: fetched.headers.get('etag') ?? '', from: fetched.url };
};

const toReason = ({ message, hint }: ReturnType<typeof toSilenceFailure>): string =>
  hint === undefined ? message : `${message} ${hint}`;
