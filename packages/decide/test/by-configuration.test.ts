import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { createFolder, DEADLINE, startConfigLab } from '@recourse/test-support/config-lab.ts';
import { createActor, createKeyedClient, freshName } from '@recourse/test-support/keyed-client.ts';
import { servers } from '@recourse/test-support/mcp-servers/mcp-lab.ts';
import { didNotHappen } from 'recourse-server';
import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';

const DELAYS = { RECONCILE_DELAYS: '50ms,100ms,200ms' };
const EFFECT_ID = /^e_[\w-]{22}$/;
const UNLOOKED = 'writes of tool cannot be looked for';
const NO_TOOL = 'entry of the configuration file matches no tool';

const startClient = async (...given: Parameters<typeof startConfigLab>) => {
  const lab = await startConfigLab(given[0], { ...DELAYS, ...given[1] }, given[2]);
  const problems = () => lab.linesOf('reconcile failed: it counts as unclear').map(({ problem }) => problem);
  return { ...lab, ...createKeyedClient(lab.service.url), problems };
};

type Reconcile = Readonly<Record<string, unknown>>;

/** An MCP server that never answers a payment. */
const startMcpBank = async (reconcile: Reconcile) => {
  const ledger = join(await createFolder(), 'ledger');
  await writeFile(ledger, '');
  const client = await startClient({
    mcpServers: { bank: servers.bank(ledger) },
    tools: { bank_pay: { timeoutMs: 500, effectId: { argument: '/reference' }, reconcile } },
  });
  return {
    ...client,
    payments: async () => (await readFile(ledger, 'utf8')).split('\n').filter((line) => line !== ''),
  };
};

const BY_LIST = {
  tool: 'bank_list',
  arguments: { reference: '{effectId}', account: '{/account}' },
  happened: '/items/0',
};

test('a payment at an MCP server that never answers is found by another of its tools', async () => {
  const { post, payments, problems } = await startMcpBank({ ...BY_LIST, final: true });
  const pay = { name: 'bank_pay', arguments: { account: 7, lost: false } };
  const key = freshName();
  const { results } = await post([pay], { key });
  expect(results[0]).toMatchObject({
    ...{ success: true, executed: 'yes', reconciled: { by: 'tool' } },
    value: { reference: expect.stringMatching(EFFECT_ID), account: 7 },
  });
  expect(await payments()).toHaveLength(1);
  expect((await post([pay], { key })).results[0]).toMatchObject({ success: true, replayed: true });
  expect(problems()).toEqual([]);
});

test('that another tool finds nothing says nothing, unless it is final', async () => {
  const { post, problems } = await startMcpBank(BY_LIST);
  const calls = [{ name: 'bank_pay', arguments: { account: 7, lost: true } }];
  const { results } = await post({ deadline_ms: 2000, calls }, { key: freshName() });
  expect(results[0]).toMatchObject({ outcome: 'unknown', executed: 'maybe' });
  expect(results[0]?.message).toContain('A check goes on; ask again under the same key.');
  expect(problems()).toEqual([]);
});

const BANK = {
  openapi: '3.1.0',
  info: { title: 'Bank', version: '1' },
  paths: {
    '/payments': {
      post: {
        operationId: 'pay',
        requestBody: {
          required: true,
          content: { 'application/json': { schema: { type: 'object', properties: { amount: { type: 'integer' } } } } },
        },
      },
      get: {
        operationId: 'list',
        parameters: [{ name: 'reference', in: 'query', schema: { type: 'string' } }],
      },
    },
  },
};

/** An API that tears the connection of a payment before or after it, and whose list a test may break. */
const startApi = async () => {
  const none = (): string[] => [];
  const api = { cut: 'before', isBroken: false, references: none(), asked: none(), keys: none() };
  const server = createServer((request, response) => {
    const json = (status: number, value: unknown): unknown =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    const key = String(request.headers['idempotency-key']);
    const pay = (): unknown => {
      if (api.cut !== 'before') api.references.push(key);
      return api.cut === 'never' ? json(201, { amount: 5 }) : response.destroy();
    };
    const list = (): unknown => {
      const reference = new URL(String(request.url), 'http://bank').searchParams.get('reference') ?? '';
      api.asked.push(reference);
      api.keys.push(key);
      const items = api.references.filter((one) => one === reference).map(() => ({ amount: 5, reference }));
      return api.isBroken ? json(500, {}) : json(200, { items });
    };
    return request.method === 'POST' ? pay() : list();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The API has no port.');
  const document = join(await createFolder(), 'bank.json');
  await writeFile(document, JSON.stringify(BANK));
  const shop = { document, baseUrl: `http://127.0.0.1:${address.port}`, privateAddresses: 'allow' };
  const configure = (reconcile: Reconcile | null, tools: object = {}) => ({
    openapi: { bank: shop },
    tools: {
      'bank_*': { effectId: { header: 'Idempotency-Key' } },
      bank_pay: { ...(reconcile === null ? {} : { reconcile }) },
      ...tools,
    },
  });
  return Object.assign(api, { configure });
};

const BY_API = { tool: 'bank_list', arguments: { reference: '{effectId}' }, happened: '/items/0' };
const PAY = { name: 'bank_pay', arguments: { amount: 5 } };

test('a final word that a payment did not happen is believed some time after its run, and the same key pays with the same effect id', async () => {
  const api = await startApi();
  const { post } = await startClient(api.configure({ ...BY_API, final: true, after: '600ms' }));
  const key = freshName();
  const first = await post([PAY], { key });
  expect(first.results[0]).toMatchObject({ outcome: 'retry', executed: 'no', reconciled: { by: 'tool' } });
  expect(first.results[0]?.reconciled?.after_ms).toBeGreaterThanOrEqual(600);
  const [effectId] = api.asked;
  expect(effectId).toMatch(EFFECT_ID);
  expect(new Set(api.asked)).toEqual(new Set([effectId]));
  expect(api.asked.length).toBeGreaterThan(1);
  // An upstream that answers a repeated key as it did before would never see the payment.
  expect(new Set(api.keys).size).toBe(api.keys.length);
  expect(api.keys).not.toContain(effectId);
  api.cut = 'never';
  expect((await post([PAY], { key })).results[0]).toMatchObject({ success: true, value: { amount: 5 } });
  expect(api.references).toEqual([effectId]);
});

test('a payment that is there is believed at once, and before that time a final word is not', async () => {
  const api = await startApi();
  const { post } = await startClient(api.configure({ ...BY_API, final: true, after: '1h' }));
  const lost = await post({ deadline_ms: 1500, calls: [PAY] }, { key: freshName() });
  expect(lost.results[0]).toMatchObject({ outcome: 'unknown', executed: 'maybe' });
  await expect.poll(() => api.asked.length, DEADLINE).toBeGreaterThan(1);
  api.cut = 'after';
  const { results } = await post([PAY], { key: freshName() });
  expect(results[0]).toMatchObject({
    ...{ success: true, value: { amount: 5, reference: api.references[0] } },
    reconciled: { by: 'tool', attempts: 1 },
  });
});

test('another tool that fails says nothing, and is asked again until it answers', async () => {
  const api = await startApi();
  const { post, problems } = await startClient(api.configure(BY_API));
  Object.assign(api, { cut: 'after', isBroken: true });
  const key = freshName();
  const first = await post({ deadline_ms: 1000, calls: [PAY] }, { key });
  expect(first.results[0]).toMatchObject({ outcome: 'unknown' });
  await expect.poll(() => problems()[0], DEADLINE).toContain('HTTP 500');
  api.isBroken = false;
  await expect
    .poll(async () => (await post([PAY], { key })).results[0], DEADLINE)
    .toMatchObject({ success: true, value: { amount: 5 }, reconciled: { by: 'tool' } });
  expect(api.references).toHaveLength(1);
});

test('what a look asks is as the file says now: an open write is found once the file is right', async () => {
  const api = await startApi();
  const { post, change, problems, linesOf } = await startClient(api.configure(null));
  api.cut = 'after';
  expect((await post([PAY], { key: freshName() })).results[0]).toMatchObject({ outcome: 'unknown' });
  expect(api.asked).toEqual([]);

  const wrong = { ...BY_API, arguments: { reference: '{/reference}' } };
  await change(api.configure(wrong));
  const key = freshName();
  const deadline = { deadline_ms: 1000, calls: [PAY] };
  expect((await post(deadline, { key })).results[0]).toMatchObject({ outcome: 'unknown' });
  await expect
    .poll(() => problems()[0], DEADLINE)
    .toBe('Its arguments have nothing at /reference, which reconcile.arguments names.');
  expect(api.asked).toEqual([]);

  await change(api.configure(BY_API));
  await expect.poll(() => linesOf('unknown outcome settled').length, DEADLINE).toBe(1);
  expect((await post([PAY], { key })).results[0]).toMatchObject({ success: true, reconciled: { by: 'tool' } });
});

test.each([
  [
    { ...BY_API, tool: 'bank_pay' },
    "reconcile asks 'bank_pay', which is a write: a check only reads. Name another tool, or set its effects to read.",
  ],
  [{ ...BY_API, tool: 'bank_lst' }, "reconcile asks 'bank_lst', and no such tool serves."],
  [{ ...BY_API, happened: '/items/0/reference/x' }, null],
])('what cannot be asked says nothing of the write, and the log says why: %j', async (reconcile, problem) => {
  const api = await startApi();
  const { post, problems, linesOf, tools } = await startClient(api.configure(reconcile));
  api.cut = 'after';
  const { results } = await post({ deadline_ms: 1000, calls: [PAY] }, { key: freshName() });
  expect(results[0]).toMatchObject({ outcome: 'unknown', executed: 'maybe' });
  await expect.poll(() => problems()[0] ?? null, DEADLINE).toBe(problem);
  const isWrite = problem?.includes('a write') === true;
  expect(linesOf(UNLOOKED)).toMatchObject(isWrite ? [{ tool: 'bank_pay', problem }] : []);
  const isMissing = problem?.includes('no such') === true;
  expect(linesOf(NO_TOOL)).toMatchObject(isMissing ? [{ reconcile: 'bank_lst', nearest: ['bank_list'] }] : []);
  expect((await tools()).get('bank_pay')).toMatchObject({ available: true, unavailable_reason: null });
});

test('a tool that is no write runs as ever, and the log says that nothing looks for it', async () => {
  const api = await startApi();
  const { linesOf, service } = await startClient(api.configure(null, { bank_list: { reconcile: BY_API } }));
  expect(linesOf(UNLOOKED)).toMatchObject([
    { problem: "reconcile is for writes, and effects of 'bank_list' is 'read': remove it there." },
  ]);
  expect(await service.call([{ name: 'bank_list', arguments: {} }])).toMatchObject([{ success: true }]);
});

test('the file comes before what a tool says itself, and asks a tool in a process of its own, too', async () => {
  const folder = join(await createFolder(), 'tools');
  await mkdir(folder);
  await writeFile(
    join(folder, 'find.ts'),
    `import { defineTool, z } from 'recourse-server';
     export default defineTool({
       name: 'find', description: 'Finds.', effects: 'idempotent', input: z.object({ reference: z.string(), amount: z.number() }),
       run: (input, { effects }) => ({ items: [{ ...input, effects }] }),
     });`,
  );
  const { tool } = createActor('pay', { effects: 'write', reconcile: () => didNotHappen() }, () => {
    throw new Error('The connection was lost.');
  });
  const reconcile = {
    tool: 'find',
    arguments: { reference: 'by {effectId}', amount: '{/amount}' },
    happened: '/items/0',
  };
  const { post } = await startClient({ tools: { pay: { reconcile } } }, { TOOLS_DIR: folder }, [tool]);
  const { results } = await post([{ name: 'pay', arguments: { amount: 5 } }], { key: freshName() });
  expect(results[0]).toMatchObject({
    success: true,
    value: { reference: expect.stringMatching(/^by e_[\w-]{22}$/), amount: 5, effects: 'read' },
  });
});

test('what was found is held to the output schema of the write, as what its run gives is', async () => {
  const output = z.object({ amount: z.number() });
  const { tool } = createActor('pay', { effects: 'write', output }, () => {
    throw new Error('The connection was lost.');
  });
  const find = createActor('find', {}, ({ amount }) => ({ amount }));
  const reconcile = { tool: 'find', arguments: { amount: '{/amount}' }, happened: '' };
  const { post } = await startClient({ tools: { pay: { reconcile } } }, {}, [tool, find.tool]);
  const pay = async (amount: unknown) => (await post([{ name: 'pay', arguments: { amount } }])).results[0];
  expect(await pay(5)).toMatchObject({ success: true, value: { amount: 5 } });
  expect(await pay('x')).toMatchObject({ success: true, value: null, warnings: [{ code: 'invalid_output' }] });
});
