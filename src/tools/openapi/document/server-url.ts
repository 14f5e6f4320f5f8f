import { isBelow } from '../../http/pinned-redirects.ts';
import { DocumentProblem } from './document-problem.ts';
import { isRecord, type JsonRecord, listAt, memberOf, recordAt, textAt } from './json-record.ts';
import { OperationProblem } from './references.ts';

/** The URL of a server with the defaults of its variables, made absolute by where the document is; null where it is none. */
export const toServerUrl = (server: unknown, documentUrl: URL | null): URL | null => {
  if (!isRecord(server)) return null;
  const variables = recordAt(server, 'variables');
  const text = (textAt(server, 'url') ?? '/').replace(/\{([^{}]*)\}/g, (_, name: string) => {
    return textAt(recordAt(variables, name), 'default') ?? '';
  });
  const url = URL.parse(text, documentUrl?.href);
  return url === null || !/^https?:$/.test(url.protocol) ? null : url;
};

/** A base without query, fragment and final slash. Throws a DocumentProblem where credentials are part of it. */
export const toBase = (url: URL): URL => {
  if (url.username !== '' || url.password !== '')
    throw new DocumentProblem('The base URL must not hold a user name or password: use auth.');
  return new URL(url.origin + url.pathname.replace(/\/+$/, ''));
};

const isOfAnyScheme = (server: unknown): boolean => isRecord(server) && (textAt(server, 'url') ?? '').startsWith('//');

/** The first server of the document; where it has none, and each of its operations has, the first of theirs. */
export const usualServerOf = (root: JsonRecord): unknown => {
  const [own] = listAt(root, 'servers');
  if (own !== undefined) return own;
  const firsts = Object.values(recordAt(root, 'paths')).filter(isRecord).flatMap(firstServersOf);
  return firsts.length > 0 && firsts.every((server) => server !== undefined) ? firsts[0] : { url: '/' };
};

const firstServersOf = (item: JsonRecord): readonly unknown[] =>
  OPERATIONS.flatMap((method) => {
    const operation = memberOf(item, method);
    return isRecord(operation) ? [listAt(operation, 'servers')[0] ?? listAt(item, 'servers')[0]] : [];
  });

const OPERATIONS = ['get', 'head', 'options', 'put', 'post', 'patch', 'delete', 'trace'] as const;

export type OperationBaseOptions = {
  /** The `servers` of the operation itself, or of its path. */
  readonly own: readonly unknown[];
  /** As `usualServerOf` gives it. */
  readonly usual: unknown;
  readonly documentUrl: URL | null;
  readonly base: URL;
  /** Where requests may go beside the base. */
  readonly allowed: readonly URL[];
};

/**
 * What the requests of one operation stay below: the first of its own servers that is the document's, lies below the
 * base, or on a server that the settings allow. Throws an OperationProblem where none is.
 */
export const chooseOperationBase = ({ own, usual, documentUrl, base, allowed }: OperationBaseOptions): URL => {
  if (own.length === 0) return base;
  const near = documentUrl ?? base;
  const usualUrl = toServerUrl(usual, near);
  const servers = own.map((server) => toServerUrl(server, near)).filter((url) => url !== null);
  for (const server of servers.filter(({ username, password }) => username === '' && password === '')) {
    const place = toBase(server);
    if (usualUrl !== null && isSamePlace(place, usualUrl, usual)) return base;
    if ([base, ...allowed].some((one) => isBelow(place, one))) return place;
  }
  const shown = servers[0]?.origin ?? 'not a URL';
  throw new OperationProblem(`It is served by another server (${shown}): name it in servers if it may be asked.`);
};

// `//api.example/v1` is served by either scheme.
const isSamePlace = (one: URL, other: URL, usual: unknown): boolean =>
  (one.origin === other.origin || (one.host === other.host && isOfAnyScheme(usual))) &&
  one.pathname.replace(/\/+$/, '') === other.pathname.replace(/\/+$/, '');

export type BaseOptions = {
  readonly root: JsonRecord;
  readonly documentUrl: URL | null;
  readonly baseUrl: string | undefined;
  readonly sendsCredentials: 'yes' | 'no';
};

/**
 * What all requests stay below: the setting, else the first server of the document. Throws a DocumentProblem where there
 * is neither, and where a document from the network would choose who gets the credentials.
 */
export const chooseBase = ({ root, documentUrl, baseUrl, sendsCredentials }: BaseOptions): URL => {
  if (baseUrl !== undefined) return toBase(new URL(baseUrl));
  const server = toServerUrl(usualServerOf(root), documentUrl);
  if (server === null) throw new DocumentProblem('The document names no absolute server: set baseUrl.');
  const base = toBase(server);
  if (sendsCredentials === 'yes' && documentUrl !== null && documentUrl.origin !== base.origin)
    throw new DocumentProblem(
      `The document comes from ${documentUrl.origin} and names the server ${base.origin}; credentials go there only if baseUrl says so.`,
    );
  return base;
};
