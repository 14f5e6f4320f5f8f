import { createServer } from 'node:http';
import { type Answerer, failureOf, startHttpTarget } from '@recourse/test-support/http-target.ts';
import { classifyThrown } from 'recourse-server/internal/executor/outcome.ts';
import { expect, onTestFinished, test } from 'vitest';
import { callTool, documentOf, startImport } from './import-lab.ts';

const DOCUMENT = documentOf({
  '/orders': { get: { operationId: 'look' }, put: { operationId: 'change' }, post: { operationId: 'make' } },
});

const startApi = async (answer: Answerer, settings: Record<string, unknown> = {}) => {
  const target = await startHttpTarget(answer);
  const { tool } = await startImport(DOCUMENT, { baseUrl: target.origin, ...settings });
  const asked = () => target.requests.map(({ method, path }) => `${method} ${path}`);
  const failed = async (name: string) => {
    const { code, outcome, executed } = classifyThrown(await failureOf(callTool(tool(name))), tool(name), 'on');
    return { code, outcome, executed };
  };
  return { tool, asked, failed };
};

const redirecting =
  (status: number, location: string, after: number): Answerer =>
  (response, { path }) => {
    if (path === '/orders') response.writeHead(status, { location }).end();
    else response.writeHead(after, { 'content-type': 'application/json' }).end('{}');
  };

test('303 to a write says that it is done, and the place of its result is not asked', async () => {
  const { tool, asked } = await startApi(redirecting(303, '/orders/1?token=secret-token', 404), {
    auth: { type: 'bearer', token: 'secret-token' },
  });
  for (const name of ['make', 'change'])
    expect(await callTool(tool(name))).toMatchObject({
      value: { status: 303, location: '/orders/1?token=[redacted]' },
      message: expect.stringContaining('HTTP 303: done'),
    });
  expect(asked()).toEqual(['POST /orders', 'PUT /orders']);
});

test('303 is followed for a read, also for one that the operator calls so', async () => {
  const { tool, asked } = await startApi(redirecting(303, '/orders/1', 200), { effects: { make: 'read' } });
  expect(await callTool(tool('look'))).toEqual({});
  expect(await callTool(tool('make'))).toEqual({});
  expect(asked()).toEqual(['GET /orders', 'GET /orders/1', 'POST /orders', 'GET /orders/1']);
});

test.each([
  [400, 'upstream_unavailable', 'unknown'],
  [401, 'tool_failed', 'failed'],
  [404, 'upstream_unavailable', 'unknown'],
  [405, 'tool_failed', 'failed'],
  [425, 'upstream_unavailable', 'unknown'],
  [429, 'upstream_rate_limited', 'unknown'],
])('HTTP %i after the redirect of a write does not say that nothing was done', async (after, code, outcome) => {
  const { failed, asked } = await startApi(redirecting(307, '/orders/new', after));
  expect(await failed('make')).toEqual({ code, outcome, executed: 'maybe' });
  expect(asked()).toEqual(['POST /orders', 'POST /orders/new']);
});

test('a place that cannot be asked after the redirect of a write does not say it either', async () => {
  // The target goes away with its answer: the next connection is refused.
  const target = createServer((_request, response) => {
    target.close();
    response.writeHead(307, { location: '/orders/new', connection: 'close' }).end();
  });
  await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void target.close());
  const address = target.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const { tool } = await startImport(DOCUMENT, { baseUrl: `http://127.0.0.1:${port}` });
  const failure = classifyThrown(await failureOf(callTool(tool('make'))), tool('make'), 'on');
  expect(failure).toMatchObject({ code: 'upstream_unavailable', outcome: 'unknown', executed: 'maybe' });
  expect(failure.message).toContain('ECONNREFUSED');
});
