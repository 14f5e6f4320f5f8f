import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { ACCEPT_ENCODING } from '@recourse/toolkit-kit/egress/bounded-body';
import { codeOf } from '@recourse/toolkit-kit/egress/error-code';
import type { NoAnswer } from '@recourse/toolkit-kit/egress/exchange';
import type { HttpClient } from '@recourse/toolkit-kit/egress/http-client';
import { isSuccess } from '@recourse/toolkit-kit/egress/response-status';
import { toText } from '@recourse/toolkit-kit/egress/text-content';
import { TerminalToolError, UpstreamToolError } from 'recourse-server/tools/tool-errors';

/** Why a document cannot be used at all: one line for people. */
export class DocumentProblem extends Error {
  override readonly name: string = 'DocumentProblem';
}

/** Where a document is: a URL, or the absolute path of a file. */
export type DocumentPlace =
  | { readonly kind: 'url'; readonly url: URL }
  | { readonly kind: 'file'; readonly path: string };

export const toDocumentPlace = (document: string, directory: string): DocumentPlace => {
  const url = /^https?:\/\//i.test(document) ? URL.parse(document) : null;
  return url === null ? { kind: 'file', path: resolve(directory, document) } : { kind: 'url', url };
};

/** A document as it was read. `version` differs where its text does; `tag` is what the next look may send or compare. */
export type ReadDocument = {
  readonly text: string;
  readonly version: string;
  readonly tag: string;
  /** Of a URL: the one that answered in the end. */
  readonly from?: URL;
};

export type ReadOptions = {
  readonly importName: string;
  readonly openClient: () => Promise<HttpClient>;
  readonly signal: AbortSignal;
  /** Of the last look; '' = read whatever is there. */
  readonly tag: string;
  /** How a failure speaks of it: the words that `cannot be read` follows. */
  readonly subject: string;
};

const MOST_BYTES = 67_108_864;
const READ_LIMIT_MS = 9_000;

/**
 * Reads a document, or a file that one refers to; `shown` is its path or address as a failure shows it. null where nothing
 * changed since the look that gave `tag`. Throws a DocumentProblem, or what the system says.
 */
export const readDocument = (
  place: DocumentPlace,
  shown: string,
  options: ReadOptions,
): Promise<ReadDocument | null> =>
  place.kind === 'file' ? readFromFile(place.path, shown, options) : readFromUrl(place.url, shown, options);

const versionOf = (text: string): string => createHash('sha256').update(text).digest('base64url');

const readFromFile = async (
  path: string,
  shown: string,
  { subject, tag }: ReadOptions,
): Promise<ReadDocument | null> => {
  const refuse = (error: unknown): never => {
    const code = codeOf(error);
    throw new DocumentProblem(`${subject} cannot be read: ${shown} ${FILE_PROBLEMS.get(code) ?? `(${code})`}.`);
  };
  const found = await stat(path).catch(refuse);
  if (!found.isFile()) throw new DocumentProblem(`${subject} cannot be read: ${shown} is not a file.`);
  if (found.size > MOST_BYTES) throw new DocumentProblem(`${subject} is larger than ${MOST_BYTES} bytes.`);
  const seen = `${found.ino} ${found.size} ${found.mtimeMs}`;
  if (seen === tag) return null;
  const text = await readFile(path, 'utf8').catch(refuse);
  return { text, version: versionOf(text), tag: seen };
};

const FILE_PROBLEMS: ReadonlyMap<string, string> = new Map([
  ['ENOENT', 'does not exist'],
  ['ENOTDIR', 'does not exist'],
  ['EACCES', 'is not readable by this user'],
]);

const readFromUrl = async (
  url: URL,
  shown: string,
  { subject, tag, signal, importName, openClient }: ReadOptions,
): Promise<ReadDocument | null> => {
  const headers = {
    accept: 'application/json, application/yaml;q=0.9, */*;q=0.5',
    'accept-encoding': ACCEPT_ENCODING,
    'user-agent': 'recourse-openapi',
    ...(tag === '' ? {} : { 'if-none-match': tag }),
  };
  const client = await openClient();
  const fetched = await client.get({ url, headers, maxBytes: MOST_BYTES, limitMs: READ_LIMIT_MS, signal });
  const refuse = (reason: string): never => {
    throw new DocumentProblem(`${subject} cannot be read from ${shown}: ${reason}`);
  };
  if (fetched.kind === 'no_answer') {
    const { message, hint } = createSilenceFailure(fetched, importName);
    return refuse(hint === undefined ? message : `${message} ${hint}`);
  }
  if (fetched.status === 304) return null;
  if (!isSuccess(fetched.status)) return refuse(`HTTP ${fetched.status}.`);
  if (fetched.body.cut !== null) return refuse('It is too large, or arrived too slowly.');
  const text = toText(fetched.body.bytes, 'text/plain; charset=utf-8', 'complete') ?? '';
  return { text, version: versionOf(text), tag: fetched.headers.get('etag') ?? '', from: fetched.url };
};

/** The error for a request that has no answer. `executed` is `no` where it was never sent, else `maybe`. */
export const createSilenceFailure = (
  { reason, executed, code, cause }: NoAnswer,
  importName: string,
): TerminalToolError | UpstreamToolError => {
  if (reason === 'address_refused')
    return new TerminalToolError('The API is at an address that is not public; no request was sent.', {
      executed,
      hint: `A human must correct the setting 'privateAddresses' of the OpenAPI import '${importName}'.`,
      cause,
    });
  return new UpstreamToolError('upstream_unavailable', `${TEXTS[reason]} (${code}).`, { executed, cause });
};

const TEXTS = {
  not_sent: 'The request cannot be sent',
  no_such_host: 'The host of the API does not exist',
  lookup_failed: 'The address of the API could not be resolved',
  not_connected: 'No connection to the API',
  bad_certificate: 'No secure connection to the API',
  lost: 'The connection to the API broke before the answer was complete',
  too_slow: 'The API did not answer in time',
  unreadable: 'The API sent an answer that cannot be read',
} as const satisfies Record<Exclude<NoAnswer['reason'], 'address_refused'>, string>;
