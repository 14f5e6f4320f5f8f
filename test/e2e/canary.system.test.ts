import { type Canary, createCanaries, findCanaries, SPELLINGS } from '@recourse/test-support/canaries.ts';
import { LEAKY_FILE, LEAKY_TOOLS, LEAKY_WAYS, SLOW_WAYS } from '@recourse/test-support/leaky-tools.ts';
import { startOtlpReceiver } from '@recourse/test-support/otlp-receiver.ts';
import { startRedisServer } from '@recourse/test-support/redis-server.ts';
import { startProcess } from '@recourse/test-support/start-process.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';

const HOWS = Object.keys(SPELLINGS);

// Put together here, so that whoever scans this file for keys finds none.
const LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789'.repeat(2);
const SHAPED = [
  'postgres://bob:hunter2hunter2@db.example.com/x',
  `Authorization: Bearer zz${LETTERS}`,
  `sk-zz${LETTERS}`,
  'AKIAZZZZZZZZZZZZZZZZ',
  'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ6eiJ9.enp6enp6enp6eno',
  '-----BEGIN RSA PRIVATE KEY-----\nMIIBzzzzzzzzzzzz\n-----END RSA PRIVATE KEY-----',
  `ghp_zz${LETTERS.slice(0, 34)}`,
  `rcs_zz${LETTERS.slice(0, 41)}`,
];
const SHAPES = /hunter2|zzabcdef|AKIAZZ|eyJhbGci|enp6|MIIBzz/;

/** A service of a process of its own with leaking tools, and every byte that has come out of it. */
const startLeaky = async () => {
  const canaries = createCanaries();
  const ofRedis: Canary = { variable: 'the password of Redis', value: `r${LETTERS.slice(5, 30)}` };
  const redis = await startRedisServer({ settings: ['--requirepass', ofRedis.value] });
  onTestFinished(redis.stop);
  const spans = await startOtlpReceiver();
  const { root } = makeDirectory({ 'leaky.js': LEAKY_TOOLS, 'broken.js': LEAKY_FILE });
  const url = redis.url.replace('redis://', `redis://:${ofRedis.value}@`);
  const running = await startProcess({
    by: 'node',
    environment: {
      ...Object.fromEntries(canaries.map(({ variable, value }) => [variable, value])),
      TOOLS_DIR: root,
      TOOLS_ENV: canaries.map(({ variable }) => variable).join(','),
      TOOL_HOSTS_MAX: '4',
      REDIS_URL: url,
      LOG_LEVEL: 'trace',
      OTEL_EXPORTER_OTLP_ENDPOINT: spans.endpoint,
      TRACE_CONTENT: 'true',
      MAX_EVENT_LOOP_LAG_MS: '60000',
      SESSION_RETRIES: '100000',
      CIRCUIT_FAILURES: '0',
    },
  });
  const bodies: string[] = [];
  const get = async (path: string): Promise<string> => {
    const body = await (await fetch(`${running.url}${path}`)).text();
    bodies.push(body);
    return body;
  };
  const post = async (body: object, headers: Readonly<Record<string, string>> = {}, kept = bodies): Promise<string> => {
    const answer = await fetch(`${running.url}/tool-calls`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    const text = await answer.text();
    kept.push(text);
    expect(answer.status, text).toBe(200);
    return text;
  };
  return { canaries: [...canaries, ofRedis], bodies, get, post, running, spans, url };
};

type Leaky = Awaited<ReturnType<typeof startLeaky>>;

const callsOf = (canaries: readonly Canary[], ways: readonly string[], hows: readonly string[], name = 'leak') =>
  canaries.flatMap(({ variable: of }) =>
    ways.flatMap((way) => hows.map((how) => ({ name, arguments: { way, of, how } }))),
  );

/** Batches of 60 calls, each in a session of its own, so that no budget and no loop guard ends the leaking. */
const leakAll = async ({ canaries, post }: Leaky): Promise<void> => {
  const calls = callsOf(canaries.slice(0, -1), LEAKY_WAYS, HOWS);
  for (let from = 0; from < calls.length; from += 60)
    await post({ session_id: `leaks_${from}`, calls: calls.slice(from, from + 60) });
};

const leakSlowly = async ({ canaries, post }: Leaky): Promise<void> => {
  for (const way of SLOW_WAYS) {
    const calls = callsOf(canaries.slice(0, -1), [way], ['plain', 'basic'], 'leak_writing');
    const timed = way.startsWith('late') ? calls.map((call) => ({ ...call, timeout_ms: 400 })) : calls;
    const body = { session_id: `slow_${way}`, calls: timed };
    // Replayed at once, and again when what was late has come.
    for (let turn = 0; turn < 2; turn += 1) await post(body, { 'idempotency-key': `slow-${way}` });
  }
};

/** What a model has learned it may send: as an id, a name, an argument, and as what it takes for a number. */
const sendAll = async ({ canaries, post }: Leaky): Promise<void> => {
  const texts = canaries.flatMap(({ value }) => [value, `${'y'.repeat(60)}${value}`, `${'y'.repeat(170)}${value}`]);
  for (const [place, text] of texts.entries()) {
    const calls = [
      { id: text, name: 'leak', arguments: { way: 'value', of: 'CANARY_TOKEN', how: 'plain', text } },
      { id: `${'i'.repeat(115)}${text}`, name: text, arguments: {} },
      { name: 'takes_number', arguments: { n: text } },
      { name: 'takes_number', arguments: { n: 1, [text]: text } },
      { name: 'takes_number', arguments: `{"${text}` },
      { name: 'throws', arguments: { text: `${'y'.repeat(1960)}${text}` } },
    ];
    // What a caller sends comes back to it, and to nobody else.
    await post({ session_id: `sent_${place}`, calls }, {}, []);
  }
  const ofEach = canaries.slice(0, -1).map(({ variable }) => variable);
  await post({
    calls: ofEach.flatMap((of) => [
      { name: 'checked', arguments: { of } },
      { name: 'wrong_output', arguments: { of } },
    ]),
  });
};

const sendShapes = async ({ post }: Leaky): Promise<void> => {
  const texts = SHAPED.flatMap((text) => [text, `${'y'.repeat(180)} ${text}`, `${'y'.repeat(1970)} ${text}`]);
  for (const [place, text] of texts.entries())
    await post({ session_id: `shapes_${place}`, calls: [{ name: 'throws', arguments: { text } }] });
};

const readAll = async ({ get }: Leaky): Promise<void> => {
  for (const path of ['/tools', '/tools/leak', '/tools/leak_writing', '/metrics', '/ready', '/docs', '/openapi.json'])
    await get(path);
  for (let from = 0; from < 960; from += 60) await get(`/sessions/leaks_${from}`);
  for (const way of SLOW_WAYS) await get(`/sessions/slow_${way}`);
  for (let place = 0; place < 24; place += 1) {
    await get(`/sessions/sent_${place}`);
    await get(`/sessions/shapes_${place}`);
  }
};

/** Every key of Redis and what it holds. */
const dumpRedis = async (url: string): Promise<string> => {
  const redis = new Redis(url);
  onTestFinished(() => redis.disconnect());
  const keys = await redis.keys('*');
  const values = await Promise.all(keys.map((key) => readKey(redis, key)));
  return keys.map((key, place) => `${key} ${values[place]}`).join('\n');
};

const readKey = async (redis: Redis, key: string): Promise<string> => {
  const type = await redis.type(key);
  if (type === 'hash') return JSON.stringify(await redis.hgetall(key));
  if (type === 'list') return JSON.stringify(await redis.lrange(key, 0, -1));
  if (type === 'set') return JSON.stringify(await redis.smembers(key));
  if (type === 'zset') return JSON.stringify(await redis.zrange(key, '0', '-1'));
  return (await redis.get(key)) ?? '';
};

test(
  'no secret that tools are given shows in any answer, log line, span, metric or key of Redis, however they leak it',
  async () => {
    const leaky = await startLeaky();
    const kept = 'kept_under_a_request_id';
    await leaky.post(
      { calls: callsOf(leaky.canaries.slice(0, -1), ['value', 'message'], HOWS) },
      { 'idempotency-key': 'kept', 'x-request-id': kept },
    );
    await leakAll(leaky);
    await leakSlowly(leaky);
    await sendAll(leaky);
    await sendShapes(leaky);
    await readAll(leaky);
    await leaky.get(`/tool-calls/${kept}`);
    const redis = await dumpRedis(leaky.url);
    leaky.running.send('SIGTERM', 'service');
    await leaky.running.exited;
    const outputs = {
      bodies: leaky.bodies.join('\n'),
      log: leaky.running
        .logLines()
        .map((line) => JSON.stringify(line))
        .join('\n'),
      stderr: leaky.running.stderr(),
      redis,
      spans: JSON.stringify(leaky.spans.spans(), (_, value: unknown) =>
        typeof value === 'bigint' ? `${value}` : value,
      ),
    };
    const found = Object.entries(outputs).flatMap(([output, text]) =>
      findCanaries(leaky.canaries, text).map((canary) => `${output}: ${canary}`),
    );
    expect(found).toEqual([]);
    // They did leak, and it was seen at every exit.
    for (const output of ['bodies', 'log', 'redis', 'spans'] as const)
      expect(outputs[output].split('[redacted]').length, output).toBeGreaterThan(100);
    for (const place of ['result', 'journal', 'log', 'span'])
      expect(outputs.bodies).toMatch(new RegExp(`recourse_secrets_redacted_total\\{place="${place}"\\} [1-9]`));
    expect(outputs.bodies).toContain('recourse_contract_violations_total 0');
    for (const [output, text] of Object.entries(outputs)) expect(SHAPES.exec(text)?.[0], output).toBeUndefined();
  },
  timeLimit(300_000),
);
