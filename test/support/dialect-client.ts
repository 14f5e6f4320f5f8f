import { expect } from 'vitest';
import * as z from 'zod';
import { ToolResult } from '#src/contract/tool-result.ts';
import type { RawAnswer } from './raw-http.ts';

/** What a provider's message is answered with, unless `raw` was asked for. */
export const TurnAnswer = z.strictObject({
  request_id: z.string(),
  session_id: z.string().nullable(),
  results: z.array(ToolResult),
  format: z.string(),
  messages: z.array(z.unknown()),
});
export type TurnAnswer = z.infer<typeof TurnAnswer>;

/** Posts any body as a batch; `query` with its question mark. */
export const postTurn = async (
  { url }: { readonly url: string },
  body: unknown,
  query = '',
  headers: Readonly<Record<string, string>> = {},
): Promise<RawAnswer> => {
  const answer = await fetch(`${url}/tool-calls${query}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  return { status: answer.status, headers: new Map(answer.headers), body: await answer.text() };
};

/** The parsed body of a 200. */
export const bodyOf = ({ status, body }: RawAnswer): unknown => {
  expect({ status, body: status === 200 ? '' : body }).toEqual({ status: 200, body: '' });
  return JSON.parse(body);
};

/** Posts a body and gives its answer, whole and checked. */
export const askTurn = async (service: { readonly url: string }, body: unknown, query = ''): Promise<TurnAnswer> =>
  TurnAnswer.parse(bodyOf(await postTurn(service, body, query)));

/** A call as Chat Completions writes it. */
export const chatCall = (id: string, name: string, given: unknown) => ({
  id,
  type: 'function',
  function: { name, arguments: typeof given === 'string' ? given : JSON.stringify(given) },
});

/** An assistant message of Chat Completions. */
export const assistant = (...calls: readonly unknown[]) => ({ role: 'assistant', content: null, tool_calls: calls });
