import { expect, test } from 'vitest';
import { Problem } from '#src/contract/tool-result.ts';
import { type Answer, type Asking, EMPTY_VIEW, startSessionRoutes } from './session-routes-lab.ts';

const problemOf = ({ status, headers, body }: Answer): string => {
  expect(headers['content-type']).toBe('application/problem+json; charset=utf-8');
  const problem = Problem.parse(JSON.parse(body));
  expect(problem.status).toBe(status);
  return `${status} ${problem.code}`;
};

test('a session never seen is an empty view, not an error', async () => {
  const { ask, asked } = await startSessionRoutes();
  const answer = await ask('/sessions/agent_7');
  expect(answer.status).toBe(200);
  expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
  expect(JSON.parse(answer.body)).toEqual(EMPTY_VIEW);
  expect(asked()).toEqual(['read a:agent_7']);
});

test('HEAD answers as GET does, without the body', async () => {
  const { ask } = await startSessionRoutes();
  const whole = await ask('/sessions/agent_7');
  const head = await ask('/sessions/agent_7', { method: 'HEAD' });
  expect(head).toMatchObject({ status: 200, body: '' });
  expect(head.headers['content-length']).toBe(whole.headers['content-length']);
});

test.for([
  ['a slash', 'team/7'],
  ['NUL', '\0'],
  ['an emoji', 'agent 🤖'],
  ['256 characters of four bytes', '😀'.repeat(256)],
  ['256 characters of three bytes', '日'.repeat(256)],
  ['256 slashes', '/'.repeat(256)],
  ['256 percent signs', '%'.repeat(256)],
  ['what looks like an escape', '%2F'],
  ['every sign that means something in a URL', ';a?b#c&d=e+f@g:h,i$j'],
  ['braces, quotes and line breaks', '{}"\'\r\n'],
  ['one dot', '.'],
  ['two dots', '..'],
  ['the name of a member of every object', '__proto__'],
] as const)('a session id may be %s', async ([, id]) => {
  const { ask, asked } = await startSessionRoutes();
  const path = `/sessions/${encodeURIComponent(id)}`;
  expect((await ask(path)).status).toBe(200);
  for (const suffix of ['', '/budgets', '/budgets/echo'])
    expect(await ask(`${path}${suffix}`, { method: 'DELETE' })).toMatchObject({ status: 204, body: '' });
  expect(asked()).toEqual([`read a:${id}`, `end a:${id}`, `reset a:${id} all`, `reset a:${id} tool echo`]);
});

test.for([
  ['empty', '/sessions/', '400 invalid_session_id'],
  ['257 characters', `/sessions/${'a'.repeat(257)}`, '400 invalid_session_id'],
  ['257 characters of four bytes', `/sessions/${encodeURIComponent('😀'.repeat(257))}`, '400 invalid_session_id'],
  ['1024 characters', `/sessions/${'a'.repeat(1024)}`, '400 invalid_session_id'],
  ['1025 characters', `/sessions/${'a'.repeat(1025)}`, '414 uri_too_long'],
  ['a bare percent sign', '/sessions/100%', '400 bad_request'],
  ['an escape that is none', '/sessions/%zz', '400 bad_request'],
  ['bytes that are no UTF-8', '/sessions/%ff', '400 bad_request'],
] as const)('a session id that is %s is refused, and the store not asked', async ([, path, expected]) => {
  const { ask, asked } = await startSessionRoutes();
  for (const [place, method] of [
    [path, 'GET'],
    [path, 'DELETE'],
    [`${path}/budgets`, 'DELETE'],
    [`${path}/budgets/echo`, 'DELETE'],
  ] as const)
    expect(problemOf(await ask(place, { method })), `${method} ${place.slice(0, 40)}`).toBe(expected);
  expect(asked()).toEqual([]);
});

test.for(['', 'a%20b', 'a%2Fb', '%00', 'a'.repeat(65), 'caf%C3%A9'])('no tool can be called %j', async (name) => {
  const { ask, asked } = await startSessionRoutes();
  const answer = await ask(`/sessions/agent_7/budgets/${name}`, { method: 'DELETE' });
  expect(problemOf(answer)).toBe('400 invalid_tool_name');
  expect(asked()).toEqual([]);
});

test.for(['_unknown', '__proto__', 'toString', 'a'.repeat(64)])('the tool to reset may be called %s', async (name) => {
  const { ask, asked } = await startSessionRoutes();
  expect((await ask(`/sessions/agent_7/budgets/${name}`, { method: 'DELETE' })).status).toBe(204);
  expect(asked()).toEqual([`reset a:agent_7 tool ${name}`]);
});

test.for<Asking>([
  { headers: { 'content-type': 'application/json' } },
  { headers: { 'content-type': 'application/json', 'content-length': '2' }, body: '{}' },
  { headers: { 'content-type': 'text/plain', 'content-length': '5' }, body: 'hello' },
  { headers: { 'content-length': '3' }, body: 'abc' },
  { headers: { 'transfer-encoding': 'chunked', 'content-type': 'application/json' }, body: '{' },
])('a body that nobody asked for costs no DELETE its effect: %j', async (asking) => {
  const { ask, asked } = await startSessionRoutes();
  expect(await ask('/sessions/agent_7', { ...asking, method: 'DELETE' })).toMatchObject({ status: 204, body: '' });
  expect(asked()).toEqual(['end a:agent_7']);
});

test('equal session ids of two tenants are two sessions, and the tenant comes from the key', async () => {
  const { ask, asked } = await startSessionRoutes();
  await ask('/sessions/a', { headers: { 'x-api-key': 'key-a' } });
  await ask('/sessions/a', { headers: { 'x-api-key': 'key-b' } });
  await ask('/sessions/b:a', { headers: { 'x-api-key': 'key-a' } });
  expect(asked()).toEqual(['read a:a', 'read b:a', 'read a:b:a']);
});

const ROUTES = [
  ['GET', '/sessions/agent_7'],
  ['DELETE', '/sessions/agent_7'],
  ['DELETE', '/sessions/agent_7/budgets'],
  ['DELETE', '/sessions/agent_7/budgets/echo'],
] as const;

test.for(ROUTES)('%s %s asks for a key, and is refused while draining', async ([method, path]) => {
  const draining = { is: false };
  const { ask, asked } = await startSessionRoutes({ isDraining: () => draining.is });
  expect(problemOf(await ask(path, { method, headers: { 'x-api-key': 'wrong' } }))).toBe('401 unauthorized');
  draining.is = true;
  expect(problemOf(await ask(path, { method }))).toBe('503 draining');
  expect(asked()).toEqual([]);
});

test.for(ROUTES)('%s %s says 503 with Retry-After where the store is away', async ([method, path]) => {
  const { ask, bugs } = await startSessionRoutes({ storeFails: new Error('away') });
  const answer = await ask(path, { method });
  expect(problemOf(answer)).toBe('503 store_unavailable');
  expect(answer.headers['retry-after']).toBe('1');
  expect(bugs()).toEqual([]);
});

test.for(ROUTES)('%s %s says 500 for a bug, which is heard of, and no store is blamed', async ([method, path]) => {
  const bug = new Error('a bug');
  const { ask, bugs } = await startSessionRoutes({ storeFails: bug });
  expect(problemOf(await ask(path, { method }))).toBe('500 internal_error');
  expect(bugs()).toEqual([bug]);
});

test.for([
  ['/sessions/agent_7', 'GET, HEAD, DELETE', 200, ['POST', 'PUT', 'PATCH', 'OPTIONS']],
  ['/sessions/agent_7/budgets', 'DELETE', 405, ['GET', 'POST', 'PUT', 'PATCH', 'OPTIONS']],
  ['/sessions/agent_7/budgets/echo', 'DELETE', 405, ['GET', 'POST', 'PUT', 'PATCH', 'OPTIONS']],
  ['/tool-calls/0123456789abcdef', 'GET, HEAD, DELETE', 404, ['POST', 'PUT', 'PATCH', 'OPTIONS']],
] as const)('%s allows %s and nothing else', async ([path, allowed, headStatus, others]) => {
  const { ask, asked } = await startSessionRoutes();
  for (const method of others) {
    const answer = await ask(path, { method });
    expect(problemOf(answer), method).toBe('405 method_not_allowed');
    expect(answer.headers['allow'], method).toBe(allowed);
  }
  expect(asked()).toEqual([]);
  expect((await ask(path, { method: 'HEAD' })).status).toBe(headStatus);
});

test.for([
  ['GET', '/sessions/agent_7', 200, ['read a:agent_7 without read_file']],
  ['DELETE', '/sessions/agent_7/budgets/echo', 204, ['reset a:agent_7 tool echo']],
  ['DELETE', '/sessions/agent_7/budgets/read_file', 403, []],
  ['DELETE', '/sessions/agent_7/budgets/_unknown', 403, []],
  ['DELETE', '/sessions/agent_7/budgets', 403, []],
  ['DELETE', '/sessions/agent_7', 403, []],
] as const)('a key that may use some tools: %s %s is %i', async ([method, path, status, expected]) => {
  const { ask, asked } = await startSessionRoutes();
  const answer = await ask(path, { method, headers: { 'x-api-key': 'key-a-echo' } });
  expect(answer.status).toBe(status);
  if (status === 403) expect(problemOf(answer)).toBe('403 operation_not_allowed');
  expect(asked()).toEqual(expected);
});
