import { mkdir, writeFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { CHANGED_WRONGLY, createFolder, DEADLINE, startConfigLab } from '@recourse/test-support/config-lab.ts';
import { createKeyedClient, freshName, warningsOf } from '@recourse/test-support/keyed-client.ts';
import { servers } from '@recourse/test-support/mcp-servers/mcp-lab.ts';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { EffectIdPlace } from '#src/tools/tool-override.ts';

const EFFECT_ID = /^e_[\w-]{22}$/;
const FILLED_IN = 'the service fills it in: leave it out';

type Seen = { readonly headers: IncomingHttpHeaders; readonly body: string };

/** A shop over HTTP that remembers what it was sent, and its OpenAPI document in a file. */
const startShop = async () => {
  const seen: Seen[] = [];
  const server = createServer(async (request, response) => {
    seen.push({ headers: request.headers, body: await text(request) });
    response.setHeader('content-type', 'application/json').end('{"ordered":true}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The shop has no port.');
  const document = join(await createFolder(), 'shop.json');
  await writeFile(document, JSON.stringify(SHOP));
  const baseUrl = `http://127.0.0.1:${address.port}`;
  return { seen, settings: { document, baseUrl, privateAddresses: 'allow', idempotencyKeys: ['*'] } };
};

const ORDER = {
  type: 'object',
  properties: { item: { type: 'string' }, payment: { $ref: '#/components/schemas/Payment' } },
  required: ['item', 'payment'],
};
const HEADER = { name: 'X-Trace', in: 'header', schema: { type: 'string' } };
const SHOP = {
  openapi: '3.1.0',
  info: { title: 'Shop', version: '1' },
  paths: {
    '/orders': {
      post: {
        operationId: 'order',
        parameters: [HEADER, { name: 'X-Shop-Key', in: 'header', schema: { type: 'string' } }],
        requestBody: { required: true, content: { 'application/json': { schema: ORDER } } },
      },
    },
  },
  components: {
    schemas: {
      Payment: {
        type: 'object',
        properties: { amount: { type: 'integer' }, reference: { type: 'integer' } },
        required: ['amount', 'reference'],
      },
    },
    securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'X-Shop-Key' } },
  },
};

const startBank = async (effectId: EffectIdPlace) => {
  const { service, tools, ...lab } = await startConfigLab({
    mcpServers: { lab: servers.scripted() },
    tools: { lab_spelled: { effectId, effects: 'write' } },
  });
  return { ...lab, ...createKeyedClient(service.url), service, tools };
};

/** What the MCP server was sent, as its tool gives it back. */
const argumentsOf = (value: unknown): unknown => JSON.parse(String(value)).params.arguments;

test('no model sees an argument that the service fills in: not in the catalogue, for a provider or over MCP', async () => {
  const { service, tools } = await startBank({ argument: '/id' });
  expect(Object.keys(Object((await tools()).get('lab_spelled')?.input_schema['properties']))).toEqual(['rows']);
  for (const path of ['/tools/lab_spelled?format=openai-chat', '/tools/lab_spelled?format=anthropic', '/mcp']) {
    const isMcp = path === '/mcp';
    const answer = await fetch(`${service.url}${path}`, {
      ...(isMcp ? { method: 'POST', body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }) } : {}),
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    });
    const shown = await answer.text();
    expect([answer.status, shown.includes('lab_spelled'), shown.includes('"rows"')]).toEqual([200, true, true]);
    const spelled = shown.slice(shown.indexOf('lab_spelled'), shown.indexOf('"rows"'));
    expect(spelled).not.toContain('"id"');
  }
});

test('a server gets the effect id whatever its schema says, the same for a keyed repeat and another for another call', async () => {
  const { post, session } = await startBank({ argument: '/id' });
  const elsewhere = await startBank({ argument: '/id' });
  const key = freshName();
  const call = { name: 'lab_spelled', arguments: { rows: [{ n: 1 }] } };
  const sent = async (client: Pick<typeof elsewhere, 'post'>, more: { readonly key?: string } = {}) => {
    const { results } = await client.post([call], more);
    return argumentsOf(results[0]?.value);
  };
  const first = await sent({ post }, { key });
  expect(first).toEqual({ id: expect.stringMatching(EFFECT_ID), rows: [{ n: 1 }] });
  // Of another service, which has no record of the key: its call runs.
  expect(await sent(elsewhere, { key })).toEqual(first);
  expect(await sent({ post })).not.toEqual(first);
  // A stored result: no part of what the key is for has changed.
  expect((await post([call], { key })).results[0]).toMatchObject({ success: true, replayed: true });

  const id = freshName();
  for (const _time of [1, 2]) await post({ session_id: id, calls: [call] });
  const [one, other] = (await session(id)).calls;
  expect(one).toMatchObject({ fingerprint: other?.fingerprint, effect_id: expect.stringMatching(EFFECT_ID) });
  expect(Object(one).effect_id).not.toBe(Object(other).effect_id);
});

test('equal calls are still seen as equal by the loop guard', async () => {
  const { service } = await startConfigLab({
    mcpServers: { lab: servers.scripted() },
    tools: { lab_echo: { effectId: { argument: '/pair' } } },
  });
  const warned: unknown[] = [];
  for (let count = 0; count < 3; count += 1) {
    const calls = [{ name: 'lab_echo', arguments: { text: 'again' } }];
    const [result] = await service.call(calls, { session_id: 'agent' });
    warned.push(warningsOf(result));
  }
  expect(warned).toEqual([[], [], ['identical_call']]);
});

test('a caller that sends it is refused and told why, and the server hears nothing', async () => {
  const { post } = await startBank({ argument: '/id' });
  const { results } = await post([{ name: 'lab_spelled', arguments: { id: 7 } }]);
  expect(results[0]).toMatchObject({
    executed: 'no',
    message: expect.stringContaining(FILLED_IN),
    error: { code: 'invalid_arguments', issues: [{ path: 'id', message: FILLED_IN }] },
  });
});

test('an import sends it in its body or in a header, there instead of the key of the call', async () => {
  const { seen, settings } = await startShop();
  const at = (effectId: EffectIdPlace) => ({ openapi: { shop: settings }, tools: { shop_order: { effectId } } });
  const { service, tools, change } = await startConfigLab(at({ argument: '/payment/reference' }));
  const { post } = createKeyedClient(service.url);
  const order = { item: 'tea', payment: { amount: 5 } };
  const calls = [{ name: 'shop_order', arguments: order }];
  const key = freshName();
  expect((await post(calls, { key })).results[0]).toMatchObject({ success: true });
  const [inBody] = seen;
  const { payment } = JSON.parse(inBody?.body ?? '');
  expect(payment).toEqual({ amount: 5, reference: expect.stringMatching(EFFECT_ID) });
  expect(inBody?.headers['idempotency-key']).toBe(`${key}#0`);
  expect(JSON.stringify((await tools()).get('shop_order')?.input_schema)).not.toMatch(
    /"properties":\{[^}]*"reference"/,
  );

  await change(at({ header: 'Idempotency-Key' }));
  const whole = { ...order, payment: { amount: 5, reference: 7 } };
  const again = freshName();
  for (const sent of [{ key: again }, {}])
    expect((await post([{ name: 'shop_order', arguments: whole }], sent)).results[0]).toMatchObject({ success: true });
  const keys = seen.slice(1).map(({ headers }) => headers['idempotency-key']);
  expect(keys).toEqual([expect.stringMatching(EFFECT_ID), expect.stringMatching(EFFECT_ID)]);
  expect(new Set(keys).size).toBe(2);
});

const unavailable = async (config: Parameters<typeof startConfigLab>[0], name: string, more = {}) => {
  const { tools, linesOf, service } = await startConfigLab(config, more);
  const reason = (await tools()).get(name)?.unavailable_reason ?? '';
  expect(linesOf('tool is unavailable')).toMatchObject([{ tool: name, reason }]);
  const [called] = await service.call([{ name, arguments: {} }]);
  expect(called).toMatchObject({ executed: 'no', error: { code: 'tool_unavailable' } });
  return reason.replace(/^The configuration file is wrong: tools\['[^']+'\]\.effectId does not fit it: /, '');
};

test.each([
  [{ argument: '/paymnt' }, "argument /paymnt: the schema has no 'paymnt' and admits no others."],
  [{ header: 'x-trace' }, 'models send the header x-trace as an argument: write argument: /X-Trace instead.'],
  [{ header: 'X-Shop-Key' }, 'the header x-shop-key carries credentials: name another.'],
  [{ header: 'X-Version' }, 'parameters of the import set the header x-version: name another, or remove it there.'],
])(
  'a tool of an import that a place does not fit is unavailable, and says what to write: %j',
  async (effectId, said) => {
    const { settings } = await startShop();
    const document = join(await createFolder(), 'shop.json');
    const { post } = SHOP.paths['/orders'];
    const parameters = [...post.parameters, { ...HEADER, name: 'X-Version' }];
    await writeFile(document, JSON.stringify({ ...SHOP, paths: { '/orders': { post: { ...post, parameters } } } }));
    const shop = { ...settings, document, parameters: [{ name: 'X-Version', value: '1' }] };
    const config = { openapi: { shop }, tools: { 'shop_*': { effectId } } };
    expect(await unavailable(config, 'shop_order')).toContain(said);
  },
);

test('a tool of a server that comes later does not serve without it either', async () => {
  const tools = { lab_spelled: { effectId: { header: 'Idempotency-Key' } } };
  const { change, tools: list, linesOf } = await startConfigLab({ tools });
  expect(linesOf('tool is unavailable')).toEqual([]);
  await change({ mcpServers: { lab: servers.scripted() }, tools });
  const shows = (shown: object) =>
    vi.waitFor(async () => expect((await list()).get('lab_spelled')).toMatchObject(shown), DEADLINE);
  await shows({
    available: false,
    unavailable_reason:
      "The configuration file is wrong: tools['lab_spelled'].effectId does not fit it: only operations of OpenAPI imports send headers: name an argument.",
  });
  await change({ mcpServers: { lab: servers.scripted() }, tools: { lab_spelled: { effectId: { argument: '/id' } } } });
  await shows({ available: true });
});

test('a tool that is written in code is told to read its effect id there', async () => {
  const folder = join(await createFolder(), 'tools');
  await mkdir(folder);
  await writeFile(
    join(folder, 'pay.ts'),
    `import { defineTool, z } from 'recourse-server';
     export default defineTool({ name: 'pay', description: 'Pays.', effects: 'write', input: z.object({ reference: z.string() }), run: () => 1 });`,
  );
  const config = { tools: { pay: { effectId: { argument: '/reference' } } } };
  expect(await unavailable(config, 'pay', { TOOLS_DIR: folder })).toBe(
    'it is written in code: use context.effectId in its code, and remove effectId here.',
  );
});

test('what is wrong for every tool is a mistake of the file, with its line', async () => {
  const { change } = await startConfigLab({});
  const refused = await change('tools:\n  echo:\n    effectId: { header: Host }\n', CHANGED_WRONGLY);
  expect(JSON.stringify(refused)).toContain(
    'line 3, column 17: tools.echo.effectId.header: is a header that only the client itself writes: name another',
  );
  const unasked = await change(
    'tools:\n  echo:\n    reconcile: { tool: list, hapened: /a, after: 10 }\n',
    CHANGED_WRONGLY,
  );
  const said = JSON.stringify(unasked);
  expect(said).toContain("line 3, column 30: tools.echo.reconcile.hapened: is unknown here: did you mean 'happened'?");
  expect(said).toContain('tools.echo.reconcile.happened: is missing');
  expect(said).toContain('tools.echo.reconcile.after: must be a string: put it into quotes');
});
