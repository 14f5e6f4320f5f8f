import { randomUUID } from 'node:crypto';
import { expect, onTestFinished } from 'vitest';
import * as z from 'zod';
import { SessionView } from '#src/contract/session.ts';
import { ToolCallsResponse, type ToolResult } from '#src/contract/tool-result.ts';
import { defineTool, type ToolDefinition } from '#src/tools/define-tool.ts';
import type { Tool, ToolContext } from '#src/tools/tool.ts';
import { RECOVERY } from './counting-service.ts';
import { type RunningService, startService } from './start-service.ts';

type Input = Readonly<Record<string, unknown>>;
type Act = (input: Input, context: ToolContext) => unknown;
type Rest = Partial<Omit<ToolDefinition<z.ZodType>, 'name' | 'run' | 'input'>>;

/** A tool whose handler a test exchanges as it goes, and that counts what reaches it. */
export type Actor = {
  readonly tool: Tool;
  /** What the handler was given, in its order. */
  readonly asked: readonly Input[];
  readonly act: (run: Act) => void;
};

/** A `read` tool that takes anything and gives its arguments back, unless told otherwise. */
export const createActor = (name: string, rest: Rest = {}, first: Act = (input) => input): Actor => {
  const asked: Input[] = [];
  let run = first;
  const tool = defineTool({
    description: 'Does what a test tells it to.',
    effects: 'read',
    ...rest,
    name,
    input: z.looseObject({}),
    run: (input, context) => {
      asked.push(input);
      return run(input, context);
    },
  });
  return { tool, asked, act: (next) => (run = next) };
};

/** What a handler does that a test wants to fail. */
export const fail = (): never => {
  throw new Error('no');
};

/** One answer over HTTP; `results` are empty where it is a problem. */
export type KeyedAnswer = {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The `code` of a problem; null on 200. */
  readonly problem: string | null;
  readonly requestId: string;
  readonly results: readonly ToolResult[];
};

export type Sent = {
  readonly key?: string;
  readonly apiKey?: string;
  readonly requestId?: string;
};

export type KeyedClient = {
  /** Posts a body, or calls alone. */
  readonly post: (body: Input | readonly unknown[], sent?: Sent) => Promise<KeyedAnswer>;
  /** GET /tool-calls/{request_id}. */
  readonly lost: (requestId: string, sent?: Sent) => Promise<KeyedAnswer>;
  /** GET /sessions/{id}. */
  readonly session: (id: string) => Promise<SessionView>;
};

const toHeaders = ({ key, apiKey, requestId }: Sent): Record<string, string> => ({
  ...(key === undefined ? {} : { 'idempotency-key': key }),
  ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
  ...(requestId === undefined ? {} : { 'x-request-id': requestId }),
});

const Coded = z.object({ code: z.string() });

const toAnswer = async (answer: Response): Promise<KeyedAnswer> => {
  const text = await answer.text();
  const body: unknown = JSON.parse(text);
  const requestId = answer.headers.get('x-request-id') ?? '';
  const seen = { status: answer.status, headers: answer.headers, text, requestId };
  if (answer.status !== 200) return { ...seen, problem: Coded.parse(body).code, results: [] };
  return { ...seen, problem: null, results: ToolCallsResponse.parse(body).results };
};

export const createKeyedClient = (url: string): KeyedClient => ({
  post: async (given, sent = {}) =>
    toAnswer(
      await fetch(`${url}/tool-calls`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...toHeaders(sent) },
        body: JSON.stringify(Array.isArray(given) ? { calls: given } : given),
      }),
    ),
  lost: async (requestId, sent = {}) =>
    toAnswer(await fetch(`${url}/tool-calls/${requestId}`, { headers: toHeaders(sent) })),
  session: async (id) => {
    const answer = await fetch(`${url}/sessions/${id}`);
    return SessionView.parse(await answer.json());
  },
});

export type Lab = KeyedClient & { readonly service: RunningService };

/** The whole service with these tools, gone with its test, which must not have reached the last-resort net. */
export const startLab = async (
  actors: readonly Pick<Actor, 'tool'>[],
  environment: Readonly<Record<string, string>> = {},
): Promise<Lab> => {
  const service = await startService(
    environment,
    actors.map(({ tool }) => tool),
  );
  onTestFinished(async () => {
    expect(await service.metric('recourse_contract_violations_total')).toBe(0);
    await service.stop();
  });
  const lab = { service, ...createKeyedClient(service.url) };
  if (environment['REDIS_URL'] !== undefined && environment['API_KEYS'] === undefined) await whenConnected(lab);
  return lab;
};

/** Resolves when the service counts in Redis. Asks by batches: reading a session is no probe of a store that is away. */
export const whenConnected = async ({ post }: Pick<KeyedClient, 'post'>): Promise<void> => {
  const modeOf = async () => {
    const { results } = await post({ session_id: freshName(), calls: [{ name: 'no such tool' }] });
    return results[0]?.retry?.mode;
  };
  await expect.poll(modeOf, RECOVERY).toBe('redis');
};

let names = 0;
const RUN = randomUUID();

/** A name of a session or a key that no other test has, also where they share a Redis. */
export const freshName = (): string => {
  names += 1;
  return `${RUN}-${names}`;
};

/** What each call came to: its code, or `ok`. */
export const codesOf = ({ results }: Pick<KeyedAnswer, 'results'>): readonly string[] =>
  results.map(({ error }) => error?.code ?? 'ok');

/** The codes of a result's warnings. */
export const warningsOf = (result: ToolResult | undefined): readonly string[] =>
  (result?.warnings ?? []).map(({ code }) => code);
