import { hash } from 'node:crypto';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';

const keyLine = (key: string, more = ''): string => `acme=${hash('sha256', key)} name=${key}${more}`;

let service: RunningService;
beforeAll(async () => {
  const keys = [keyLine('reader', ' may=read'), keyLine('slow', ' rate=2/h'), keyLine('echoes', ' tools=echo')];
  service = await startService({ API_KEYS: keys.join(',') });
});
afterAll(() => service.stop());

const ask = async (key: string | null, method = 'GET', path = '/tools'): Promise<number> => {
  const headers: Record<string, string> = key === null ? {} : { 'x-api-key': key };
  return (await fetch(`${service.url}${path}`, { method, headers })).status;
};

const refusals = () =>
  service
    .logLines()
    .filter(({ msg }) => msg === 'requests refused')
    .map(({ reason, tenant, key, address, count }) => ({ reason, tenant, key, address, count }));

test('who is refused and why stands in the log once, whoever comes how often', async () => {
  const statuses: number[] = [];
  for (const key of [null, 'nobody', 'nobody', 'reader', 'reader', 'slow', 'slow', 'slow', 'slow'])
    statuses.push(await ask(key));
  expect(statuses).toEqual([401, 401, 401, 403, 403, 200, 200, 429, 429]);
  const address = '127.0.0.1';
  expect(refusals()).toEqual([
    { reason: 'missing', tenant: null, key: null, address, count: 1 },
    { reason: 'unknown', tenant: null, key: null, address, count: 1 },
    { reason: 'operation', tenant: 'acme', key: 'reader', address, count: 1 },
    { reason: 'rate', tenant: 'acme', key: 'slow', address, count: 1 },
  ]);
  expect(await service.metric('recourse_access_refused_total{reason="unknown"}')).toBe(2);
  expect(await service.metric('recourse_rate_limited_total')).toBe(2);
});

test('a reset that needs more tools than the key has is counted and told like one that needs another operation', async () => {
  const before = (await service.metric('recourse_access_refused_total{reason="operation"}')) ?? 0;
  expect(await ask('echoes', 'DELETE', '/sessions/s_1')).toBe(403);
  expect(await ask('echoes', 'DELETE', '/sessions/s_1/budgets/read_file')).toBe(403);
  expect(await service.metric('recourse_access_refused_total{reason="operation"}')).toBe(before + 2);
  expect(refusals()).toContainEqual({
    reason: 'operation',
    tenant: 'acme',
    key: 'echoes',
    address: '127.0.0.1',
    count: 1,
  });
});
