import { Problem } from '../../src/contract/problem.ts';
import { SessionView } from '../../src/contract/session.ts';
import { toPlainText } from './plain-text.ts';
import type { SessionOptions } from './read-options.ts';

export type AskedSession =
  | { readonly ok: true; readonly view: SessionView; readonly body: unknown }
  | { readonly ok: false; readonly problem: string };

// Reducers get a second each, and there may be some.
const TIME_LIMIT_MS = 30_000;

/** Asks a service for a session. Never rejects: what went wrong is said in a sentence that tells what to do. */
export const askSession = async (options: SessionOptions): Promise<AskedSession> => {
  try {
    const answer = await fetch(toAddress(options), {
      headers: options.key === null ? {} : { authorization: `Bearer ${options.key}` },
      redirect: 'error',
      signal: AbortSignal.timeout(TIME_LIMIT_MS),
    });
    const body = parse(await answer.text());
    if (answer.status !== 200) return failed(toRefusal(answer.status, body, options));
    const view = SessionView.safeParse(body);
    return view.success ? { ok: true, view: view.data, body } : failed(toStranger(options.url));
  } catch (error) {
    return failed(toUnreachable(error, options.url));
  }
};

const failed = (problem: string): AskedSession => ({ ok: false, problem });

const toAddress = ({ url, id }: SessionOptions): URL => {
  const address = new URL(url);
  address.pathname = `${url.pathname.replace(/\/$/, '')}/sessions/${encodeURIComponent(id)}`;
  address.search = '';
  address.hash = '';
  return address;
};

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch (_notJson) {
    return null;
  }
};

const toRefusal = (status: number, body: unknown, { url, key }: SessionOptions): string => {
  if (status === 401)
    return key === null
      ? 'The service asks for an API key: set RECOURSE_API_KEY, or give --key.'
      : 'The service does not know this API key: check RECOURSE_API_KEY, or --key.';
  const problem = Problem.safeParse(body);
  return problem.success ? `HTTP ${status}: ${toPlainText(problem.data.detail)}` : toStranger(url);
};

const toStranger = ({ origin }: URL): string =>
  `What answers at ${origin} does not answer as Recourse does. Is --url (or RECOURSE_URL) right, and the service of this version?`;

const toUnreachable = (error: unknown, { origin }: URL): string => {
  if (error instanceof Error && error.name === 'TimeoutError')
    return `The service at ${origin} did not answer within ${TIME_LIMIT_MS / 1000} s.`;
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  const why = cause instanceof Error ? `${Reflect.get(cause, 'code') ?? cause.message}` : String(cause);
  return `The service at ${origin} cannot be reached (${toPlainText(why)}). Start it with npm start, or give --url (or RECOURSE_URL).`;
};
