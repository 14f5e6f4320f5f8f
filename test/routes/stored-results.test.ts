import { expect, test } from 'vitest';
import { Problem, ToolCallsResponse } from '#src/contract/tool-result.ts';
import { startSessionRoutes } from './session-routes-lab.ts';

const REQUEST = '01M7YS1XNXRKDYHWR5555WYRZG';

const toResult = (index: number): string =>
  `{"index":${index},"id":null,"name":"echo","success":true,"outcome":"success","executed":"yes","value":{"text":"ä"},` +
  '"message":"","error":null,"retry":null,"duration_ms":0.1}';

test('kept results come as the batch was answered, without the session id that is stored nowhere', async () => {
  const results = new Map([[`a:${REQUEST}`, [toResult(0), toResult(1)]]]);
  const { ask, asked } = await startSessionRoutes({ results });
  const answer = await ask(`/tool-calls/${REQUEST}`);
  expect(answer.status).toBe(200);
  expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
  expect(answer.body).toBe(`{"request_id":"${REQUEST}","session_id":null,"results":[${toResult(0)},${toResult(1)}]}`);
  expect(ToolCallsResponse.parse(JSON.parse(answer.body)).results).toHaveLength(2);
  expect(asked()).toEqual([`find a:${REQUEST}`]);
  expect(await ask(`/tool-calls/${REQUEST}`, { method: 'HEAD' })).toMatchObject({ status: 200, body: '' });
});

test('a batch without calls has no results, and they are kept', async () => {
  const { ask } = await startSessionRoutes({ results: new Map([[`a:${REQUEST}`, []]]) });
  expect(JSON.parse((await ask(`/tool-calls/${REQUEST}`)).body)).toEqual({
    request_id: REQUEST,
    session_id: null,
    results: [],
  });
});

test('what is not kept, and what another tenant was answered, is 404', async () => {
  const { ask } = await startSessionRoutes({ results: new Map([[`b:${REQUEST}`, [toResult(0)]]]) });
  const answer = await ask(`/tool-calls/${REQUEST}`);
  expect(answer.status).toBe(404);
  expect(Problem.parse(JSON.parse(answer.body))).toMatchObject({ status: 404, code: 'result_not_kept' });
});

test.for(['short', 'a'.repeat(65), 'with%20blank-in-it-', '%00'.repeat(16), '..%2F..%2F..%2F..%2Fetc'])(
  '%s was never the id of a request, and the store is not asked for it',
  async (id) => {
    const { ask, asked } = await startSessionRoutes();
    const answer = await ask(`/tool-calls/${id}`);
    expect(Problem.parse(JSON.parse(answer.body))).toMatchObject({ status: 404, code: 'result_not_kept' });
    expect(asked()).toEqual([]);
  },
);

test('while the store is away it is 503 with Retry-After, and not "not kept"', async () => {
  const { ask } = await startSessionRoutes({ results: 'unavailable' });
  const answer = await ask(`/tool-calls/${REQUEST}`);
  expect(answer.status).toBe(503);
  expect(answer.headers['retry-after']).toBe('1');
  expect(Problem.parse(JSON.parse(answer.body)).code).toBe('store_unavailable');
});

test('results are given to nobody without a key', async () => {
  const { ask, asked } = await startSessionRoutes({ results: new Map([[`a:${REQUEST}`, [toResult(0)]]]) });
  expect((await ask(`/tool-calls/${REQUEST}`, { headers: { 'x-api-key': '' } })).status).toBe(401);
  expect(asked()).toEqual([]);
});

const ofTool = (name: string | null, code: string | null = null): string =>
  JSON.stringify({
    ...JSON.parse(toResult(0)),
    name,
    ...(code === null ? {} : { success: false, outcome: 'refused', error: { code } }),
  });

test.for([
  ['of tools it may use', [ofTool('echo'), ofTool('echo', 'timeout')], 200],
  ['of a call without a name', [ofTool(null, 'invalid_call')], 200],
  ['that only say that a tool was refused', [ofTool('echo'), ofTool('write_file', 'not_authorized')], 200],
  ['of a tool it may not use', [ofTool('echo'), ofTool('write_file')], 404],
  ['of a failure of such a tool', [ofTool('write_file', 'timeout')], 404],
  ['of a wrong name, whose answer lists what another key may use', [ofTool('ecko', 'unknown_tool')], 404],
  ['that are no results', ['{}'], 404],
] as const)('a key that may use some tools gets kept results %s: %j %i', async ([, kept, status]) => {
  const { ask } = await startSessionRoutes({ results: new Map([[`a:${REQUEST}`, [...kept]]]) });
  const headers = { 'x-api-key': 'key-a-echo' };
  const answer = await ask(`/tool-calls/${REQUEST}`, { headers });
  expect(answer.status).toBe(status);
  const unknown = await ask('/tool-calls/01M7YS1XNXRKDYHWR555500000', { headers });
  if (status === 404) expect(withoutId(answer.body)).toEqual(withoutId(unknown.body));
});

const withoutId = (body: string): Problem => ({ ...Problem.parse(JSON.parse(body)), request_id: '' });
