import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Client, McpSubscription } from '@modelcontextprotocol/client';
import { toKeyEntry } from '@recourse/test-support/access-client.ts';
import { startHostedService } from '@recourse/test-support/hosted-service.ts';
import { connect, MODERN_META, postModern } from '@recourse/test-support/mcp-clients.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createToolChanges } from '#src/tool-changes.ts';

const toFile = (name: string, description: string): string => `
  import { defineTool, z } from 'recourse-server';
  export const tool = defineTool({
    name: '${name}', description: '${description}', effects: 'read', input: z.object({}), run: () => 1,
  });
`;

const ALL = 'the-key-of-acme-0123456789';
const SOME = 'the-seen-key-0123456789';
const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

const start = async (): Promise<{ readonly service: RunningService; readonly root: string }> => {
  const { root } = makeDirectory({ 'seen.ts': toFile('seen', 'one'), 'other.ts': toFile('other', 'one') });
  const API_KEYS = [toKeyEntry('acme', ALL), toKeyEntry('acme', SOME, 'tools=seen')].join(',');
  const service = await startService({ TOOLS_DIR: root, API_KEYS });
  onTestFinished(service.stop);
  return { service, root };
};

type Listening = {
  readonly client: Client;
  readonly subscription: McpSubscription;
  /** How many notifications came so far. */
  readonly told: () => number;
};

const listen = async ({ url }: Pick<RunningService, 'url'>, key: string): Promise<Listening> => {
  const { client } = await connect(url, 'modern', bearer(key));
  let count = 0;
  client.setNotificationHandler('notifications/tools/list_changed', () => {
    count += 1;
  });
  const subscription = await client.listen({ toolsListChanged: true });
  return { client, subscription, told: () => count };
};

const becomes = (look: () => unknown, expected: unknown): Promise<void> =>
  expect.poll(look, { timeout: timeLimit(15_000), interval: 20 }).toEqual(expected);

const describe = async ({ client }: Listening): Promise<unknown> => {
  const { tools } = await client.listTools();
  return Object.fromEntries(
    tools.flatMap(({ name, description }) => (name === 'other' || name === 'seen' ? [[name, description]] : [])),
  );
};

test('a client that listens is told when a file of the tools directory changes its tools, and of no tools of others', async () => {
  const { service, root } = await start();
  const all = await listen(service, ALL);
  const some = await listen(service, SOME);
  expect(all.subscription.honoredFilter).toEqual({ toolsListChanged: true });

  await writeFile(join(root, 'other.ts'), toFile('other', 'two'));
  await becomes(all.told, 1);
  expect(await describe(all)).toEqual({ seen: 'one', other: 'two' });

  await writeFile(join(root, 'seen.ts'), toFile('seen', 'two'));
  await becomes(some.told, 1);
  await becomes(all.told, 2);
  expect(await describe(some)).toEqual({ seen: 'two' });
  expect(some.told()).toBe(1);
});

test('a client that has ended its subscription is told nothing, and leaves nothing behind', async () => {
  const { service, root } = await start();
  const gone = await listen(service, ALL);
  const stays = await listen(service, ALL);
  await gone.subscription.close();

  await writeFile(join(root, 'other.ts'), toFile('other', 'two'));
  await becomes(stays.told, 1);
  expect(gone.told()).toBe(0);
});

test('only revision 2026-07-28 promises to tell of changes: earlier ones would want a stream of their session', async () => {
  const { service } = await start();
  const { client } = await connect(service.url, 'modern', bearer(ALL));
  const { client: earlier } = await connect(service.url, 'legacy', bearer(ALL));
  expect(client.getServerCapabilities()).toMatchObject({ tools: { listChanged: true } });
  expect(earlier.getServerCapabilities()).toMatchObject({ tools: { listChanged: false } });
});

test('what is not offered is not granted: such a subscription ends at once', async () => {
  const { service } = await start();
  const params = { notifications: { promptsListChanged: true, resourcesListChanged: true } };
  const { messages } = await postModern(service.url, 'subscriptions/listen', params, bearer(ALL));
  expect(messages).toMatchObject([
    { method: 'notifications/subscriptions/acknowledged', params: { notifications: {} } },
    { id: 1, result: { resultType: 'complete' } },
  ]);
});

const LISTEN = {
  jsonrpc: '2.0',
  id: 1,
  method: 'subscriptions/listen',
  params: { notifications: { toolsListChanged: true }, _meta: MODERN_META },
} as const;

/** Opens a stream by plain HTTP, and gives the ways to read it to its end and to close it, once it is acknowledged. */
const open = async (url: string, headers: Readonly<Record<string, string>> = {}) => {
  const closing = new AbortController();
  const answer = await fetch(new URL('/mcp', url), {
    method: 'POST',
    signal: closing.signal,
    headers: {
      ...headers,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': LISTEN.method,
    },
    body: JSON.stringify(LISTEN),
  });
  expect(answer.status).toBe(200);
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  const read = async (): Promise<string> => (await reader?.read())?.value ?? '';
  expect(await read()).toContain('notifications/subscriptions/acknowledged');
  return {
    close: () => closing.abort(),
    rest: async () => (await read()) + (await read()),
  };
};

test('a caller has 128 streams: one more is refused, until another has ended', async () => {
  const { service } = await start();
  const streams = await Promise.all(Array.from({ length: 128 }, () => open(service.url, bearer(ALL))));
  const params = { notifications: { toolsListChanged: true } };
  expect(await postModern(service.url, 'subscriptions/listen', params, bearer(ALL))).toMatchObject({
    status: 429,
    messages: [{ id: 1, error: { code: -32000, data: { code: 'too_many_subscriptions' } } }],
  });
  // Calls go on.
  expect(
    await postModern(service.url, 'tools/call', { name: 'echo', arguments: { text: 'x' } }, bearer(ALL)),
  ).toMatchObject({
    status: 200,
    messages: [{ result: { isError: false } }],
  });

  streams[0]?.close();
  const openOneMore = async (): Promise<boolean> => {
    const stream = await open(service.url, bearer(ALL)).catch(() => null);
    if (stream !== null) streams.push(stream);
    return stream !== null;
  };
  await becomes(openOneMore, true);
  for (const { close } of streams) close();
});

test(
  'a service that drains ends its streams by a result, and does not wait for their clients',
  async () => {
    const { running } = await startHostedService({ by: 'node', environment: { SHUTDOWN_GRACE_MS: '60000' } });
    const { rest } = await open(running.url);

    running.send('SIGTERM', 'service');
    expect(await rest()).toMatch(
      /^event: message\ndata: \{"jsonrpc":"2.0","id":1,"result":\{"resultType":"complete",.*\}\n\n$/,
    );
    expect(await running.exited).toEqual({ code: 0, signal: null });
  },
  timeLimit(30_000),
);

test('where nobody listens nothing is watched; many changes at once are told once; what is as before is not told', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const watched: (() => void)[] = [];
  let ended = 0;
  const changes = createToolChanges((listener) => {
    watched.push(listener);
    return () => {
      ended += 1;
    };
  });
  expect(watched).toHaveLength(0);

  let tag = 'one';
  let told = 0;
  let compared = 0;
  const listener = {
    caller: 'a',
    tagOf: () => {
      compared += 1;
      return tag;
    },
    notify: () => {
      told += 1;
    },
  };
  const remove = changes.add(listener);
  const removeOther = changes.add({ ...listener, tagOf: () => 'same' });
  expect(watched).toHaveLength(1);
  const [offer = () => undefined] = watched;

  tag = 'two';
  for (let n = 0; n < 50; n += 1) offer();
  vi.advanceTimersByTime(1000);
  expect({ told, compared }).toEqual({ told: 1, compared: 2 });
  offer();
  vi.advanceTimersByTime(1000);
  expect(told).toBe(1);

  tag = 'three';
  offer();
  remove();
  removeOther();
  vi.advanceTimersByTime(1000);
  expect({ told, ended, size: changes.size(), timers: vi.getTimerCount() }).toEqual({
    told: 1,
    ended: 1,
    size: 0,
    timers: 0,
  });
});
