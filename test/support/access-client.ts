import { hash } from 'node:crypto';
import { expect } from 'vitest';
import { SessionView } from '#src/contract/session.ts';
import { Problem } from '#src/contract/tool-result.ts';

/** The entry of a key, as API_KEYS and API_KEYS_FILE have it. */
export const toKeyEntry = (tenant: string, key: string, attributes = ''): string =>
  `${tenant}=${hash('sha256', key)} ${attributes}`.trim();

/** What came back: `code` is the problem's, null where there is none. */
export type AccessAnswer = {
  readonly status: number;
  readonly code: string | null;
  readonly headers: Headers;
  readonly text: string;
};

export type Asked = {
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
};

/** Asks a service as the owner of a key, checking that every refusal is a whole problem. */
export const askAs = async (
  service: { readonly url: string },
  key: string | null,
  path: string,
  { method = 'GET', body, headers = {} }: Asked = {},
): Promise<AccessAnswer> => {
  const answer = await fetch(`${service.url}${path}`, {
    method,
    headers: {
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  const seen = { status: answer.status, headers: answer.headers, text };
  if (answer.status < 400) return { ...seen, code: null };
  expect(answer.headers.get('content-type')).toBe('application/problem+json; charset=utf-8');
  const problem = Problem.parse(JSON.parse(text));
  expect(problem).toMatchObject({ status: answer.status, request_id: answer.headers.get('x-request-id') });
  return { ...seen, code: problem.code };
};

/** Posts calls as the owner of a key. */
export const postAs = (
  service: { readonly url: string },
  key: string | null,
  body: Readonly<Record<string, unknown>>,
  headers: Readonly<Record<string, string>> = {},
): Promise<AccessAnswer> => askAs(service, key, '/tool-calls', { method: 'POST', body, headers });

/** A session as the owner of a key sees it. */
export const viewAs = async (service: { readonly url: string }, key: string, id: string): Promise<SessionView> => {
  const { status, text } = await askAs(service, key, `/sessions/${id}`);
  expect({ status, text: status === 200 ? '' : text }).toEqual({ status: 200, text: '' });
  return SessionView.parse(JSON.parse(text));
};
