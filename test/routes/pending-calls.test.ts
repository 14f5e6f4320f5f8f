import { createDueIndex } from '@recourse/background/jobs/due-index';
import { addPendingCallsRoutes } from '@recourse/background/pending-routes';
import { expect, test } from 'vitest';
import { startSessionRoutes } from './session-routes-lab.ts';

test('a key that lists pending calls without a pause holds up itself alone: neither another key, nor what it cancels', async () => {
  const begun = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  let lists = 0;
  const live = createDueIndex({ limits: { ofHolder: 1, ofAll: 1 }, now: Date.now });
  const list: typeof live.list = async function* () {
    lists += 1;
    begun.resolve();
    if (lists === 1) await held.promise;
    yield [];
  };
  const { ask } = await startSessionRoutes({
    addRoutes: (app) =>
      addPendingCallsRoutes(app, {
        records: {
          live: { ...live, list },
          heads: async () => [],
          describe: async () => null,
          cancel: async () => null,
        },
        laneOf: () => 'default',
        onFailed: () => undefined,
        end: async () => undefined,
        closed: new AbortController().signal,
      }),
  });
  const first = ask('/calls/pending');
  await begun.promise;
  expect(await ask('/calls/pending')).toMatchObject({ status: 503, body: expect.stringContaining('pending_lists') });
  const other = { headers: { 'x-api-key': 'key-a-echo' } };
  expect((await ask('/calls/pending', other)).status).toBe(200);
  expect((await ask('/calls/pending?tool=x', { ...other, method: 'DELETE' })).status).toBe(202);
  expect((await ask('/calls/pending?tool=x', { method: 'DELETE' })).status).toBe(202);
  held.resolve();
  expect((await first).status).toBe(200);
});
