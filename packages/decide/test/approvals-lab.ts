import { type ConfigLab, startConfigLab } from '@recourse/test-support/config-lab.ts';
import { createKeyedClient, type Sent } from '@recourse/test-support/keyed-client.ts';
import type { Tool } from 'recourse-server/tools/tool';
import * as z from 'zod';

export type Asked = {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  readonly etag: string | null;
};

/** Asks the routes of approvals, as the holder of a key. */
export const createAsk =
  (url: string, apiKey?: string) =>
  async (
    path: string,
    init: { readonly body?: unknown; readonly digest?: string; readonly method?: string } = {},
  ): Promise<Asked> => {
    const { body, digest, method = body === undefined ? 'GET' : 'POST' } = init;
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(digest === undefined ? {} : { 'if-match': `"${digest}"` }),
        ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: answer.status, body: JSON.parse(await answer.text()), etag: answer.headers.get('etag') };
  };

/** A service whose configuration file has this section `approvals`. */
export const startApprovals = async (
  approvals: unknown,
  tools: readonly Tool[],
  environment: Readonly<Record<string, string>> = {},
) => {
  const lab: ConfigLab = await startConfigLab({ approvals }, environment, tools);
  const { url } = lab.service;
  return { ...lab, ...createKeyedClient(url), url, ask: createAsk(url) };
};

const Waiting = z.object({
  request_id: z.string(),
  status: z.string(),
  results: z.array(
    z.looseObject({
      pending: z.looseObject({
        call: z.string(),
        state: z.string(),
        approval: z.looseObject({ id: z.string(), digest: z.string() }).nullable(),
      }),
    }),
  ),
});

/** Posts calls that may wait for a person, and waits for nothing. */
export const prefer = async (url: string, body: object, { apiKey, key }: Pick<Sent, 'apiKey' | 'key'> = {}) => {
  const headers = {
    ...{ 'content-type': 'application/json', prefer: 'respond-async, wait=0' },
    ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
    ...(key === undefined ? {} : { 'idempotency-key': key }),
  };
  const answer = await fetch(`${url}/tool-calls`, { method: 'POST', headers, body: JSON.stringify(body) });
  return Waiting.parse(await answer.json());
};
