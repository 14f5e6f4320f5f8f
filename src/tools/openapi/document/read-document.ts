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
export type ReadDocument = { readonly text: string; readonly version: string; readonly tag: string };

export type DocumentReader = {
  /** null where nothing changed since the look that gave `tag`. Throws a DocumentProblem, or what the system says. */
  readonly read: (tag: string, signal: AbortSignal) => Promise<ReadDocument | null>;
};

const MOST_BYTES = 67_108_864;
const READ_LIMIT_MS = 9_000;

export const toDocumentPlace = (document: string, directory: string): DocumentPlace => {
  const url = /^https?:\/\//i.test(document) ? URL.parse(document) : null;
  return url === null ? { kind: 'file', path: resolve(directory, document) } : { kind: 'url', url };
};

export const createDocumentReader = (
  place: DocumentPlace,
  means: { readonly importName: string; readonly openClient: () => Promise<HttpClient> },
): DocumentReader => ({
  read: (tag, signal) =>
    place.kind === 'file' ? readDocumentFile(place.path, tag) : readDocumentUrl(place.url, tag, signal, means),
});

const versionOf = (text: string): string => createHash('sha256').update(text).digest('base64url');

const readDocumentFile = async (path: string, tag: string): Promise<ReadDocument | null> => {
  const found = await orFileProblem(path, stat(path));
  if (!found.isFile()) throw new DocumentProblem(`The document cannot be read: ${showText(path)} is not a file.`);
  if (found.size > MOST_BYTES) throw new DocumentProblem(`The document is larger than ${MOST_BYTES} bytes.`);
  const seen = `${found.ino} ${found.size} ${found.mtimeMs}`;
  if (seen === tag) return null;
  const text = await orFileProblem(path, readFile(path, 'utf8'));
  return { text, version: versionOf(text), tag: seen };
};

const orFileProblem = <Found>(path: string, work: Promise<Found>): Promise<Found> =>
  work.then(
    (found) => found,
    (thrown: unknown): never => {
      const code = codeOf(thrown);
      const problem = FILE_PROBLEMS.get(code) ?? `(${code})`;
      throw new DocumentProblem(`The document cannot be read: ${showText(path)} ${problem}.`);
    },
  );

const FILE_PROBLEMS: ReadonlyMap<string, string> = new Map([
  ['ENOENT', 'is not there'],
  ['ENOTDIR', 'is not there'],
  ['EACCES', 'may not be read by this user'],
]);

const readDocumentUrl = async (
  url: URL,
  tag: string,
  signal: AbortSignal,
  { openClient, importName }: { readonly importName: string; readonly openClient: () => Promise<HttpClient> },
): Promise<ReadDocument | null> => {
  const headers = {
    accept: 'application/json, application/yaml;q=0.9, */*;q=0.5',
    'accept-encoding': ACCEPT_ENCODING,
    'user-agent': 'recourse-openapi',
    ...(tag === '' ? {} : { 'if-none-match': tag }),
  };
  const client = await openClient();
  const fetched = await client.get({ url, headers, maxBytes: MOST_BYTES, limitMs: READ_LIMIT_MS, signal });
  if (fetched.kind === 'no_answer') throw toUrlProblem(url, toReason(toSilenceFailure(fetched, importName)));
  if (fetched.status === 304) return null;
  if (!isSuccess(fetched.status)) throw toUrlProblem(url, `HTTP ${fetched.status}.`);
  if (fetched.body.cut !== null) throw toUrlProblem(url, 'It is too large, or came too slowly.');
  const text = toText(fetched.body.bytes, 'text/plain; charset=utf-8', 'complete') ?? '';
  return { text, version: versionOf(text), tag: fetched.headers.get('etag') ?? '' };
};

// Without its query, which may hold a key.
const toUrlProblem = ({ origin, pathname }: URL, reason: string): DocumentProblem =>
  new DocumentProblem(`The document cannot be read from ${showText(origin + pathname)}: ${reason}`);

const toReason = ({ message, hint }: ReturnType<typeof toSilenceFailure>): string =>
  hint === undefined ? message : `${message} ${hint}`;
