import { DocumentProblem } from './document-problem.ts';
import { isRecord, type JsonRecord, listAt, recordAt, textAt } from './json-record.ts';

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
  const server = toServerUrl(listAt(root, 'servers')[0] ?? { url: '/' }, documentUrl);
  if (server === null) throw new DocumentProblem('The document names no absolute server: set baseUrl.');
  const base = toBase(server);
  if (sendsCredentials === 'yes' && documentUrl !== null && documentUrl.origin !== base.origin)
    throw new DocumentProblem(
      `The document comes from ${documentUrl.origin} and names the server ${base.origin}; credentials go there only if baseUrl says so.`,
    );
  return base;
};
