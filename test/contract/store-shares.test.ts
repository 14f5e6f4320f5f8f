import { toKeyEntry } from '@recourse/test-support/access-client.ts';
import { codesOf, createActor, createKeyedClient, freshName, warningsOf } from '@recourse/test-support/keyed-client.ts';
import { startService } from '@recourse/test-support/start-service.ts';
import { expect, onTestFinished, test } from 'vitest';

// With Redis: store-shares.system.test.ts.

const FLOOD = 150;
const WRITES = 100;

test('in memory a tenant that floods with results loses its own, and another one has all its keyed writes recorded', async () => {
  const write = createActor('write', { effects: 'write' }, ({ bytes, only }) => `${only} ${'x'.repeat(Number(bytes))}`);
  const keys = `${toKeyEntry('acme', 'a')},${toKeyEntry('globex', 'b')}`;
  // 1 MB for results: a third of what acme sends.
  const service = await startService({ API_KEYS: keys, STORE_MEMORY_MB: '8' }, [write.tool]);
  onTestFinished(service.stop);
  const { post } = createKeyedClient(service.url);
  const send = async (apiKey: string, key: string, bytes: number) => {
    const answer = await post([{ name: 'write', arguments: { bytes, only: key } }], { key, apiKey });
    const [result] = answer.results;
    return { code: codesOf(answer)[0], warnings: warningsOf(result), value: result?.value, replayed: result?.replayed };
  };
  const flood = Array.from({ length: FLOOD }, () => freshName());
  const writes = Array.from({ length: WRITES }, () => freshName());
  for (const key of flood.slice(0, FLOOD / 2)) expect((await send('a', key, 20_000)).code).toBe('ok');
  const first = await Promise.all(writes.map((key) => send('b', key, 100)));
  expect(first.filter(({ code }) => code !== 'ok')).toEqual([]);
  for (const key of flood.slice(FLOOD / 2)) expect((await send('a', key, 20_000)).code).toBe('ok');
  const again = await Promise.all(writes.map((key) => send('b', key, 100)));
  expect(again).toEqual(first.map((one) => ({ ...one, replayed: true })));
  // Its marks are there: no write runs twice.
  const repeated = await send('a', flood[0] ?? '', 20_000);
  expect(repeated.code).toBe('outcome_unknown');
  expect(write.asked).toHaveLength(FLOOD + WRITES);
});
