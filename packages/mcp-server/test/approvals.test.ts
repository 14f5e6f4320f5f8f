import { createHash } from 'node:crypto';
import { UrlElicitationRequiredError } from '@modelcontextprotocol/client';
import { startConfigLab } from '@recourse/test-support/config-lab.ts';
import { createActor } from '@recourse/test-support/keyed-client.ts';
import { connect, connectEarlier, detailOf, post, postModern } from '@recourse/test-support/mcp-clients.ts';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { openTaskSession } from './task-session.ts';

// A person approves what a client of /mcp calls, at the URL that the client is told.

const AGENT = 'agent-0123456789abcdef';
const OPERATOR = 'operator-0123456789abcdef';
const hashOf = (key: string): string => createHash('sha256').update(key).digest('hex');
const API_KEYS = [`team=${hashOf(AGENT)} name=agent`, `team=${hashOf(OPERATOR)} name=ann may=read|approve`].join(', ');
const TAKES_URLS = { elicitation: { url: {} } };
const HEADERS = { authorization: `Bearer ${AGENT}` };

const start = async (background: 'never' | 'optional' = 'never') => {
  const actor = createActor('pay', { effects: 'write', background });
  const approvals = {
    url: 'https://tools.example/console#approvals={id}',
    rules: [{ tools: 'pay', decide: 'ask', summary: 'Pay {/amount}' }],
  };
  const { service } = await startConfigLab({ approvals }, { API_KEYS }, [actor.tool]);
  /** As the page at that URL does it: with a key of its own. */
  const decide = async (page: string, decision: 'approve' | 'deny'): Promise<void> => {
    const path = `${service.url}/approvals/${new URL(page).hash.replace('#approvals=', '')}`;
    const headers = { authorization: `Bearer ${OPERATOR}`, 'content-type': 'application/json' };
    const { digest } = z.object({ digest: z.string() }).parse(await (await fetch(path, { headers })).json());
    const body = JSON.stringify({ decision });
    const answer = await fetch(path, { method: 'POST', headers: { ...headers, 'if-match': `"${digest}"` }, body });
    expect(answer.status).toBe(200);
  };
  // What reached the handler: one entry an effect.
  return { url: service.url, decide, ledger: actor.asked };
};

const PAGE = /^https:\/\/tools\.example\/console#approvals=a_[\w-]{22}$/;
const CALL = { name: 'pay', arguments: { amount: 5 } };
const FOR_PEOPLE = expect.stringMatching(/^A person has to approve this before it runs, until 2\S+Z: Pay 5$/);

/** Where a person decides, of a call that is answered by the error of 2025-11-25. */
const pageOf = async (call: Promise<unknown>): Promise<string> => {
  const error = await call.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof UrlElicitationRequiredError)) throw new Error('The client was not told of a URL.');
  expect(error.elicitations).toEqual([
    {
      mode: 'url',
      url: expect.stringMatching(PAGE),
      elicitationId: expect.stringMatching(/^a_/),
      message: FOR_PEOPLE,
    },
  ]);
  return error.elicitations[0]?.url ?? '';
};

test('2025-11-25: the client is told the URL, and its call runs once when it is sent again after the approval', async () => {
  const { url, decide, ledger } = await start();
  const { client } = await connect(url, 'legacy', HEADERS, { capabilities: TAKES_URLS });
  const page = await pageOf(client.callTool(CALL));
  // Sent again too early it waits for the same approval.
  expect(await pageOf(client.callTool(CALL))).toBe(page);
  expect(ledger).toEqual([]);
  await decide(page, 'approve');
  // One approval is for one call, also of those that are sent at the same moment.
  const sent = await Promise.allSettled([1, 2, 3].map(() => client.callTool(CALL)));
  const [ran, ...others] = sent.flatMap((call) => (call.status === 'fulfilled' ? [call.value] : []));
  expect(ran).toMatchObject({ isError: false, structuredContent: { amount: 5 } });
  expect(others).toEqual([]);
  expect(await pageOf(client.callTool(CALL))).not.toBe(page);
  expect(ledger).toEqual([{ amount: 5 }]);
});

test('2025-11-25: a call that is denied tells the model so, and does not run', async () => {
  const { url, decide, ledger } = await start();
  const { client } = await connect(url, 'legacy', HEADERS, { capabilities: TAKES_URLS });
  await decide(await pageOf(client.callTool(CALL)), 'deny');
  const denied = await client.callTool(CALL);
  expect(denied).toMatchObject({
    isError: true,
    content: [{ text: expect.stringMatching(/^ERROR: approval_denied: Not executed: a person has denied/) }],
  });
  expect(ledger).toEqual([]);
});

test('2026-07-28: the client asks its user at the URL, and sends the call again by itself', async () => {
  const { url, decide, ledger } = await start();
  const pages: string[] = [];
  const { client } = await connect(url, 'modern', HEADERS, {
    capabilities: TAKES_URLS,
    prepare: (own) =>
      own.setRequestHandler('elicitation/create', async ({ params }) => {
        expect(params).toMatchObject({ mode: 'url', url: expect.stringMatching(PAGE), message: FOR_PEOPLE });
        pages.push('url' in params ? params.url : '');
        await decide(pages.at(-1) ?? '', 'approve');
        return { action: 'accept' };
      }),
  });
  expect(await client.callTool(CALL)).toMatchObject({ isError: false, structuredContent: { amount: 5 } });
  expect(pages).toHaveLength(1);
  expect(ledger).toEqual([{ amount: 5 }]);
});

test.each(['accept', 'decline'] as const)(
  '2026-07-28: a user who answers %s and decides nothing is asked once: the model reads on',
  async (action) => {
    const { url, decide, ledger } = await start();
    const pages: string[] = [];
    const { client } = await connect(url, 'modern', HEADERS, {
      capabilities: TAKES_URLS,
      prepare: (own) =>
        own.setRequestHandler('elicitation/create', async ({ params }) => {
          pages.push('url' in params ? params.url : '');
          return { action };
        }),
    });
    const waiting = await client.callTool(CALL);
    expect(waiting).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/^ERROR: approval_required: Not executed: a person has to approve/) }],
    });
    expect(pages).toHaveLength(1);
    await decide(pages[0] ?? '', 'approve');
    expect(await client.callTool(CALL)).toMatchObject({ isError: false });
    expect(ledger).toEqual([{ amount: 5 }]);
  },
);

test('a client that declares no URLs, or only forms, gets a result that its model reads', async () => {
  const { url, decide, ledger } = await start();
  const results = [];
  for (const capabilities of [{}, { elicitation: {} }, { elicitation: { form: {} } }])
    for (const era of ['legacy', 'modern'] as const) {
      const { client } = await connect(url, era, HEADERS, { capabilities });
      results.push(await client.callTool({ ...CALL, _meta: { 'recourse/session_id': 'one' } }));
    }
  for (const result of results)
    expect(result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/^ERROR: approval_required: Not executed: a person has to approve/) }],
    });
  const { approval } = z.object({ approval: z.object({ url: z.string() }) }).parse(detailOf(results[0] ?? {})['error']);
  await decide(approval.url, 'approve');
  const { client } = await connect(url, 'legacy', HEADERS);
  expect(await client.callTool({ ...CALL, _meta: { 'recourse/session_id': 'one' } })).toMatchObject({ isError: false });
  expect(ledger).toEqual([{ amount: 5 }]);
});

test('a client that declares URLs in a revision without them gets a result', async () => {
  const { url } = await start();
  const params = {
    protocolVersion: '2025-06-18',
    capabilities: TAKES_URLS,
    clientInfo: { name: 'test', version: '1' },
  };
  const { headers } = await post(url, { jsonrpc: '2.0', id: 1, method: 'initialize', params }, HEADERS);
  const session = { ...HEADERS, 'mcp-session-id': headers.get('mcp-session-id') ?? '' };
  const { messages } = await post(url, { jsonrpc: '2.0', id: 2, method: 'tools/call', params: CALL }, session);
  expect(messages).toMatchObject([
    { result: { isError: true, _meta: { 'recourse/result': { code: 'approval_required' } } } },
  ]);
});

test("the client of the SDK's first major version is told the URL, too", async () => {
  const { url, decide, ledger } = await start();
  const { client } = await connectEarlier(url, { capabilities: TAKES_URLS, headers: HEADERS });
  const thrown: unknown = await client.callTool(CALL).catch((error: unknown) => error);
  const Told = z.object({
    code: z.literal(-32_042),
    data: z.object({ elicitations: z.tuple([z.object({ url: z.string() })]) }),
  });
  await decide(Told.parse(thrown).data.elicitations[0].url, 'approve');
  expect(await client.callTool(CALL)).toMatchObject({ isError: false });
  expect(ledger).toEqual([{ amount: 5 }]);
});

const TASKS = { extensions: { 'io.modelcontextprotocol/tasks': {} } };

test.each([
  ['input_required', { ...TASKS, ...TAKES_URLS }],
  ['working', TASKS],
] as const)('a task that waits for an approval is %s', async (status, capabilities) => {
  const { url, decide, ledger } = await start('optional');
  const meta = { 'io.modelcontextprotocol/clientCapabilities': capabilities };
  const ask = async (method: string, params: Readonly<Record<string, unknown>>) => {
    const name = params['taskId'] === undefined ? {} : { 'mcp-name': String(params['taskId']) };
    const { messages } = await postModern(url, method, { ...params, _meta: meta }, { ...HEADERS, ...name });
    return z.object({ result: z.looseObject({}) }).parse(messages[0]).result;
  };
  const { taskId, statusMessage } = await ask('tools/call', CALL);
  expect(statusMessage).toMatch(/^Tool 'pay' waits for a person's approval and has not started/);
  const task = await ask('tasks/get', { taskId });
  expect(task).toMatchObject({ status, taskId });
  const listed = await fetch(`${url}/approvals`, { headers: { authorization: `Bearer ${OPERATOR}` } });
  const [{ id }] = z
    .object({ approvals: z.tuple([z.object({ id: z.string() })]) })
    .parse(await listed.json()).approvals;
  const page = `https://tools.example/console#approvals=${id}`;
  const asked = { [id]: { method: 'elicitation/create', params: { mode: 'url', url: page, message: FOR_PEOPLE } } };
  expect(task['inputRequests']).toEqual(status === 'working' ? undefined : asked);
  expect(await ask('tasks/update', { taskId, inputResponses: { [id]: { action: 'accept' } } })).toMatchObject({});
  expect(ledger).toEqual([]);
  await decide(page, 'approve');
  await expect.poll(async () => (await ask('tasks/get', { taskId }))['status'], { timeout: 20_000 }).toBe('completed');
  expect(ledger).toEqual([{ amount: 5 }]);
});

test('the client of the extension asks its user once, and settles the task by what was decided', async () => {
  const { url, decide, ledger } = await start('optional');
  const asked: unknown[] = [];
  const session = await openTaskSession(url, HEADERS, {
    capabilities: TAKES_URLS,
    elicitation: async ({ params }) => {
      asked.push(params);
      await decide(String(params['url']), 'approve');
      return { action: 'accept' };
    },
  });
  const execution = await session.callTool('pay', { amount: 5 });
  expect(execution.kind).toBe('task');
  const { outcome } = await execution.settle();
  expect(outcome).toMatchObject({ status: 'completed', result: { isError: false, structuredContent: { amount: 5 } } });
  expect(asked).toMatchObject([{ mode: 'url', message: FOR_PEOPLE }]);
  expect(ledger).toEqual([{ amount: 5 }]);
});
