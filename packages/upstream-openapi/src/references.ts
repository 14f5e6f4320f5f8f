import { unescape as decodePercent } from 'node:querystring';
import { isBelow } from '@recourse/toolkit-kit/egress/redirects';
import { isRecord, type JsonRecord, listAt, memberOf, recordAt, textAt } from 'recourse-server/contract/json-record';
import type { OpenApiImportSettings } from './openapi-import-settings.ts';
import { DocumentProblem } from './read-document.ts';

/** Why an operation cannot become a tool: one line for people. */
export class OperationProblem extends Error {
  override readonly name: string = 'OperationProblem';
}

// The methods whose operations may become tools, as a document spells them.
export const METHODS = ['get', 'head', 'options', 'put', 'post', 'patch', 'delete', 'trace'] as const;

const MOST_STEPS = 32;

/** Where `joinLinkedFiles` puts what was read for references, and says why a reference was not followed. */
export const LINKED_FILES = 'x-recourse-files';
export const UNFOLLOWED = 'x-recourse-unfollowed';

/** What a reference leads to within a joined document. Throws an OperationProblem where that is nothing. */
export const resolveReference = (root: JsonRecord, reference: string): unknown => {
  const shown = reference.slice(0, 200);
  if (!reference.startsWith('#'))
    throw new OperationProblem(
      textAt(recordAt(root, UNFOLLOWED), reference) ?? `It refers to '${shown}', which is outside the document.`,
    );
  if (!reference.startsWith('#/'))
    throw new OperationProblem(`It refers to '${shown}', which is not a path within the document.`);
  const target = followPointer(root, reference.slice(1));
  if (target === undefined) throw new OperationProblem(`It refers to '${shown}', which the document does not contain.`);
  return target;
};

/** What a JSON Pointer in the form of a fragment leads to (RFC 6901, section 6); undefined where that is nothing. */
export const followPointer = (root: unknown, fragment: string): unknown => {
  let target = root;
  // What is no percent code, or one of no UTF-8, stands for itself or for nothing that is there.
  for (const step of decodePercent(fragment).split('/').slice(1))
    target = childOf(target, step.replaceAll('~1', '/').replaceAll('~0', '~'));
  return target;
};

const childOf = (parent: unknown, name: string): unknown => {
  if (Array.isArray(parent)) return /^\d+$/.test(name) ? parent[Number(name)] : undefined;
  return isRecord(parent) ? memberOf(parent, name) : undefined;
};

/** What a path or an operation is in the end, with what stands beside its reference; or why it cannot be read. */
export const mergeReferred = (root: JsonRecord, item: JsonRecord): JsonRecord | string => {
  if (typeof memberOf(item, '$ref') !== 'string') return item;
  const { $ref: _reference, ...beside } = item;
  try {
    return { ...followReferences(root, item), ...beside };
  } catch (thrown) {
    if (thrown instanceof OperationProblem) return thrown.message;
    throw thrown;
  }
};

/** The object itself, or the one that its `$ref` leads to in the end. Throws an OperationProblem where that is none. */
export const followReferences = (root: JsonRecord, value: unknown): JsonRecord => {
  let current = value;
  for (let step = 0; step < MOST_STEPS; step += 1) {
    if (!isRecord(current)) throw new OperationProblem('It contains a value that must be an object but is not.');
    const reference = memberOf(current, '$ref');
    if (typeof reference !== 'string') return current;
    current = resolveReference(root, reference);
  }
  throw new OperationProblem('It refers to itself endlessly.');
};

/** The URL of a server with the defaults of its variables, made absolute by where the document is; null where it is none. */
const toServerUrl = (server: unknown, documentUrl: URL | null): URL | null => {
  if (!isRecord(server)) return null;
  const variables = recordAt(server, 'variables');
  const text = (textAt(server, 'url') ?? '/').replace(
    /\{([^{}]*)\}/g,
    (_, name: string) => textAt(recordAt(variables, name), 'default') ?? '',
  );
  const url = URL.parse(text, documentUrl?.href);
  return url !== null && /^https?:$/.test(url.protocol) ? url : null;
};

/** A base without query, fragment and final slash. Throws a DocumentProblem where credentials are part of it. */
export const toBase = (url: URL): URL => {
  if (url.username !== '' || url.password !== '')
    throw new DocumentProblem('The base URL must not contain a user name or password: use auth.');
  return new URL(url.origin + url.pathname.replace(/\/+$/, ''));
};

/** The first server of the document; where it has none, and each of its operations has, the first of theirs. */
export const findUsualServer = (root: JsonRecord): unknown => {
  const [own] = listAt(root, 'servers');
  if (own !== undefined) return own;
  const firsts = Object.values(recordAt(root, 'paths')).flatMap((item) =>
    METHODS.map((method) => memberOf(item, method))
      .filter(isRecord)
      .map((operation) => listAt(operation, 'servers')[0] ?? listAt(item, 'servers')[0]),
  );
  return firsts.length > 0 && !firsts.includes(undefined) ? firsts[0] : { url: '/' };
};

/** Where the requests of an import may go. */
export type Servers = {
  /** As `findUsualServer` gives it. */
  readonly usualServer: unknown;
  readonly documentUrl: URL | null;
  /** Of the import. */
  readonly base: URL;
  /** Beside the base. */
  readonly allowed: readonly URL[];
};

/**
 * What the requests of one operation stay below: the first of its own servers (`own`: of it, or of its path) that is the document's, lies below the
 * base, or on a server that the settings allow. Throws an OperationProblem where none is.
 */
export const chooseOperationBase = (
  own: readonly unknown[],
  { usualServer, documentUrl, base, allowed }: Servers,
): URL => {
  if (own.length === 0) return base;
  const near = documentUrl ?? base;
  const usualUrl = toServerUrl(usualServer, near);
  // `//api.example/v1` is served by either scheme.
  const isOfAnyScheme = String(memberOf(usualServer, 'url')).startsWith('//');
  const servers = own.map((server) => toServerUrl(server, near)).filter((url) => url !== null);
  const isUsual = (place: URL): boolean =>
    usualUrl !== null && isSamePlace(place, usualUrl, isOfAnyScheme ? 'host' : 'origin');
  const place = servers
    .filter(({ username, password }) => username === '' && password === '')
    .map(toBase)
    .find((one) => isUsual(one) || [base, ...allowed].some((other) => isBelow(one, other)));
  if (place !== undefined) return isUsual(place) ? base : place;
  const shown = servers[0]?.origin ?? 'not a URL';
  throw new OperationProblem(`It is on another server (${shown}): add that to servers to allow it.`);
};

const isSamePlace = (one: URL, other: URL, by: 'origin' | 'host'): boolean =>
  one[by] === other[by] && one.pathname.replace(/\/+$/, '') === other.pathname.replace(/\/+$/, '');

/**
 * What all requests stay below: the setting, else the first server of the document. Throws a DocumentProblem where there
 * is neither, and where a document from the network would choose who gets the credentials.
 */
export const chooseBase = (
  root: JsonRecord,
  documentUrl: URL | null,
  { baseUrl, auth }: Pick<OpenApiImportSettings, 'baseUrl' | 'auth'>,
): URL => {
  if (baseUrl !== undefined) return toBase(new URL(baseUrl));
  const server = toServerUrl(findUsualServer(root), documentUrl);
  if (server === null) throw new DocumentProblem('The document names no absolute server: set baseUrl.');
  const base = toBase(server);
  if (auth !== undefined && documentUrl !== null && documentUrl.origin !== base.origin)
    throw new DocumentProblem(
      `The document comes from ${documentUrl.origin} but names the server ${base.origin}: set baseUrl to send credentials there.`,
    );
  return base;
};
