import { expectProblem } from '@recourse/test-support/check-answer.ts';
import { sendRaw, toRequestText } from '@recourse/test-support/raw-http.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';

let service: RunningService;

beforeAll(async () => {
  service = await startService();
});

afterAll(() => service.stop());

test.each([
  ['/tool-calls', ['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD'], 'POST', 'POST'],
  ['/tools', ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'], 'GET, HEAD', 'GET or HEAD'],
  ['/tools/echo', ['POST', 'DELETE'], 'GET, HEAD', 'GET or HEAD'],
  ['/live', ['POST', 'DELETE'], 'GET, HEAD', 'GET or HEAD'],
  ['/ready', ['POST', 'DELETE'], 'GET, HEAD', 'GET or HEAD'],
  ['/metrics', ['POST', 'DELETE'], 'GET, HEAD', 'GET or HEAD'],
  ['/openapi.json', ['POST', 'DELETE'], 'GET, HEAD', 'GET or HEAD'],
])('%s answers %j with 405 and Allow', async (path, methods, allow, possible) => {
  for (const method of methods) {
    const answer = await fetch(`${service.url}${path}`, { method });
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, allow]);
    if (method === 'HEAD') continue;
    expectProblem(
      { status: answer.status, headers: new Map(answer.headers), body: await answer.text() },
      {
        status: 405,
        title: 'Method Not Allowed',
        code: 'method_not_allowed',
        detail: `${method} is not allowed here; use ${possible}.`,
      },
    );
  }
});

test('TRACE is no way to read headers back', async () => {
  const answer = await sendRaw(service.port, toRequestText('TRACE /tool-calls', [['X-API-Key', 'secret']]));
  expect(answer.status).toBe(405);
  expect(answer.body).not.toContain('secret');
});

test.each([
  ['/nope', 'not_found', 'There is no resource at this path. GET /openapi.json lists all paths.'],
  [
    '/tool-calls/',
    'result_not_kept',
    'No results are stored under this request id: its batch had no Idempotency-Key, did not prefer an asynchronous answer and joined no pending call, is still waiting for its first answer, has expired, or its results were evicted because the store needed memory.',
  ],
  ['/tools/nope', 'tool_not_found', 'There is no tool with that name. GET /tools lists all tools.'],
  ['/tools/__proto__', 'tool_not_found', 'There is no tool with that name. GET /tools lists all tools.'],
  ['/tools/%00', 'tool_not_found', 'There is no tool with that name. GET /tools lists all tools.'],
])('%s is not found', async (path, code, detail) => {
  const answer = await sendRaw(service.port, toRequestText(`GET ${path}`));
  expectProblem(answer, { status: 404, title: 'Not Found', code, detail });
});
