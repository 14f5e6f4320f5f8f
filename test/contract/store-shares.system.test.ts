import { toKeyEntry } from '@recourse/test-support/access-client.ts';
import { codesOf, createActor, createKeyedClient, freshName, warningsOf } from '@recourse/test-support/keyed-client.ts';
import { createHeldTool, createPendingClient } from '@recourse/test-support/pending-client.ts';
import { startRedisServer } from '@recourse/test-support/redis-server.ts';
import { startService } from '@recourse/test-support/start-service.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { NEW_SECRET } from '@recourse/test-support/webhook-lab.ts';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';

// A tenant that keeps its part of Redis takes nothing from another one, and nothing that was kept is lost.

const MAX_MB = Number(process.env['SHARES_REDIS_MB'] ?? 16);
const WRITES = Number(process.env['SHARES_WRITES'] ?? 1000);
const HELD_CALLS = 30;
const WAIT = { timeout: timeLimit(30_000), interval: 50 };

const EVENTS = ['tool_call.pending', 'tool_call.completed', 'tool_calls.completed'];
// Nobody listens there: messages wait for a day.
const OPS = { url: 'http://127.0.0.1:9/', secret: NEW_SECRET, events: EVENTS, privateAddresses: 'allow' };

const startShares = async () => {
  const settings = ['--maxmemory', `${MAX_MB}mb`, '--maxmemory-policy', 'noeviction'];
  const server = await startRedisServer({ settings });
  onTestFinished(server.stop);
  const direct = new Redis(server.url);
  onTestFinished(() => direct.disconnect());
  const write = createActor('write', { effects: 'write' }, ({ bytes, only }) => `${only} ${'x'.repeat(Number(bytes))}`);
  const quick = createActor('quick', { background: 'always' }, () => 'done');
  const build = createHeldTool('build', { background: 'always' });
  onTestFinished(build.release);
  const { root } = makeDirectory({ 'recourse.config.json': JSON.stringify({ webhooks: { ops: OPS } }) });
  const environment = {
    ...{ REDIS_URL: server.url, CONFIG_FILE: `${root}/recourse.config.json`, WORKER_CONCURRENCY: '64' },
    ...{ API_KEYS: `${toKeyEntry('acme', 'a')},${toKeyEntry('globex', 'b')}`, KEY_MAX_PENDING: '20000' },
  };
  const service = await startService(
    environment,
    [write, quick, build].map(({ tool }) => tool),
  );
  onTestFinished(service.stop);
  const ready = async () => (await fetch(`${service.url}/ready`)).json();
  await expect.poll(ready, WAIT).toMatchObject({ status: 'ready' });
  return { service, direct, write, build };
};

type Shares = Awaited<ReturnType<typeof startShares>>;

const ACME = { authorization: 'Bearer a' };

const createAcme = ({ service }: Pick<Shares, 'service'>) => {
  const { begin, finish } = createPendingClient(service.url);
  return {
    /** Calls that do not end: the request of each. */
    hold: async (count: number, bytes: number): Promise<readonly string[]> => {
      const requests: string[] = [];
      for (let at = 0; at < count; at += 1) {
        const calls = [{ name: 'build', arguments: { only: freshName(), text: 'y'.repeat(bytes) } }];
        const answer = await begin({ calls }, { headers: ACME });
        expect(answer.results[0]?.outcome).toBe('pending');
        requests.push(answer.requestId);
      }
      return requests;
    },
    /** Calls that end, of which an endpoint is to be told that does not listen; until one is refused. */
    flood: async (): Promise<string> => {
      for (;;) {
        const calls = Array.from({ length: 64 }, () => ({ name: 'quick', arguments: { only: freshName() } }));
        const { results } = await begin({ notify: 'ops', calls }, { headers: ACME });
        const refused = results.find(({ outcome }) => outcome !== 'pending' && outcome !== 'success');
        if (refused !== undefined) return `${refused.error?.code}: ${refused.message}`;
      }
    },
    finish: (requestId: string) => finish(requestId, ACME),
  };
};

const sendWrite = async ({ service }: Pick<Shares, 'service'>, apiKey: string, key: string, bytes: number) => {
  const { post } = createKeyedClient(service.url);
  const answer = await post([{ name: 'write', arguments: { bytes, only: key } }], { key, apiKey });
  const [result] = answer.results;
  return { code: codesOf(answer)[0], warnings: warningsOf(result), value: result?.value, replayed: result?.replayed };
};

/** Keyed writes of acme, until one finds no room for its result: the keys of those that did. */
const fillWithResults = async (shares: Shares, bytes: number): Promise<readonly string[]> => {
  const keys: string[] = [];
  for (;;) {
    const key = freshName();
    const { code, warnings } = await sendWrite(shares, 'a', key, bytes);
    expect(code).toBe('ok');
    if (warnings.includes('idempotency_not_recorded')) return keys;
    keys.push(key);
  }
};

const inChunks = async <Item, Result>(
  items: readonly Item[],
  act: (item: Item) => Promise<Result>,
): Promise<Result[]> => {
  const results: Result[] = [];
  for (let from = 0; from < items.length; from += 20)
    results.push(...(await Promise.all(items.slice(from, from + 20).map(act))));
  return results;
};

/** What of a tenant's records does not change with time: their texts by key and field. */
const readTexts = async ({ direct }: Pick<Shares, 'direct'>, tenant: string): Promise<ReadonlyMap<string, string>> => {
  const keys = await direct.keys(`recourse2:{${tenant}:*}:*`);
  const texts = new Map<string, string>();
  // Short arguments are those of calls that end, and go with that.
  for (const key of keys.filter((one) => /:(?:call|keyed|answer|message)$/.test(one)))
    for (const [name, text] of Object.entries(await direct.hgetall(key)))
      if (/^(?:s|b|r|r:\d+)$/.test(name) || (name === 'a' && text.length > 1000)) texts.set(`${key} ${name}`, text);
  return texts;
};

test(
  'a tenant that fills its part of Redis by calls, messages and results is refused more of them, and another one has all its keyed writes recorded',
  async () => {
    const shares = await startShares();
    const { service, write, build } = shares;
    const acme = createAcme(shares);
    const held = await acme.hold(HELD_CALLS, 50_000);
    const keysOfAcme = await fillWithResults(shares, 20_000);
    expect(keysOfAcme.length).toBeGreaterThan(10);
    expect(await acme.flood()).toMatch(
      /^call_limit_exceeded: Tool 'quick' was not called: the pending calls, results and messages of this caller's tenant fill its part of the store, \d+\.\d MiB\./,
    );
    for (const kind of ['results', 'arguments', 'deliveries']) {
      const refused = () => service.metric(`recourse_session_store_not_kept_total{kind="${kind}",limit="tenant"}`);
      await expect.poll(refused, WAIT).toBeGreaterThan(0);
    }
    const used = (await service.metric('recourse_session_store_memory_used_bytes')) ?? 0;
    expect(used).toBeLessThan(0.75 * MAX_MB * 1024 * 1024);
    const before = await readTexts(shares, 'acme');

    const keys = Array.from({ length: WRITES }, () => freshName());
    const ranBefore = write.asked.length;
    const send = (key: string) => sendWrite(shares, 'b', key, 100);
    const first = await inChunks(keys, send);
    expect(first.filter(({ code, warnings }) => code !== 'ok' || warnings.length > 0)).toEqual([]);

    const again = await inChunks(keys, send);
    expect(again).toEqual(first.map((one) => ({ ...one, replayed: true })));
    expect(write.asked.length - ranBefore).toBe(WRITES);
    const after = await readTexts(shares, 'acme');
    expect([...before].filter(([name, text]) => after.get(name) !== text).map(([name]) => name)).toEqual([]);
    const repeated = await inChunks(keysOfAcme, (key) => sendWrite(shares, 'a', key, 20_000));
    expect(repeated.filter(({ replayed, value }) => replayed !== true || value === null)).toEqual([]);
    build.release();
    const ended = await inChunks(held, acme.finish);
    expect(new Set(ended.map(({ results }) => results[0]?.value))).toEqual(new Set(['build done']));
    const metrics = await (await fetch(`${service.url}/metrics`)).text();
    expect(metrics).not.toMatch(/^recourse_session_store_errors_total\{.*reason="oom"/m);
    expect(service.logLines()).toContainEqual(
      expect.objectContaining({ level: 40, kind: 'arguments', tenant: 'acme' }),
    );
  },
  timeLimit(180_000),
);
