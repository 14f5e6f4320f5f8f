import { Problem } from '../../contract/problem.ts';
import { parseJson } from '../../json/parse-json.ts';
import { toPlainText } from '../terminal/plain-text.ts';
import type { ServiceAddress } from './service-address.ts';

export type Asked<Body> =
  | { readonly ok: true; readonly body: Body; readonly raw: unknown }
  | { readonly ok: false; readonly status: number | null; readonly problem: string };

type Question<Body> = {
  readonly path: string;
  /** Sent as JSON by POST; left out: GET. */
  readonly body?: unknown;
  /** What the answer must be; null where it is something else. */
  readonly read: (answer: unknown) => Body | null;
  /** How long the answer may take, in milliseconds. */
  readonly timeLimitMs: number;
};

/** Asks a service one thing. Never rejects: what went wrong is said in a sentence that tells what to do. */
export const askService = async <Body>(address: ServiceAddress, question: Question<Body>): Promise<Asked<Body>> => {
  const { path, body, read, timeLimitMs } = question;
  try {
    const answer = await fetch(toTarget(address.url, path), {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        ...(address.key === null ? {} : { authorization: `Bearer ${address.key}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      redirect: 'error',
      signal: AbortSignal.timeout(timeLimitMs),
    });
    const parsed = parseJson(await answer.text());
    const raw = parsed.ok ? parsed.value : null;
    if (answer.status !== 200) return failed(toRefusal(answer.status, raw, address), answer.status);
    const understood = read(raw);
    return understood === null ? failed(toStranger(address.url), 200) : { ok: true, body: understood, raw };
  } catch (error) {
    return failed(toUnreachable(error, address.url, timeLimitMs), null);
  }
};

const failed = (problem: string, status: number | null) => ({ ok: false, status, problem }) as const;

const toTarget = (url: URL, path: string): URL => {
  const target = new URL(url);
  target.pathname = `${url.pathname.replace(/\/$/, '')}${path}`;
  target.search = '';
  target.hash = '';
  return target;
};

const toRefusal = (status: number, body: unknown, { url, key }: ServiceAddress): string => {
  if (status === 401)
    return key === null
      ? 'The service asks for an API key: set RECOURSE_API_KEY, or give --key.'
      : 'The service does not know this API key: check RECOURSE_API_KEY, or --key.';
  const problem = Problem.safeParse(body);
  return problem.success ? `HTTP ${status}: ${toPlainText(problem.data.detail)}` : toStranger(url);
};

const toStranger = ({ origin }: URL): string =>
  `What answers at ${origin} does not answer as Recourse does. Is --url (or RECOURSE_URL) right, and the service of this version?`;

const toUnreachable = (error: unknown, { origin }: URL, timeLimitMs: number): string => {
  if (error instanceof Error && error.name === 'TimeoutError')
    return `The service at ${origin} did not answer within ${timeLimitMs / 1000} s.`;
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  const why = cause instanceof Error ? `${Reflect.get(cause, 'code') ?? cause.message}` : String(cause);
  return `The service at ${origin} cannot be reached (${toPlainText(why)}). Start it with npm start or recourse, or give --url (or RECOURSE_URL).`;
};
