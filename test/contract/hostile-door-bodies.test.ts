import { askAs, postAs, toKeyEntry } from '@recourse/test-support/access-client.ts';
import { findClosedPort } from '@recourse/test-support/http-target.ts';
import { createMisbehavingTools, THROWN } from '@recourse/test-support/misbehaving-tools.ts';
import { sendRaw, toPostText, toRequestText } from '@recourse/test-support/raw-http.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { defineTool } from '#src/tools/define-tool.ts';
import type { Tool } from '#src/tools/tool.ts';
import { makeIssuerKey, sign } from '#test/auth/issuer-lab.ts';

// Frames as V8 writes them, and where packages and Node's own files are. Catalogues may say `node_modules`, as a word.
const FRAME = /\bat .{0,200}\(.{0,300}:\d+:\d+\)|\bat (?:async )?(?:file|node):|node_modules\/|node:internal/;

const THROWING = Object.keys(THROWN).map((thrown) => ({ name: `throws_${thrown}` }));
const ECHO = { name: 'echo', arguments: { text: 'x' } };
const KEYS = [
  toKeyEntry('acme', 'k'),
  toKeyEntry('acme', 'reader', 'may=read'),
  toKeyEntry('acme', 'few', 'tools=echo'),
  toKeyEntry('acme', 'slow', 'rate=1/h'),
].join(',');

const start = async (
  environment: Readonly<Record<string, string>>,
  tools: readonly Tool[],
): Promise<RunningService> => {
  const service = await startService({ API_KEYS: KEYS, ...environment }, tools);
  onTestFinished(service.stop);
  return service;
};

/** Asks a service and looks through every body that it gives. */
const createReader = (service: RunningService) => {
  const statuses = new Set<number>();
  const read = (what: string, status: number, text: string): void => {
    statuses.add(status);
    expect(FRAME.exec(text)?.[0], what).toBeUndefined();
    expect(text.includes(process.cwd()), what).toBe(false);
  };
  return {
    ask: async (key: string | null, path: string, method = 'GET'): Promise<void> => {
      const { status, text } = await askAs(service, key, path, { method });
      read(`${method} ${path}`, status, text);
    },
    post: async (key: string | null, calls: unknown, headers: Readonly<Record<string, string>> = {}): Promise<void> => {
      const { status, text } = await postAs(service, key, { session_id: 's', calls }, headers);
      read(JSON.stringify(calls).slice(0, 200), status, text);
    },
    send: async (request: string): Promise<void> => {
      const { status, body } = await sendRaw(service.port, request);
      read(request.slice(0, 200), status, body);
    },
    statuses: (): readonly number[] => [...statuses].toSorted(),
  };
};

const createWaiting = () => {
  const begun = Promise.withResolvers<void>();
  const end = Promise.withResolvers<void>();
  const tool = defineTool({
    name: 'waits',
    description: 'Waits until it is let go.',
    effects: 'read',
    input: z.object({}),
    run: async () => {
      begun.resolve();
      await end.promise;
      return 'done';
    },
  });
  return { tool, begun: begun.promise, letGo: end.resolve };
};

test(
  'no answer to a batch shows a stack or a path of the service, whoever sent it and however it ended',
  async () => {
    const waiting = createWaiting();
    const service = await start({}, [...createMisbehavingTools(), waiting.tool]);
    const { post, ask, statuses } = createReader(service);
    await post('k', THROWING);
    await post('k', [
      { name: 'nope' },
      7,
      { name: 'echo', arguments: '{' },
      { name: 'read_file', arguments: { path: '../x' } },
    ]);
    await post('k', [
      { name: 'fetch_url', arguments: { url: 'http://127.0.0.1/' } },
      { name: 'echo', arguments: { text: 1 } },
    ]);
    await post('few', [ECHO, { name: 'list_files' }]);
    for (const key of [null, 'wrong', 'reader', 'slow', 'slow']) await post(key, []);
    for (const calls of [1, 'x'.repeat(2_000_000)]) await post('k', calls);
    const keyed = { 'idempotency-key': 'one' };
    const running = post('k', [{ name: 'waits' }], keyed);
    await waiting.begun;
    await post('k', [{ name: 'waits' }], keyed);
    await post('k', [ECHO], keyed);
    waiting.letGo();
    await running;
    await ask('k', '/sessions/s');
    service.drain();
    await post('k', []);
    expect(statuses()).toEqual([200, 400, 401, 403, 409, 413, 422, 429, 503]);
  },
  timeLimit(60_000),
);

test(
  'no page, document or refusal shows a stack or a path of the service',
  async () => {
    const { ask, send, statuses } = createReader(await start({}, []));
    for (const path of [
      '/tools',
      '/tools/echo',
      '/tools/nope',
      '/sessions/s',
      '/tool-calls/0123456789abcdef',
      '/nope',
      '/%zz',
    ])
      await ask('k', path);
    for (const path of ['/live', '/ready', '/metrics', '/openapi.json', '/docs', '/console', '/tools', '/sessions/s'])
      await ask(null, path);
    for (const path of ['/tools', '/live', '/tool-calls', '/console']) await ask('k', path, 'PUT');
    await ask('few', '/sessions/s', 'DELETE');
    const right = ['X-API-Key', 'k'] as const;
    for (const body of ['{', '[', '\0', '{"calls":[{"name":"echo","arguments":{"__proto__":1}}]}', '[]'.repeat(50_000)])
      await send(toPostText(body, [right]));
    await send(toPostText('{}', [right, ['Content-Encoding', 'gzip']]));
    await send(toPostText('{}', [right, ['Origin', 'https://evil.example']]));
    await send(toRequestText('GET /tools', [right, ['X-Long', 'x'.repeat(20_000)]]));
    await send('GET / HTTP/1.1\r\n\r\n');
    await send('garbage\r\n\r\n');
    expect(statuses()).toEqual([200, 400, 401, 403, 404, 405, 415, 431]);
  },
  timeLimit(60_000),
);

test(
  'nor does what is answered while the store and the issuer of tokens are away',
  async () => {
    const away = await findClosedPort();
    const environment = {
      REDIS_URL: `redis://127.0.0.1:${away}`,
      JWT_JWKS_URL: `http://127.0.0.1:${away}/jwks`,
      JWT_ISSUER: 'https://issuer.example',
      RETRY_BUDGET_ON_STORE_DOWN: 'closed',
    };
    const { ask, post, statuses } = createReader(await start(environment, []));
    await post(await sign(await makeIssuerKey('key-1')), [ECHO]);
    await post('k', [ECHO], { 'idempotency-key': 'one' });
    await post('slow', [ECHO]);
    for (const path of ['/ready', '/sessions/s', '/tool-calls/0123456789abcdef']) await ask('k', path);
    for (const path of ['/sessions/s', '/sessions/s/budgets', '/sessions/s/budgets/echo'])
      await ask('k', path, 'DELETE');
    expect(statuses()).toEqual([200, 503]);
  },
  timeLimit(60_000),
);
