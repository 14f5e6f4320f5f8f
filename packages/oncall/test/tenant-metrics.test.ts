import { postAs, toKeyEntry } from '@recourse/test-support/access-client.ts';
import { startService } from '@recourse/test-support/start-service.ts';
import { expect, onTestFinished, test } from 'vitest';

const KEYS = ['acme', 'globex', 'initech'].map((tenant) => toKeyEntry(tenant, `${tenant}-key`)).join(',');
const CALLS = [
  { name: 'echo', arguments: { text: 'a' } },
  { name: 'echo', arguments: {} },
];

const start = async (environment: Readonly<Record<string, string>>) => {
  const service = await startService({ API_KEYS: KEYS, ...environment });
  onTestFinished(service.stop);
  for (const tenant of ['acme', 'globex', 'initech']) await postAs(service, `${tenant}-key`, { calls: CALLS });
  const text = await (await fetch(`${service.opsUrl}/metrics`)).text();
  return { ...service, series: text.match(/^recourse_tenant_\w+\{.*\} [1-9].*$/gm) ?? [], text };
};

test('calls are counted by the tenants that are named, those of others together', async () => {
  const { series } = await start({ METRICS_TENANTS: 'acme,nobody' });
  expect(series.filter((line) => line.startsWith('recourse_tenant_calls_total')).toSorted()).toEqual([
    'recourse_tenant_calls_total{tenant="_other",fault="caller"} 2',
    'recourse_tenant_calls_total{tenant="_other",fault="none"} 2',
    'recourse_tenant_calls_total{tenant="acme",fault="caller"} 1',
    'recourse_tenant_calls_total{tenant="acme",fault="none"} 1',
  ]);
});

test('without the setting no metric has a tenant', async () => {
  const { text } = await start({});
  expect(text).toContain('recourse_tool_calls_total{tool="echo"');
  expect(text).not.toMatch(/recourse_tenant|acme|globex/);
});
