import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AuditEvent } from '@recourse/decide/audit/audit-event';
import { askAs, toKeyEntry } from '@recourse/test-support/access-client.ts';
import { createFolder } from '@recourse/test-support/config-lab.ts';
import { createKeyedClient } from '@recourse/test-support/keyed-client.ts';
import { redisForTests } from '@recourse/test-support/redis-server.ts';
import { startService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { defineTool } from 'recourse-server/tools/define-tool';
import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';

const PERSON = 'person-key-0123456789abcdef';
const AGENT = 'agent-key-0123456789abcdef';
const LIMITED = 'limited-key-0123456789abcdef';
const API_KEYS = [
  toKeyEntry('acme', PERSON, 'name=ann may=read|operate'),
  toKeyEntry('acme', AGENT, 'name=agent'),
  toKeyEntry('globex', LIMITED, 'name=bob may=call|read|operate tools=echo'),
].join(',');
const SECRET = 'hunter2-hunter2-hunter2';

/** A service whose tool `search` fails as long as it is broken, and opens its circuit by two batches for ten minutes. */
const startSearch = async (environment: Readonly<Record<string, string>> = {}) => {
  const health = { broken: true };
  const search = defineTool({
    name: 'search',
    description: 'Talks to something.',
    input: z.object({}),
    effects: 'read',
    retries: 0,
    run: async () => {
      if (health.broken) throw new Error(`connection refused with ${SECRET}`);
      return 'found';
    },
  });
  const settings = { CIRCUIT_FAILURES: '2', CIRCUIT_OPEN_MS: '600000', API_KEYS, ...environment };
  const service = await startService(settings, [search]);
  onTestFinished(() => service.stop());
  const { post } = createKeyedClient(service.url);
  /** The code of one call alone in its batch; null: it succeeded. */
  const call = async () => {
    const { results } = await post({ calls: [{ name: 'search', arguments: {} }] }, { apiKey: AGENT });
    return results[0]?.error?.code ?? null;
  };
  const open = async (): Promise<void> => {
    for (const code of ['tool_exception', 'tool_exception', 'circuit_open']) expect(await call()).toBe(code);
  };
  const close = (key: string, name = 'search') => askAs(service, key, `/circuits/${name}`, { method: 'DELETE' });
  return { service, health, call, open, close };
};

test('a person closes a circuit in all replicas within two seconds, and it counts from 0', async () => {
  const redis = await redisForTests();
  onTestFinished(redis.stop);
  const audit = join(await createFolder(), 'audit.jsonl');
  const [one, other] = await Promise.all([
    startSearch({ REDIS_URL: redis.url, AUDIT: `file:${audit}` }),
    startSearch({ REDIS_URL: redis.url }),
  ]);
  // A store that has not connected yet takes no message.
  for (const { service } of [one, other])
    await expect.poll(() => service.metric('recourse_session_store_up'), { timeout: timeLimit(20_000) }).toBe(1);
  await one.open();
  await other.open();
  one.health.broken = false;
  expect(await one.close(PERSON)).toMatchObject({ status: 204, text: '' });
  expect(await one.call()).toBeNull();
  const left = () => other.service.metric('recourse_circuit_state{tool="search"}');
  await expect.poll(left, { timeout: timeLimit(2000), interval: 20 }).toBe(0);
  // It failed twice before it was closed; one failure more would open it if those counted.
  expect([await other.call(), await other.call(), await other.call()]).toEqual([
    ...['tool_exception', 'tool_exception', 'circuit_open'],
  ]);
  const said = one.service.logLines().filter(({ msg }) => msg === 'circuit closed by hand');
  expect(said).toMatchObject([{ circuit: 'search', by: 'ann' }]);
  const lines = () =>
    readFileSync(audit, 'utf8')
      .split('\n')
      .filter((line) => line.includes('circuit_closed'));
  await expect.poll(lines, { timeout: timeLimit(5000) }).toHaveLength(1);
  expect(AuditEvent.parse(JSON.parse(lines()[0] ?? ''))).toMatchObject({
    ...{ kind: 'circuit_closed', tenant: 'acme', tool: null, circuit: 'search', by: 'ann' },
  });
});

test('who may not operate is refused, and who may not use the tool learns nothing of its circuit', async () => {
  const { open, close, call } = await startSearch();
  await open();
  expect(await close(AGENT)).toMatchObject({ status: 403, code: 'operation_not_allowed' });
  const unknown = await close(LIMITED, 'no_such_tool');
  const hidden = await close(LIMITED);
  expect(hidden).toMatchObject({ status: 404, code: 'circuit_not_found' });
  const detail = ({ text }: { readonly text: string }) => z.object({ detail: z.string() }).parse(JSON.parse(text));
  expect(detail(hidden)).toEqual(detail(unknown));
  expect(await call()).toBe('circuit_open');
  expect(await close(PERSON)).toMatchObject({ status: 204 });
  expect(await close(PERSON)).toMatchObject({ status: 404, code: 'circuit_not_found' });
});

test('a name that no tool can have is not found, whatever it holds', async () => {
  const { close } = await startSearch();
  for (const name of ['__proto__', '%00', encodeURIComponent('a/b\n'), 'x'.repeat(500)])
    expect(await close(PERSON, name)).toMatchObject({ status: 404 });
});
