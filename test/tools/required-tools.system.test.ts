import { runToEnd, startProcess } from '@recourse/test-support/start-process.ts';
import { callService } from '@recourse/test-support/start-service.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';
import { ToolCatalogue } from '#src/contract/tool-description.ts';

const toolFile = (name: string, value: string): string => `
  import { defineTool, z } from 'recourse';
  export const tool = defineTool({
    name: '${name}',
    description: '',
    effects: 'write',
    input: z.object({}),
    run: () => '${value}',
  });
`;
const broken = (text: string): string => `${text}export const = 1;\n`;
const DEADLINE = { timeout: timeLimit(30_000), interval: 50 };

const serve = async (environment: Readonly<Record<string, string>>) => {
  const running = await startProcess({ by: 'node', environment: { MAX_EVENT_LOOP_LAG_MS: '60000', ...environment } });
  const ready = async (): Promise<unknown> => {
    const answer = await fetch(`${running.url}/ready`);
    const body: unknown = await answer.json();
    return { code: answer.status, ...Object(body) };
  };
  const call = async (name: string) => {
    const [result] = await callService(running.url, [{ name, arguments: {} }], { session_id: 's' });
    return result;
  };
  const series = async (labels: string): Promise<readonly string[]> => {
    const text = await (await fetch(`${running.url}/metrics`)).text();
    return text.split('\n').filter((line) => line.includes(labels));
  };
  return { running, ready, call, series };
};

const REFUSED = {
  success: false,
  outcome: 'refused',
  executed: 'no',
  retry: null,
  error: { code: 'tool_unavailable' },
};

test('a start with a broken file is not ready until the file is mended, and its calls are failures of its tool', async () => {
  const { root, write } = makeDirectory({
    'pay/refund.ts': broken(toolFile('pay_refund', 'refunded')),
    'look.ts': toolFile('look', 'seen'),
  });
  const { running, ready, call, series } = await serve({ TOOLS_DIR: root, TOOLS_REQUIRED: 'pay_,look' });
  expect(await ready()).toMatchObject({
    code: 503,
    status: 'tools_missing',
    missing: ['pay_'],
    files: [{ file: 'pay/refund.ts', line: 10, message: expect.stringContaining('Unexpected token') }],
  });
  expect(await running.logged('required tools are missing')).toMatchObject({
    missing: ['pay_'],
    files: [expect.stringMatching(/^pay\/refund\.ts:10:/)],
    ready: false,
  });
  for (let times = 0; times < 5; times += 1) expect(await call('pay_refund')).toMatchObject(REFUSED);
  expect(await call('pay_refunt')).toMatchObject({ outcome: 'retry', error: { code: 'unknown_tool' } });
  expect(await call('look')).toMatchObject({ value: 'seen' });
  await expect
    .poll(() => series('{tool="pay_refund"'), DEADLINE)
    .toEqual([
      'recourse_tool_calls_total{tool="pay_refund",outcome="refused",code="tool_unavailable",fault="tool"} 5',
      'recourse_tool_call_failures_total{tool="pay_refund",code="tool_unavailable",fault="tool"} 5',
    ]);

  write('pay/refund.ts', toolFile('pay_refund', 'refunded'));
  await expect.poll(ready, DEADLINE).toMatchObject({ code: 200, status: 'ready', missing: [], files: [] });
  expect(await call('pay_refund')).toMatchObject({ value: 'refunded' });
  // Requests of one second share a collection.
  await expect
    .poll(() => series('recourse_circuit_state{tool="pay_refund"}'), DEADLINE)
    .toEqual(['recourse_circuit_state{tool="pay_refund"} 0']);

  write('pay/refund.ts', broken(toolFile('pay_refund', 'changed')));
  await expect.poll(ready, DEADLINE).toMatchObject({
    code: 200,
    status: 'degraded',
    missing: [],
    files: [{ file: 'pay/refund.ts', line: 10 }],
  });
  expect(await call('pay_refund')).toMatchObject({ value: 'refunded' });
});

test('without TOOLS_REQUIRED a broken file makes /ready degraded; the tools that its text names are in the catalogue', async () => {
  const names = `{ name: "pay.out" }; ({ "name" : \`pay.in\` }); // name: 'in_a_comment'\n/* name: 'in_another' */ fetch('http://x', { name: 'pay-by' });`;
  const { root } = makeDirectory({ 'pay.ts': broken(names) });
  const { running, ready, call } = await serve({ TOOLS_DIR: root });
  expect(await ready()).toMatchObject({ code: 200, status: 'degraded', missing: [], files: [{ file: 'pay.ts' }] });
  const { tools } = ToolCatalogue.parse(await (await fetch(`${running.url}/tools`)).json());
  const unavailable = tools.filter(({ available }) => !available);
  expect(unavailable.map(({ name }) => name)).toEqual(['pay-by', 'pay.in', 'pay.out']);
  expect(await call('pay_out')).toMatchObject({ ...REFUSED, name: 'pay_out' });
});

test('all requires servers and imports too, and names of theirs that never loaded are unavailable', async () => {
  const { root, write } = makeDirectory({
    'c.json': JSON.stringify({
      mcpServers: { crm: { command: '/no/such/program' } },
      openapi: { shop: { document: './shop.json', baseUrl: 'http://127.0.0.1:1', privateAddresses: 'allow' } },
    }),
  });
  const { ready, call, series } = await serve({ CONFIG_FILE: `${root}/c.json`, TOOLS_REQUIRED: 'all,shop_order' });
  expect(await ready()).toMatchObject({
    code: 503,
    status: 'tools_missing',
    missing: ['all', 'shop_order'],
    files: [],
  });
  for (const name of ['crm_find', 'shop_list', 'shop_order']) expect(await call(name)).toMatchObject(REFUSED);
  expect(await call('crmfind')).toMatchObject({ error: { code: 'unknown_tool' } });
  // Names that a model makes up under a prefix have one label together.
  expect(await series('recourse_tool_calls_total{tool="_other"')).toEqual([
    'recourse_tool_calls_total{tool="_other",outcome="refused",code="tool_unavailable",fault="tool"} 2',
  ]);
  expect(await series('recourse_tool_calls_total{tool="shop_order"')).toEqual([
    'recourse_tool_calls_total{tool="shop_order",outcome="refused",code="tool_unavailable",fault="tool"} 1',
  ]);
  write('shop.json', JSON.stringify(SHOP));
  await expect.poll(ready, DEADLINE).toMatchObject({ code: 503, missing: ['all'] });
});

const SHOP = {
  openapi: '3.1.0',
  info: { title: 'shop', version: '1' },
  paths: { '/orders': { get: { operationId: 'order', responses: { 200: { description: '' } } } } },
};

test('a tool that is required and switched off ends the start; so does what is no name', async () => {
  const { root } = makeDirectory({
    'c.json': JSON.stringify({ tools: { refund: { enabled: false }, 'crm_*': { enabled: false } } }),
  });
  const CONFIG_FILE = `${root}/c.json`;
  const disabled = await runToEnd({ by: 'node', environment: { CONFIG_FILE, TOOLS_REQUIRED: 'refund,crm_,echo' } });
  expect(disabled.code).toBe(1);
  expect(disabled.stderr.split('\n').filter((line) => line.includes('TOOLS_REQUIRED'))).toEqual([
    expect.stringContaining(
      "TOOLS_REQUIRED names 'refund', which the configuration file disables: tools['refund'].enabled is false.",
    ),
    expect.stringContaining(
      "TOOLS_REQUIRED names 'crm_', which the configuration file disables: tools['crm_*'].enabled is false.",
    ),
  ]);
  const wrong = await runToEnd({ by: 'node', environment: { TOOLS_REQUIRED: 'pay_*' } });
  expect(wrong.stderr).toContain('TOOLS_REQUIRED must be all, or a comma-separated list of tools and of prefixes');
});
