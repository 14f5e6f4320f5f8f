import type { AddressInfo } from 'node:net';
import { dialects } from '@recourse/dialects';
import { ANY_READINGS } from '@recourse/test-support/any-readings.ts';
import fastify from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import type { Caller } from '#src/auth/callers.ts';
import type { BatchAnswer, ExecuteBatch } from '#src/executor/batch-request.ts';
import { toEndedResult } from '#src/executor/render-result.ts';
import type { MemoryLease } from '#src/memory/byte-budget.ts';
import { addJsonBodyParser } from '#src/routes/body-parsers.ts';
import { addProblemHandler } from '#src/routes/problem-handler.ts';
import { addRequestGate } from '#src/routes/request-gate.ts';
import { addToolCallsRoute } from '#src/routes/tool-calls.ts';
import { watchRequests } from '#src/routes/watch-requests.ts';

const ANYONE: Caller = {
  tenant: 'a',
  key: 'ci',
  id: 'caller',
  rateKey: 'ci',
  rate: null,
  tools: 'all',
  mayUse: () => true,
  may: () => true,
};

/** The route alone on a real socket, before an executor that answers as the test says; `held`: what its answers take. */
const start = async (executeBatch: ExecuteBatch) => {
  const held = { bytes: 0, users: 0 };
  const app = fastify();
  app.setValidatorCompiler(() => () => true);
  app.setSerializerCompiler(() => (payload) => JSON.stringify(payload));
  addJsonBodyParser(app);
  addProblemHandler(app, () => undefined);
  watchRequests(app, { now: () => 0, onResponse: () => undefined });
  addRequestGate(app, {
    authenticate: () => ({ kind: 'known', caller: ANYONE }),
    mayComeFrom: () => true,
    isDraining: () => false,
    shed: () => null,
    createId: () => 'id',
    holdRequest: () => {
      held.users += 1;
      const hold: MemoryLease = {
        take: () => true,
        fit: () => true,
        beside: () => hold,
        add: () => undefined,
        give: () => undefined,
        set: (bytes) => {
          held.bytes = bytes;
        },
        retain: () => {
          held.users += 1;
        },
        release: () => {
          held.users -= 1;
        },
      };
      return hold;
    },
  });
  const toKey = (tenant: string, chosen: string): string => `${tenant}:${chosen}`;
  const keys = { toSessionKey: toKey, toRecordKey: toKey, toRequestKey: toKey };
  const readProviderCalls = dialects.createReadProviderCalls({ find: () => undefined, findPortable: () => undefined });
  const watchParts = () => ({ watch: async () => undefined, watchResults: () => undefined, stop: () => undefined });
  const noPending = { hasWebhook: () => false, answered: { follow: async () => [], watchParts } };
  const observer = { opened: () => undefined, closed: () => undefined, dropped: () => undefined };
  const streams = { heartbeatMs: 15_000, observer };
  const terms = {
    createId: () => 'id',
    maxDeadlineMs: 1000,
    readProviderCalls,
    streams,
    readings: ANY_READINGS,
    ...noPending,
  };
  addToolCallsRoute(app, { dialects, executeBatch, dryRun: executeBatch, ...keys, ...terms });
  await app.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(() => app.close());
  const address: AddressInfo | string | null = app.server.address();
  if (address === null || typeof address === 'string') throw new Error('The route has no port.');
  const post = async (): Promise<readonly [number, unknown]> => {
    const headers = { 'content-type': 'application/json' };
    const body = '{"session_id":"s","calls":[]}';
    const answer = await fetch(`http://127.0.0.1:${address.port}/tool-calls`, { method: 'POST', headers, body });
    expect(answer.headers.get('x-request-id')).toBe('req-1');
    return [answer.status, JSON.parse(await answer.text())];
  };
  return { post, held };
};

const WAYS: readonly (readonly [string, (answer: BatchAnswer) => ReturnType<ExecuteBatch>])[] = [
  ['at once', (answer) => answer],
  ['later', (answer) => Promise.resolve(answer)],
];

test.each(WAYS)('results that are there %s are sent, and their memory is given back', async (_when, answer) => {
  const results = ['{"a":1}', '{"b":2}'].map(toEndedResult);
  const { post, held } = await start(() => answer({ kind: 'results', results, origin: 'run' }));
  expect(await post()).toEqual([200, { request_id: 'req-1', session_id: 's', results: [{ a: 1 }, { b: 2 }] }]);
  await expect.poll(() => held.users).toBe(0);
});

test.each(WAYS)('large results that are there %s are held as the bytes they are sent as', async (_when, answer) => {
  const results = [toEndedResult(JSON.stringify('ä'.repeat(40_000)))];
  const { post, held } = await start(() => answer({ kind: 'results', results, origin: 'run' }));
  expect(await post()).toMatchObject([200, { results: ['ä'.repeat(40_000)] }]);
  expect(held.bytes).toBe(80_054);
});

test.each(WAYS)('a key in use that is known %s is a problem', async (_when, answer) => {
  const { post } = await start(() => answer({ kind: 'in_flight', retryAfterMs: 1500 }));
  expect(await post()).toMatchObject([409, { code: 'idempotency_key_in_flight' }]);
});
