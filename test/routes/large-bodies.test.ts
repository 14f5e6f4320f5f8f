import { openConnection, toPostText } from '@recourse/test-support/raw-http.ts';
import fastify from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import { createByteBudget } from '#src/memory/byte-budget.ts';
import { addJsonBodyParser } from '#src/routes/body-parsers.ts';
import { watchRequests } from '#src/routes/watch-requests.ts';

const LARGE = JSON.stringify({ kind: 'large', text: 'x'.repeat(20_000) });
const HELD = 1_000_000;
const BODIES = 10;

/** Handles bodies for 10 ms each, and notes for each which it was, in which turn of the loop, and how much memory was taken. */
const start = async () => {
  const handled: { readonly kind: string; readonly turn: number; readonly held: number }[] = [];
  const budget = createByteBudget({ limitBytes: 100 * HELD });
  let turn = 0;
  const count = (): void => {
    turn += 1;
    timer = setImmediate(count);
  };
  let timer = setImmediate(count);
  const app = fastify();
  onTestFinished(async () => {
    clearImmediate(timer);
    await app.close();
  });
  addJsonBodyParser(app);
  watchRequests(app, { now: () => 0, onResponse: () => undefined });
  app.addHook('onRequest', (request, _reply, done) => {
    request.hold = budget.open('a', HELD);
    done();
  });
  app.post('/tool-calls', ({ body }, reply) => {
    const kind = JSON.stringify(body).includes('large') ? 'large' : 'small';
    handled.push({ kind, turn, held: budget.inUse() });
    const until = performance.now() + 10;
    while (performance.now() < until);
    return reply.send('ok');
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  return { handled, budget, port: Number(new URL(url).port) };
};

/** Connections that the service has accepted: it accepts one a turn. */
const openAll = async (port: number) => {
  const connections = await Promise.all(Array.from({ length: BODIES }, () => openConnection(port)));
  for (const connection of connections) {
    onTestFinished(connection.destroy);
    connection.write(toPostText('{}'));
    await connection.answer();
  }
  return connections;
};

test('of large bodies that are there at once one is handled in a turn of the loop, and small requests come between', async () => {
  const { handled, port } = await start();
  const [one, ...others] = await openAll(port);
  handled.length = 0;
  for (const connection of others) connection.write(toPostText(LARGE));
  one?.write(toPostText('{}'));
  await expect.poll(() => handled.length).toBe(BODIES);
  const large = handled.filter(({ kind }) => kind === 'large');
  expect(new Set(large.map(({ turn }) => turn)).size).toBe(BODIES - 1);
  expect(handled.findIndex(({ kind }) => kind === 'small')).toBeLessThan(BODIES / 2);
});

test('a large body that waits for its turn holds its memory, also where its client has gone', async () => {
  const { handled, budget, port } = await start();
  const connections = await openAll(port);
  handled.length = 0;
  for (const connection of connections) {
    connection.write(toPostText(LARGE));
    connection.finish();
  }
  setImmediate(() => {
    for (const connection of connections) connection.destroy();
  });
  await expect.poll(() => handled.length).toBe(BODIES);
  // The first is handled before the others are read.
  for (const [place, { held }] of handled.entries())
    if (place > 0) expect(held).toBeGreaterThan((BODIES - place - 1) * HELD);
  await expect.poll(() => budget.inUse()).toBe(0);
});
