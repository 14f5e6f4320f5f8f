import { createHash } from 'node:crypto';
import { expectResults, post } from '@recourse/test-support/check-answer.ts';
import { startOutageService } from '@recourse/test-support/outage-service.ts';
import type { RawAnswer } from '@recourse/test-support/raw-http.ts';
import { startRedisServer } from '@recourse/test-support/redis-server.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';

// Rates as callers meet them. Where and how requests are counted is the matter of test/auth/rate-*.test.ts.

type Headers = Readonly<Record<string, string>>;

const start = async (environment: Headers): Promise<RunningService> => {
  const service = await startService(environment);
  onTestFinished(service.stop);
  return service;
};

const GOOD = '{"calls":[{"name":"echo","arguments":{"text":"x"}}]}';

const sha256 = (key: string): string => createHash('sha256').update(key).digest('hex');

const statusesOf = async (
  service: RunningService,
  count: number,
  headers: Headers = {},
): Promise<readonly number[]> => {
  const statuses: number[] = [];
  for (let request = 0; request < count; request += 1) statuses.push((await post(service.url, GOOD, headers)).status);
  return statuses;
};

const expectRateLimited = (answer: RawAnswer, of: 'key' | 'address' = 'address'): void => {
  expect(answer.status).toBe(429);
  expect(answer.headers.get('content-type')).toBe('application/problem+json; charset=utf-8');
  expect(JSON.parse(answer.body)).toMatchObject({
    type: 'urn:recourse:problem:rate_limited',
    title: 'Too Many Requests',
    status: 429,
    code: 'rate_limited',
  });
  const seconds = answer.headers.get('retry-after');
  expect(seconds).toMatch(/^\d+$/);
  // As draft-ietf-httpapi-ratelimit-headers-10 has them.
  expect(answer.headers.get('ratelimit')).toBe(`"${of}";r=0;t=${seconds}`);
  expect(answer.headers.get('ratelimit-policy')).toMatch(new RegExp(`^"${of}";q=[123];w=3600$`));
  expect(JSON.parse(answer.body).detail).toMatch(
    new RegExp(`^This ${of} may send [123] requests in 3600 s, and has sent them\\.`),
  );
  expect(Number(seconds)).toBeGreaterThan(3000);
  expect(Number(seconds)).toBeLessThanOrEqual(3600);
};

test('who sends more requests than RATE_LIMIT says is answered 429, and told when to come back and whose rate it was', async () => {
  const service = await start({ RATE_LIMIT: '3/h' });
  expect(await statusesOf(service, 3)).toEqual([200, 200, 200]);
  expectRateLimited(await post(service.url, GOOD));
  // Refused before it is read.
  expectRateLimited(await post(service.url, '{'));
  expect((await fetch(`${service.url}/tools`)).status).toBe(429);
  expect(await service.metric('recourse_rate_limited_total')).toBe(3);
  expect(await service.metric('recourse_rate_limit_errors_total')).toBe(0);
});

test('health and metrics are never limited, and do not count', async () => {
  const service = await start({ RATE_LIMIT: '1/h' });
  for (const path of ['/live', '/ready', '/metrics', '/openapi.json'])
    for (let again = 0; again < 3; again += 1) expect((await fetch(`${service.url}${path}`)).status).toBe(200);
  expect(await statusesOf(service, 2)).toEqual([200, 429]);
});

test('an address that a header claims is not believed', async () => {
  const service = await start({ RATE_LIMIT: '1/h' });
  expect(await statusesOf(service, 1)).toEqual([200]);
  for (const name of ['x-forwarded-for', 'forwarded', 'x-real-ip', 'cf-connecting-ip'])
    expect(await statusesOf(service, 1, { [name]: '203.0.113.9' })).toEqual([429]);
});

test('each key has its own count, and its own rate or RATE_LIMIT', async () => {
  const keys = ['slow', 'fast', 'standard', 'other'] as const;
  const [slow, fast, standard, other] = keys.map((key) => `acme=${sha256(key)} name=${key}`);
  const service = await start({
    RATE_LIMIT: '2/h',
    API_KEYS: `${slow} rate=1/h,${fast} rate=4/h,${standard},${other}`,
  });
  const letIn = async (key: string): Promise<number> =>
    (await statusesOf(service, 5, { 'x-api-key': key })).filter((status) => status === 200).length;
  expect([await letIn('slow'), await letIn('fast'), await letIn('standard'), await letIn('other')]).toEqual([
    1, 4, 2, 2,
  ]);
  expectRateLimited(await post(service.url, GOOD, { 'x-api-key': 'slow' }), 'key');
});

test('a key that is not known is a 401 however often it comes, and counts for nobody', async () => {
  const service = await start({ RATE_LIMIT: '1/h', API_KEYS: `acme=${sha256('right')}` });
  expect(await statusesOf(service, 5, { 'x-api-key': 'wrong' })).toEqual([401, 401, 401, 401, 401]);
  expect(await statusesOf(service, 2, { 'x-api-key': 'right' })).toEqual([200, 429]);
});

/** Sends requests of callers that nobody minds until one was counted in Redis. */
const becomeShared = (service: RunningService): Promise<void> => {
  const errorsOf = () => service.metric('recourse_rate_limit_errors_total');
  const isShared = async (): Promise<boolean> => {
    const before = await errorsOf();
    await statusesOf(service, 1, { 'x-api-key': 'first' });
    return (await errorsOf()) === before;
  };
  return expect.poll(isShared, { timeout: timeLimit(15_000), interval: 50 }).toBe(true);
};

test('two services that share Redis let in as many as one', async () => {
  const redis = await startRedisServer();
  onTestFinished(redis.stop);
  const API_KEYS = `acme=${sha256('first')} rate=100000/h,acme=${sha256('shared')} rate=10/h`;
  const services = await Promise.all([0, 1].map(() => start({ REDIS_URL: redis.url, API_KEYS })));
  for (const service of services) await becomeShared(service);
  const answers = await Promise.all(services.map((service) => statusesOf(service, 20, { 'x-api-key': 'shared' })));
  const letIn = answers.flat().filter((status) => status === 200);
  const refused = answers.flat().filter((status) => status === 429);
  expect([letIn.length, refused.length]).toEqual([10, 30]);
});

test('Redis that is silent or away refuses nobody who is within the rate, and is counted', async () => {
  const lab = await startOutageService({ environment: { RATE_LIMIT: '1000/h' } });
  await lab.served();
  lab.server.pause();
  for (let request = 0; request < 20; request += 1) expectResults(await post(lab.service.url, GOOD), 1);
  expect(await lab.service.metric('recourse_rate_limit_errors_total')).toBeGreaterThan(15);
  await lab.server.kill();
  for (let request = 0; request < 20; request += 1) expectResults(await post(lab.service.url, GOOD), 1);
  expect(await lab.service.metric('recourse_rate_limited_total')).toBe(0);
  expect(await lab.service.metric('recourse_contract_violations_total')).toBe(0);
});
