import { toPlainText } from 'recourse-server/cli/terminal';
import type { LoadedEnvironment } from 'recourse-server/config/read-configuration';
import { Problem } from 'recourse-server/contract/tool-result';
import { parseJson } from 'recourse-server/json/parse-json';
import { CommandFailed, WrongUse } from './command-output.ts';

const DEFAULT_URL = 'http://127.0.0.1:8080';

/** Where a running service is, and as whom it is asked. */
export type ServiceAddress = { readonly url: URL; readonly key: string | null };

/** Each as it was written on the command line. */
export type AddressWords = {
  readonly url?: string | undefined;
  readonly key?: string | undefined;
  readonly envFile?: string | undefined;
};

/** The service that the options name, else RECOURSE_URL and RECOURSE_API_KEY, of which an empty one is as good as none. */
export const findServiceAddress = (words: AddressWords, loaded: LoadedEnvironment): ServiceAddress => {
  const { variables } = loaded;
  const url = toBase(words.url ?? (variables['RECOURSE_URL'] || DEFAULT_URL));
  const key = words.key ?? (variables['RECOURSE_API_KEY'] || null);
  if (url === null) throw new WrongUse(`--url (or RECOURSE_URL) must be a URL such as ${DEFAULT_URL}.`);
  // What a header can carry.
  if (key !== null && !/^[\x21-\x7e]+$/.test(key))
    throw new WrongUse('The API key must be printable ASCII without spaces.');
  if (isLuredAway(words, loaded))
    throw new WrongUse(
      `RECOURSE_URL comes from ${loaded.file}, but the API key does not: pass --url to confirm where the key is sent.`,
    );
  return { url, key };
};

/** Whether a `.env` that happens to lie in the working directory says where a key goes that it does not know. */
const isLuredAway = ({ url, key, envFile }: AddressWords, { file, before, variables }: LoadedEnvironment): boolean =>
  file !== null &&
  envFile === undefined &&
  url === undefined &&
  before['RECOURSE_URL'] === undefined &&
  Boolean(variables['RECOURSE_URL']) &&
  Boolean(key ?? before['RECOURSE_API_KEY']);

const toBase = (text: string): URL | null => {
  const url = URL.parse(text);
  if (url === null || !['http:', 'https:'].includes(url.protocol)) return null;
  // Nothing that Recourse would ask for, and fetch would repeat it in its error.
  return url.username === '' && url.password === '' ? url : null;
};

type Question<Body> = {
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Sent as JSON by POST; left out: GET. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** What the answer must be; null where it is something else. */
  readonly read: (answer: unknown) => Body | null;
  /** How long the answer may take, in milliseconds. */
  readonly timeLimitMs: number;
};

/** Asks a service one thing. Rejects with `CommandFailed`, which says what to do; its status is that of the answer. */
export const askService = async <Body>(
  address: ServiceAddress,
  question: Question<Body>,
): Promise<{ readonly body: Body; readonly raw: unknown }> => {
  const { status, text } = await send(address, question);
  const parsed = parseJson(text);
  const raw = parsed.ok ? parsed.value : null;
  if (status !== 200) throw new CommandFailed(explainRefusal(status, raw, address), status);
  const body = question.read(raw);
  if (body === null) throw new CommandFailed(explainStranger(address.url));
  return { body, raw };
};

const send = async <Body>(
  { url, key }: ServiceAddress,
  { path, query, body, headers, timeLimitMs }: Question<Body>,
) => {
  try {
    const answer = await fetch(describeTarget(url, path, query), {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        ...headers,
        ...(key === null ? {} : { authorization: `Bearer ${key}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: body === undefined ? null : JSON.stringify(body),
      redirect: 'error',
      signal: AbortSignal.timeout(timeLimitMs),
    });
    return { status: answer.status, text: await answer.text() };
  } catch (error) {
    throw new CommandFailed(explainUnreachable(error, url, timeLimitMs));
  }
};

const describeTarget = (url: URL, path: string, query: Question<unknown>['query'] = {}): URL => {
  const target = new URL(url);
  target.pathname = `${url.pathname.replace(/\/$/, '')}${path}`;
  target.search = String(new URLSearchParams(query));
  target.hash = '';
  return target;
};

const explainRefusal = (status: number, body: unknown, { url, key }: ServiceAddress): string => {
  if (status === 401)
    return key === null
      ? 'The service requires an API key: set RECOURSE_API_KEY, or pass --key.'
      : 'The service rejected this API key: check RECOURSE_API_KEY, or --key.';
  const problem = Problem.safeParse(body);
  return problem.success ? `HTTP ${status}: ${toPlainText(problem.data.detail)}` : explainStranger(url);
};

const explainStranger = ({ origin }: URL): string =>
  `The answer of ${origin} is not one of Recourse. Check --url (or RECOURSE_URL), and the version of the service.`;

const explainUnreachable = (error: unknown, { origin }: URL, timeLimitMs: number): string => {
  if (error instanceof Error && error.name === 'TimeoutError')
    return `The service at ${origin} did not answer within ${timeLimitMs / 1000} s.`;
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  const why = cause instanceof Error ? `${Reflect.get(cause, 'code') ?? cause.message}` : String(cause);
  return `The service at ${origin} cannot be reached (${toPlainText(why)}). Start it with npm start or recourse, or set --url (or RECOURSE_URL).`;
};
