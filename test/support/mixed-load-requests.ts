import * as z from 'zod';
import type { MixedLoadKeys } from './mixed-load-keys.ts';

type Call = { readonly name?: unknown; readonly arguments?: unknown };

export type Sent = {
  readonly key?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  readonly envelope?: Readonly<Record<string, unknown>>;
};

/** The status of an answer, and what each call came to. */
export type MixedAnswer = { readonly status: number; readonly codes: readonly string[] };

export type Client = {
  /** Sends these calls as one batch. */
  readonly batch: (calls: readonly (Call | string)[], sent?: Sent) => Promise<MixedAnswer>;
  /** Any request, answered with its status. */
  readonly ask: (method: string, path: string, sent?: Sent) => Promise<number>;
};

const Results = z.object({ results: z.array(z.object({ error: z.object({ code: z.string() }).nullable() })) });

/** A client of the service under load. Where `key` is not given it sends the key that may do everything; null sends none. */
export const createClient = (url: string, keys: MixedLoadKeys): Client => {
  const toHeaders = ({ key = keys.full, headers = {} }: Sent) => ({
    ...(key === null ? {} : { authorization: `Bearer ${key}` }),
    ...headers,
  });
  return {
    batch: async (calls, sent = {}) => {
      const answer = await fetch(`${url}/tool-calls`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...toHeaders(sent) },
        body: JSON.stringify({
          ...sent.envelope,
          calls: calls.map((call) => (typeof call === 'string' ? { name: call } : call)),
        }),
      });
      const body: unknown = await answer.json();
      const codes = answer.status === 200 ? Results.parse(body).results.map(({ error }) => error?.code ?? 'ok') : [];
      return { status: answer.status, codes };
    },
    ask: async (method, path, sent = {}) => {
      const answer = await fetch(`${url}${path}`, { method, headers: toHeaders(sent) });
      await answer.arrayBuffer();
      return answer.status;
    },
  };
};
