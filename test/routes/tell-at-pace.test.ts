import type { AddressInfo } from 'node:net';
import fastify from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import type { Caller } from '#src/auth/callers.ts';
import { addProblemHandler } from '#src/routes/problem-handler.ts';
import { addRequestGate } from '#src/routes/request-gate.ts';
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

test('a refusal that is held is told when it is its turn, and called off when its client goes', async () => {
  const held: (() => void)[] = [];
  const calledOff = Promise.withResolvers<string>();
  const waits = Promise.withResolvers<undefined>();
  const app = fastify();
  addProblemHandler(app, () => undefined);
  watchRequests(app, { now: () => 0, onResponse: () => undefined });
  addRequestGate(app, {
    authenticate: () => ({ kind: 'known', caller: ANYONE }),
    mayComeFrom: () => true,
    isDraining: () => false,
    shed: () => ({ reason: 'queue', retryAfterSeconds: 1 }),
    createId: () => 'id',
    paceRefusal: (tell) => {
      held.push(tell);
      if (held.length === 2) waits.resolve(undefined);
      return () => calledOff.resolve(`after ${held.length}`);
    },
  });
  app.post('/tool-calls', () => 'never');
  await app.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(() => app.close());
  const address: AddressInfo | string | null = app.server.address();
  if (address === null || typeof address === 'string') throw new Error('The route has no port.');
  const url = `http://127.0.0.1:${address.port}/tool-calls`;
  const leaving = new AbortController();
  const left = fetch(url, { method: 'POST', signal: leaving.signal }).then(
    () => 'answered',
    () => 'left',
  );
  const stays = fetch(url, { method: 'POST' });
  await waits.promise;
  leaving.abort();
  expect(await left).toBe('left');
  expect(await calledOff.promise).toBe('after 2');
  for (const tell of held) tell();
  expect((await stays).status).toBe(503);
});
