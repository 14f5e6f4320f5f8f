import { type AccessAnswer, askAs, postAs, toKeyEntry, viewAs } from '@recourse/test-support/access-client.ts';
import { createActor, freshName } from '@recourse/test-support/keyed-client.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';
import { ToolCatalogue } from '#src/contract/tool-description.ts';
import { ToolCallsResponse, type ToolResult } from '#src/contract/tool-result.ts';
import type { Tool } from '#src/tools/tool.ts';

const SOON = { timeout: timeLimit(15_000), interval: 20 };
const SECRET = 'what only secret_tool says';

/** Two keys of one tenant: `full` may use all tools, `some` may use echo and what begins with list_. */
const start = async (
  tools: readonly Tool[] = [],
  environment: Readonly<Record<string, string>> = {},
): Promise<RunningService> => {
  const secret = createActor('secret_tool', { effects: 'write' }, () => SECRET);
  const API_KEYS = `${toKeyEntry('acme', 'full')},${toKeyEntry('acme', 'some', 'tools=echo|list_*')}`;
  const service = await startService({ API_KEYS, ...environment }, [secret.tool, ...tools]);
  onTestFinished(service.stop);
  return service;
};

const ECHO = { id: 'a', name: 'echo', arguments: { text: 'hello' } };
const HIDDEN = { id: 'b', name: 'secret_tool', arguments: {} };
const LIST = { id: 'c', name: 'list_files', arguments: {} };

const resultsOf = ({ status, text }: AccessAnswer): readonly ToolResult[] => {
  expect({ status, text: status === 200 ? '' : text }).toEqual({ status: 200, text: '' });
  return ToolCallsResponse.parse(JSON.parse(text)).results;
};

const codesOf = (answer: AccessAnswer): readonly string[] => resultsOf(answer).map(({ error }) => error?.code ?? 'ok');

test('a key that lacks one of three tools is refused exactly that one, and it does not run', async () => {
  const service = await start();
  const answer = await postAs(service, 'some', { calls: [ECHO, HIDDEN, LIST] });
  expect(codesOf(answer)).toEqual(['ok', 'not_authorized', 'ok']);
  expect(resultsOf(answer)[1]).toMatchObject({ outcome: 'refused', executed: 'no', value: null, retry: null });
  expect(codesOf(await postAs(service, 'full', { calls: [ECHO, HIDDEN, LIST] }))).toEqual(['ok', 'ok', 'ok']);
  expect(await service.metric(refusedCalls('secret_tool'))).toBe(1);
});

const refusedCalls = (tool: string): string =>
  `recourse_tool_calls_total{tool="${tool}",outcome="refused",code="not_authorized",fault="policy"}`;

test('the catalogue and what a wrong name is told hold the tools of the key alone', async () => {
  const service = await start();
  const { text } = await askAs(service, 'some', '/tools');
  expect(ToolCatalogue.parse(JSON.parse(text)).tools.map(({ name }) => name)).toEqual(['echo', 'list_files']);
  expect((await askAs(service, 'some', '/tools/secret_tool')).code).toBe('tool_not_found');
  const [wrong] = resultsOf(await postAs(service, 'some', { calls: [{ name: 'secret_tol' }] }));
  expect(wrong?.message).toBe('Unknown tool: secret_tol. Available tools: echo, list_files.');
});

test('a replay gives each key what it may see, and the record keeps it for the other', async () => {
  const service = await start();
  const headers = { 'idempotency-key': freshName() };
  const body = { calls: [ECHO, HIDDEN] };
  resultsOf(await postAs(service, 'full', body, headers));
  const replay = await postAs(service, 'some', body, headers);
  expect(codesOf(replay)).toEqual(['ok', 'not_authorized']);
  expect(resultsOf(replay)[0]?.replayed).toBe(true);
  expect(replay.text).not.toContain(SECRET);
  const again = resultsOf(await postAs(service, 'full', body, headers));
  expect(again.map(({ value, replayed }) => [value, replayed])).toEqual([
    [{ text: 'hello' }, true],
    [SECRET, true],
  ]);
});

test('a key that takes up a batch of another key leaves what it may not see as it is', async () => {
  const entered = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<string>();
  const slow = createActor('secret_slow', { effects: 'write' }, () => {
    entered.resolve();
    return gate.promise;
  });
  const service = await start([slow.tool], { MAX_CONCURRENT_CALLS: '1', MAX_QUEUED_CALLS: '0' });
  const headers = { 'idempotency-key': freshName() };
  const body = { calls: [{ name: 'secret_slow' }, ECHO] };
  const asked = postAs(service, 'full', body, headers);
  await entered.promise;
  gate.resolve(SECRET);
  expect(codesOf(await asked)).toEqual(['ok', 'overloaded']);
  const taken = await postAs(service, 'some', body, headers);
  expect(codesOf(taken)).toEqual(['not_authorized', 'ok']);
  expect(taken.text).not.toContain(SECRET);
  const again = await postAs(service, 'full', body, headers);
  expect(resultsOf(again).map(({ value, replayed }) => [value, replayed])).toEqual([
    [SECRET, true],
    [{ text: 'hello' }, true],
  ]);
  expect(slow.asked).toHaveLength(1);
});

test('a wrong name in a replay is answered for the key that asks now', async () => {
  const service = await start();
  const headers = { 'idempotency-key': freshName() };
  const body = { calls: [{ name: 'secret_tol' }, ECHO] };
  expect(resultsOf(await postAs(service, 'full', body, headers))[0]?.message).toContain("'secret_tool'");
  const [wrong, right] = resultsOf(await postAs(service, 'some', body, headers));
  expect(wrong?.message).toBe('Unknown tool: secret_tol. Available tools: echo, list_files.');
  expect(right).toMatchObject({ value: { text: 'hello' }, replayed: true });
});

test('kept results are given to a key that may use all tools in them, and to another they are not there', async () => {
  const service = await start();
  const send = async (key: string, calls: readonly unknown[]): Promise<string> => {
    const headers = { 'idempotency-key': freshName(), 'x-request-id': freshName() };
    resultsOf(await postAs(service, key, { calls }, headers));
    return headers['x-request-id'];
  };
  const [mixed, plain, own] = [
    await send('full', [ECHO, HIDDEN]),
    await send('full', [ECHO, LIST]),
    await send('some', [ECHO, HIDDEN]),
  ];
  const codes = async (key: string, ids: readonly string[]): Promise<readonly (string | null)[]> =>
    Promise.all(ids.map(async (id) => (await askAs(service, key, `/tool-calls/${id}`)).code));
  expect(await codes('full', [mixed, plain, own])).toEqual([null, null, null]);
  expect(await codes('some', [mixed, plain, own])).toEqual(['result_not_kept', null, null]);
});

test('neither a replay nor an answer that was lost tells a key which other tools a wrong name was told', async () => {
  const API_KEYS = `${toKeyEntry('acme', 'full')},${toKeyEntry('acme', 'some', 'tools=echo|list_*|sec_*')}`;
  const service = await start([], { API_KEYS });
  // A name that the key could use if there were such a tool.
  const calls = [{ name: 'sec_tool' }, ECHO];
  const body = { calls };
  const headers = { 'idempotency-key': freshName(), 'x-request-id': freshName() };
  expect(resultsOf(await postAs(service, 'full', body, headers))[0]?.message).toContain('secret_tool');
  const lost = await askAs(service, 'some', `/tool-calls/${headers['x-request-id']}`);
  expect([lost.status, lost.code]).toEqual([404, 'result_not_kept']);
  const replay = await postAs(service, 'some', body, { 'idempotency-key': headers['idempotency-key'] });
  expect(replay.text).not.toContain('secret_tool');
  const [wrong, right] = resultsOf(replay);
  expect(wrong?.message).toMatch(/^Unknown tool: sec_tool\. Available tools: (echo, list_files|list_files, echo)\./);
  expect([wrong?.replayed, right?.replayed]).toEqual([undefined, true]);
  // The record is as it was.
  const again = resultsOf(await postAs(service, 'full', body, { 'idempotency-key': headers['idempotency-key'] }));
  expect(again.map(({ replayed }) => replayed)).toEqual([true, true]);
  expect(again[0]?.message).toContain('secret_tool');
  const found = resultsOf(await askAs(service, 'full', `/tool-calls/${headers['x-request-id']}`));
  expect(found[0]?.message).toContain('secret_tool');
});

test('a wrong name that a key sent itself is replayed to it', async () => {
  const service = await start();
  const headers = { 'idempotency-key': freshName() };
  // The first names a tool it could use, had it been there; the second does not.
  const body = { calls: [{ name: 'list_nothing' }, ECHO] };
  const [first] = resultsOf(await postAs(service, 'some', body, headers));
  const [again] = resultsOf(await postAs(service, 'some', body, headers));
  expect(again).toEqual({ ...first, replayed: true });
});

test("another key's answer is found under its request id, whatever is sent with that id later", async () => {
  const service = await start();
  const id = { 'x-request-id': freshName() };
  const lostBy = async (key: string) => (await askAs(service, key, `/tool-calls/${id['x-request-id']}`)).text;
  resultsOf(await postAs(service, 'full', { calls: [HIDDEN] }, { ...id, 'idempotency-key': freshName() }));
  const kept = await lostBy('full');
  expect(kept).toContain(SECRET);
  const own = { ...id, 'idempotency-key': freshName() };
  for (let time = 0; time < 2; time += 1) resultsOf(await postAs(service, 'some', { calls: [ECHO] }, own));
  expect(await lostBy('full')).toBe(kept);
  expect(await lostBy('some')).toContain('result_not_kept');
});

test('a session shows the calls, budgets and slices of the tools that the key may use, and no others', async () => {
  const failing = createActor('secret_failing', {}, () => {
    throw new Error(SECRET);
  });
  const service = await start([failing.tool]);
  const session_id = freshName();
  const calls = [ECHO, HIDDEN, { name: 'secret_failing' }, { name: 'nix' }, { arguments: {} }];
  resultsOf(await postAs(service, 'full', { session_id, calls }));
  await expect.poll(async () => (await viewAs(service, 'full', session_id)).calls.length, SOON).toBe(5);
  const full = await viewAs(service, 'full', session_id);
  expect(full.tools.map(({ name }) => name)).toEqual(['_unknown', 'echo', 'secret_failing', 'secret_tool']);
  const some = await viewAs(service, 'some', session_id);
  expect(some.calls.map(({ tool }) => tool)).toEqual(['echo', null]);
  expect(some.tools.map(({ name }) => name)).toEqual(['echo']);
  expect(some.slice_errors).toBeUndefined();
  expect(Object.keys(some.slices).length).toBeGreaterThan(0);
  expect(JSON.stringify(full.slices)).toContain('secret_failing');
  expect(JSON.stringify(some)).not.toMatch(/secret_|what only/);
});

test('a key resets budgets of tools it may use; what would touch others it may not', async () => {
  const failing = createActor('secret_failing', {}, () => {
    throw new Error('no');
  });
  const service = await start([failing.tool]);
  const session_id = freshName();
  resultsOf(await postAs(service, 'full', { session_id, calls: [{ name: 'secret_failing' }] }));
  const reset = async (key: string, path: string): Promise<number> =>
    (await askAs(service, key, `/sessions/${session_id}${path}`, { method: 'DELETE' })).status;
  expect([await reset('some', '/budgets/echo'), await reset('some', '/budgets/secret_failing')]).toEqual([204, 403]);
  expect([await reset('some', '/budgets'), await reset('some', '')]).toEqual([403, 403]);
  expect((await viewAs(service, 'full', session_id)).tools.map(({ failures }) => failures)).toEqual([1]);
  expect(await reset('full', '/budgets/secret_failing')).toBe(204);
  expect((await viewAs(service, 'full', session_id)).tools.filter(({ failing: is }) => is)).toEqual([]);
});

test('a session shows no name of a tool that the key may not use, whatever became of its call', async () => {
  const failing = createActor('secret_failing', {}, () => {
    throw new Error(SECRET);
  });
  const service = await start([failing.tool]);
  const session_id = freshName();
  const rounds = [
    [HIDDEN, { name: 'secret_failing' }, ECHO],
    [{ name: 'secret_tool', timeout_ms: -1 }, ECHO],
    [{ name: 'secret_gone', timeout_ms: -1 }, ECHO],
    [{ name: 'list_files', timeout_ms: -1 }, ECHO],
    [{ arguments: {} }, ECHO],
  ];
  for (const calls of rounds)
    resultsOf(await postAs(service, 'full', { session_id, order: 'sequential', on_error: 'stop', calls }));
  await expect.poll(async () => (await viewAs(service, 'full', session_id)).calls.length, SOON).toBe(11);
  const messagesOf = async (key: string): Promise<readonly string[]> =>
    (await viewAs(service, key, session_id)).calls.flatMap(({ code, message }) =>
      code === 'not_executed' ? [message] : [],
    );
  expect(await messagesOf('full')).toEqual([
    "Not executed: the preceding call to 'secret_failing' failed.",
    "Not executed: the preceding call to 'secret_tool' failed.",
    "Not executed: the preceding call to 'secret_gone' failed.",
    "Not executed: the preceding call to 'list_files' failed.",
    "Not executed: the preceding call to 'an unnamed call' failed.",
  ]);
  const nameless = 'Not executed: a preceding call failed.';
  expect(await messagesOf('some')).toEqual([
    nameless,
    nameless,
    nameless,
    "Not executed: the preceding call to 'list_files' failed.",
    nameless,
  ]);
  const some = await viewAs(service, 'some', session_id);
  expect(some.calls.map(({ name }) => name)).toEqual(['echo', 'echo', 'echo', 'list_files', 'echo', null, 'echo']);
  expect(JSON.stringify(some)).not.toMatch(/secret_|what only/);
});
