import { hash } from 'node:crypto';
import { toKeyEntry } from '@recourse/test-support/access-client.ts';
import { startService } from '@recourse/test-support/start-service.ts';
import { defineTool } from 'recourse-server/tools/define-tool';
import type { Tool } from 'recourse-server/tools/tool';
import { onTestFinished } from 'vitest';
import * as z from 'zod';

/** As anybody may make it of the id of a session. */
export const hashOfSession = (id: string): string => hash('sha256', id);

/** Fails as its arguments say; else it answers them. */
const createFailing = (name: string, retries: number): Tool =>
  defineTool({
    name,
    description: 'Fails where it is told to.',
    effects: 'read',
    retries,
    polling: true,
    input: z.object({ fail: z.string().optional(), n: z.number().optional() }),
    run: (input) => {
      if (input.fail !== undefined) throw new Error(input.fail);
      return input;
    },
  });

/** Runs until it is cancelled. */
const held = defineTool({
  name: 'held',
  description: 'Waits.',
  effects: 'read',
  background: 'always',
  input: z.object({}),
  run: (_input, { signal }) =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('cancelled')))),
});

const TOOLS = [createFailing('lookup', 1), createFailing('other', 9), held];

export const ACME = 'a'.repeat(32);
export const LIMITED = 'b'.repeat(32);
export const GLOBEX = 'c'.repeat(32);
/** All of `acme`, one of it that may use `other` alone, and another tenant. */
export const KEYS = {
  API_KEYS: [
    toKeyEntry('acme', ACME, 'name=team may=call|read|reset'),
    toKeyEntry('acme', LIMITED, 'name=limited tools=other may=call|read|reset'),
    toKeyEntry('globex', GLOBEX, 'name=stranger may=call|read|reset'),
  ].join(','),
};

type Answer = { readonly status: number; readonly body: Readonly<Record<string, unknown>> };

export type Client = ReturnType<typeof createClient>;

export const createClient = (url: string, key = '') => {
  const headers: Readonly<Record<string, string>> = key === '' ? {} : { authorization: `Bearer ${key}` };
  const ask = async (path: string, method = 'GET'): Promise<Answer> => {
    const answer = await fetch(`${url}${path}`, { method, headers });
    const text = await answer.text();
    return { status: answer.status, body: text === '' ? {} : JSON.parse(text) };
  };
  return {
    ask,
    items: async (path: string): Promise<readonly Readonly<Record<string, unknown>>[]> => {
      const { body } = await ask(path);
      if (!Array.isArray(body['items'])) throw new Error(`Not a list: ${JSON.stringify(body)}`);
      return body['items'];
    },
    post: async (session: string | null, calls: readonly unknown[], more: Readonly<Record<string, string>> = {}) => {
      const answer = await fetch(`${url}/tool-calls`, {
        method: 'POST',
        headers: { ...headers, ...more, 'content-type': 'application/json' },
        body: JSON.stringify({ ...(session === null ? {} : { session_id: session }), calls }),
      });
      return { status: answer.status, body: await answer.json() };
    },
  };
};

export const failing = (n: number, name = 'lookup', fail = `no ${n}`) => ({ name, arguments: { fail, n } });
export const working = (n: number, name = 'lookup') => ({ name, arguments: { n } });

export const startLists = async (environment: Readonly<Record<string, string>> = {}) => {
  const service = await startService(environment, TOOLS);
  onTestFinished(service.stop);
  return { service, ...createClient(service.url) };
};
