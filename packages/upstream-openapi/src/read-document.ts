import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { ACCEPT_ENCODING } from '@recourse/toolkit-kit/egress/bounded-body';
import { codeOf } from '@recourse/toolkit-kit/egress/error-code';
import type { NoAnswer } from '@recourse/toolkit-kit/egress/exchange';
import type { HttpClient } from '@recourse/toolkit-kit/egress/http-client';
import { isSuccess } from '@recourse/toolkit-kit/egress/response-status';
import { toText } from '@recourse/toolkit-kit/egress/text-content';
import { RetryableToolError, TerminalToolError, UpstreamToolError } from 'recourse-server/tools/tool-errors';

/** Why a document cannot be used at all: one line for people. */
export class DocumentProblem extends Error {
  override readonly name: string = 'DocumentProblem';
}

/** Where a document is: a URL, or the absolute path of a file. */
export type DocumentPlace = URL | string;

export const findDocument = (document: string, directory: string): DocumentPlace =>
  (/^https?:\/\//i.test(document) ? URL.parse(document) : null) ?? resolve(directory, document);

/** Why there is no document, as the words that `The document` goes before. */
export type Problem = { readonly problem: string };

/** A document as it was read. `version` differs where its text does; `tag` is what the next reading may send or compare. */
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
};

const MOST_BYTES = 67_108_864;
const READ_LIMIT_MS = 9_000;

/**
 * Reads a document, or a file that one refers to; `shown` is its path or address as a problem shows it. `tag`: of the last
 * reading; '' = read whatever is there. null where nothing changed since. Rejects with what the system says.
 */
export const readDocument = (
  place: DocumentPlace,
  shown: string,
  options: ReadOptions & { readonly tag: string },
): Promise<ReadDocument | Problem | null> =>
  typeof place === 'string' ? readFromFile(place, shown, options.tag) : readFromUrl(place, shown, options);

const versionOf = (text: string): string => createHash('sha256').update(text).digest('base64url');

const FILE_PROBLEMS: ReadonlyMap<string, string> = new Map([
  ['ENOENT', 'does not exist'],
  ['ENOTDIR', 'does not exist'],
  ['EACCES', 'is not readable by this user'],
]);

const readFromFile = async (path: string, shown: string, tag: string): Promise<ReadDocument | Problem | null> => {
  try {
    const found = await stat(path);
    if (!found.isFile()) return { problem: `cannot be read: ${shown} is not a file.` };
    if (found.size > MOST_BYTES) return { problem: `is larger than ${MOST_BYTES} bytes.` };
    const seen = `${found.ino} ${found.size} ${found.mtimeMs}`;
    if (seen === tag) return null;
    const text = await readFile(path, 'utf8');
    return { text, version: versionOf(text), tag: seen };
  } catch (thrown) {
    const code = codeOf(thrown);
    return { problem: `cannot be read: ${shown} ${FILE_PROBLEMS.get(code) ?? `(${code})`}.` };
  }
};

const readFromUrl = async (
  url: URL,
  shown: string,
  { tag, signal, importName, openClient }: ReadOptions & { readonly tag: string },
): Promise<ReadDocument | Problem | null> => {
  const headers = {
    accept: 'application/json, application/yaml;q=0.9, */*;q=0.5',
    'accept-encoding': ACCEPT_ENCODING,
    'user-agent': 'recourse-openapi',
    ...(tag === '' ? {} : { 'if-none-match': tag }),
  };
  const refuse = (reason: string): Problem => ({ problem: `cannot be read from ${shown}: ${reason}` });
  const client = await openClient();
  const fetched = await client
    .get({ url, headers, maxBytes: MOST_BYTES, limitMs: READ_LIMIT_MS, signal })
    .catch(explainRedirect);
  if (typeof fetched === 'string') return refuse(fetched);
  if (fetched.kind === 'no_answer') {
    const { message, hint = '' } = createSilenceFailure(fetched, importName);
    return refuse(`${message} ${hint}`.trim());
  }
  if (fetched.status === 304) return null;
  if (!isSuccess(fetched.status)) return refuse(`HTTP ${fetched.status}.`);
  if (fetched.body.cut !== null) return refuse('It is too large, or arrived too slowly.');
  const text = toText(fetched.body.bytes, 'text/plain; charset=utf-8', 'complete') ?? '';
  return { text, version: versionOf(text), tag: fetched.headers.get('etag') ?? '', from: fetched.url };
};

/** Why a redirect is not followed. */
const explainRedirect = (thrown: unknown): string => {
  if (thrown instanceof RetryableToolError) return thrown.message;
  throw thrown;
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
