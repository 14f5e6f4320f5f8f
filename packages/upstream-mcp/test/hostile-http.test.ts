import type { ServerResponse } from 'node:http';
import { type Answerer, startHttpTarget } from '@recourse/test-support/http-target.ts';
import { type McpLab, startMcpLab, until } from '@recourse/test-support/mcp-servers/mcp-lab.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';

type Answer = (response: ServerResponse, id: number) => void;

const toText = (message: object): string => JSON.stringify({ jsonrpc: '2.0', ...message });
const sendJson = (response: ServerResponse, text: string): void =>
  void response.writeHead(200, { 'content-type': 'application/json' }).end(text);

/** As fast as it is taken, for as long as somebody listens. */
const pouring =
  (piece: string): Answer =>
  (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const pour = (): void => {
      while (!response.destroyed && response.write(piece));
    };
    response.on('drain', pour);
    pour();
  };

const LIST = { tools: [{ name: 'go', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } }] };
const WELCOME = {
  protocolVersion: '2025-03-26',
  capabilities: { tools: {} },
  serverInfo: { name: 'hostile', version: '1' },
};

const RESULTS = new Map<string, object>([
  ['initialize', WELCOME],
  ['tools/list', LIST],
  ['ping', {}],
]);

const answer = (response: ServerResponse, body: string, attack: Answer): void => {
  const { id, method } = JSON.parse(body);
  const result = RESULTS.get(method);
  if (method === 'tools/call') attack(response, id);
  else if (result !== undefined) sendJson(response, toText({ id, result }));
  else response.writeHead(id === undefined ? 202 : 400).end();
};

/** An MCP server whose one tool answers as the attack says. */
const toAnswerer =
  (attack: Answer): Answerer =>
  (response) => {
    if (response.req.method === 'POST')
      void response.req
        .toArray()
        .then((parts: Buffer[]) => answer(response, Buffer.concat(parts).toString(), attack), response.destroy);
    else response.writeHead(405).end();
  };

const startAttack = async (attack: Answer): Promise<McpLab> => {
  const target = await startHttpTarget(toAnswerer(attack));
  const lab = await startMcpLab({ type: 'http', url: `${target.origin}/mcp`, timeoutMs: 20_000 });
  onTestFinished(() => lab[Symbol.asyncDispose]());
  return lab;
};

const NOTICE = `data: ${toText({ method: 'notifications/message', params: { level: 'error', data: 'x' } })}\n\n`;

const TOO_MANY = /^it sends messages faster than the limit$/m;

test.each([
  ['messages', NOTICE.repeat(2_000)],
  ['comments', ':\n\n'.repeat(20_000)],
  ['ends of lines', '\r'.repeat(50_000)],
  ['something else than messages', 'data: {}\n\n'.repeat(2_000)],
  ['no JSON', 'data: {x\n\n'.repeat(2_000)],
])(
  'a stream that pours %s ends its connection, which is made anew',
  { timeout: timeLimit(30_000) },
  async (_, piece) => {
    const lab = await startAttack(pouring(piece));
    expect(await lab.call('lab_go')).toMatchObject({ executed: 'maybe', error: { code: 'upstream_unavailable' } });
    await until(() => expect(lab.logged.map(({ fields }) => fields['reason']).join('\n')).toMatch(TOO_MANY));
    await until(() => expect(lab.upstream.state()).toMatchObject({ status: 'up', reconnects: 1 }));
  },
);

const denseOf = (id: number, dense: string): string =>
  `{"jsonrpc":"2.0","id":${id},"result":{"content":[],"structuredContent":{"a":${dense}}}}`;
const DENSE = [
  ['lists in lists', '['.repeat(300_000) + ']'.repeat(300_000)],
  ['empty objects', `[${'{},'.repeat(300_000)}0]`],
  ['names', `{${Array.from({ length: 150_000 }, (_, at) => `"k${at}":0`).join(',')}}`],
] as const;

test.each(DENSE)('an answer full of %s is too large, as one body', async (_, dense) => {
  const lab = await startAttack((response, id) => sendJson(response, denseOf(id, dense)));
  expect(await lab.call('lab_go')).toMatchObject({ success: false, error: { code: 'output_too_large' } });
  expect(lab.upstream.state()).toMatchObject({ status: 'up', reconnects: 0 });
});

test.each(DENSE)(
  'an answer full of %s is too large, as an event, whatever a comment before it says',
  async (_, dense) => {
    const lab = await startAttack((response, id) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(`: "\nevent: message\ndata: ${denseOf(id, dense)}\n\n`);
    });
    expect(await lab.call('lab_go')).toMatchObject({ success: false, error: { code: 'output_too_large' } });
    expect(lab.upstream.state()).toMatchObject({ status: 'up', reconnects: 0 });
  },
);

test('a body of thousands of messages is too large, and none of them is read', async () => {
  const notice = toText({ method: 'notifications/tools/list_changed' });
  const lab = await startAttack((response, id) =>
    sendJson(response, `[${`${notice},`.repeat(5_000)}${toText({ id, result: { content: [] } })}]`),
  );
  expect(await lab.call('lab_go')).toMatchObject({ success: false, error: { code: 'output_too_large' } });
});

test('a long text that looks dense is a text', async () => {
  const text = '[{"a":1},'.repeat(80_000);
  const lab = await startAttack((response, id) =>
    sendJson(response, toText({ id, result: { content: [{ type: 'text', text }] } })),
  );
  expect(await lab.call('lab_go')).toMatchObject({ success: true });
});
