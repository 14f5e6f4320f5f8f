import type { RawAnswer } from '@recourse/test-support/raw-http.ts';
import { expect } from 'vitest';
import { ToolCallsResponse, type ToolResult } from '#src/contract/tool-result.ts';

/** What a test expects of a problem, as literals. */
export type ExpectedProblem = {
  readonly status: number;
  readonly title: string;
  readonly code: string;
  readonly detail: string;
};

// Frames of V8, as lines or escaped in JSON, and where this project and its packages lie.
const TRACE = /(?:\n|\\n)[ \t]+at |node_modules|\/src\/[a-z]|\/test\/[a-z]/;

/** Fails where a body shows frames of a stack, or a path of the host. */
export const expectNoTrace = (body: string): void => expect(body).not.toMatch(TRACE);

/** Checks an answer that is no success: all members of RFC 9457, the media type, and one id in body and header. */
export const expectProblem = (answer: RawAnswer, { status, title, code, detail }: ExpectedProblem): void => {
  expect({ status: answer.status, body: answer.body }).toMatchObject({ status });
  expect(answer.headers.get('content-type')).toBe('application/problem+json; charset=utf-8');
  const id = answer.headers.get('x-request-id');
  expect(id).toMatch(/^[A-Za-z0-9_-]{16,64}$/);
  const type = `urn:recourse:problem:${code}`;
  expect(JSON.parse(answer.body)).toEqual({ type, title, status, code, detail, request_id: id });
  expectNoTrace(answer.body);
};

/** Checks a 200: valid, `count` results in their places, each whole, one id in body and header. Gives the results. */
export const expectResults = (answer: RawAnswer, count: number): readonly ToolResult[] => {
  expect({ status: answer.status, body: answer.status === 200 ? '' : answer.body }).toEqual({ status: 200, body: '' });
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
  const { request_id: id, results } = ToolCallsResponse.parse(JSON.parse(answer.body));
  expect(answer.headers.get('x-request-id')).toBe(id);
  expect(results.map(({ index }) => index)).toEqual(Array.from({ length: count }, (_, index) => index));
  for (const result of results) expectWhole(result);
  expectNoTrace(answer.body);
  return results;
};

const expectWhole = (result: ToolResult): void => {
  expect(result.success).toBe(result.outcome === 'success');
  expect(result.error === null).toBe(result.success);
  expect(result.error?.code).not.toBe('internal_error');
  expect(result.message.length).toBeLessThanOrEqual(2000);
  if (!result.success) expect(result.message).not.toBe('');
};

/** Posts a body as it is. */
export const post = async (
  url: string,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Readonly<Record<string, string>> = {},
): Promise<RawAnswer> => {
  const answer = await fetch(`${url}/tool-calls`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  });
  return { status: answer.status, headers: new Map(answer.headers), body: await answer.text() };
};

// Another text each time: the same call with the same answer would be warned of.
let turns = 0;
const toText = (place: number): string => `good ${place} of ${turns}`;
const toGood = (place: number): string =>
  `{"id":"good_${place}","name":"echo","arguments":{"text":"${toText(place)}"}}`;

/**
 * Posts hostile entries of `calls` (JSON texts) in one batch with a good call before, between and after them. Checks
 * the whole answer and that every good call is answered as if it were alone; gives the results of the hostile ones.
 */
export const answerAmongGood = async (
  service: { readonly url: string },
  entries: readonly string[],
  envelope: Readonly<Record<string, unknown>> = {},
): Promise<readonly ToolResult[]> => {
  turns += 1;
  const values = [toText(0), ...entries.map((_, place) => toText(place + 1))];
  const calls = [toGood(0), ...entries.flatMap((entry, place) => [entry, toGood(place + 1)])];
  const members = JSON.stringify(envelope).slice(1, -1);
  const body = `{${members}${members === '' ? '' : ','}"calls":[${calls.join(',')}]}`;
  const results = expectResults(await post(service.url, body), calls.length);
  for (const good of results.filter(({ index }) => index % 2 === 0))
    expect(good).toEqual({
      index: good.index,
      id: `good_${good.index / 2}`,
      name: 'echo',
      success: true,
      outcome: 'success',
      executed: 'yes',
      value: { text: values[good.index / 2] },
      message: '',
      error: null,
      retry: null,
      duration_ms: good.duration_ms,
    });
  return results.filter(({ index }) => index % 2 === 1);
};

/** The same with one hostile entry; gives its result. */
export const answerOne = async (
  service: { readonly url: string },
  entry: unknown,
  envelope: Readonly<Record<string, unknown>> = {},
): Promise<ToolResult> => {
  const [result] = await answerAmongGood(service, [JSON.stringify(entry)], envelope);
  if (result === undefined) throw new Error('There is no result.');
  return result;
};
