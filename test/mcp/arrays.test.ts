import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { defineTool } from '#src/tools/define-tool.ts';
import type { Tool } from '#src/tools/tool.ts';
import { startService } from '#test/support/start-service.ts';
import { type McpAnswer, post } from './mcp-clients.ts';

const call = (id: number, name: string, given: unknown = {}, meta: object = {}) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: given, _meta: meta },
});
const several = (count: number, name: string) =>
  Array.from({ length: count }, (_, place) => call(place, name, { place }));

const start = async (environment: Readonly<Record<string, string>>, ...tools: readonly Tool[]) => {
  const service = await startService(environment, tools);
  onTestFinished(service.stop);
  return service;
};

const Answered = z.object({
  id: z.number(),
  result: z.object({ isError: z.boolean(), _meta: z.object({ 'recourse/result': z.object({ code: z.unknown() }) }) }),
});

/** What came of each call, in the order of the ids. */
const codesOf = ({ messages }: McpAnswer): readonly unknown[] =>
  messages
    .map((message) => Answered.parse(message))
    .toSorted((a, b) => a.id - b.id)
    .map(({ result }) => (result.isError ? result._meta['recourse/result'].code : 'ok'));

/** A tool that counts, and ends when it is told to. */
const createHeld = (timeoutMs = 30_000) => {
  const seen: number[] = [];
  const ends: (() => void)[] = [];
  let most = 0;
  let running = 0;
  const tool = defineTool({
    name: 'held',
    description: 'Ends when it is told to.',
    effects: 'read',
    timeoutMs,
    input: z.object({ place: z.number() }),
    run: async ({ place }) => {
      seen.push(place);
      running += 1;
      most = Math.max(most, running);
      await new Promise<void>((resolve) => ends.push(resolve));
      running -= 1;
      return place;
    },
  });
  return { tool, seen, ends, mostAtOnce: () => most };
};

test('of the calls in one body no more are run than of one batch; each has its answer', async () => {
  const ran: number[] = [];
  const count = defineTool({
    name: 'count',
    description: 'Counts.',
    effects: 'read',
    input: z.object({ place: z.number() }),
    run: ({ place }) => {
      ran.push(place);
      return place;
    },
  });
  const service = await start({ MAX_BATCH_CALLS: '2' }, count);
  const { url } = service;

  const answer = await post(url, [{ jsonrpc: '2.0', method: 'notifications/initialized' }, ...several(99, 'count')]);
  expect(answer.status).toBe(200);
  expect(codesOf(answer)).toEqual(['ok', 'ok', ...Array.from({ length: 97 }, () => 'call_limit_exceeded')]);
  expect(ran).toEqual([0, 1]);
  expect(await service.metric('recourse_contract_violations_total')).toBe(0);
  // The next request begins anew.
  expect(codesOf(await post(url, several(2, 'count')))).toEqual(['ok', 'ok']);
});

test('no more of them run at once than of one batch, in their order', async () => {
  const held = createHeld();
  const { url } = await start({ BATCH_CONCURRENCY: '2' }, held.tool);

  const asked = post(url, several(5, 'held'));
  for (let ended = 0; ended < 5; ended += 1) {
    await expect.poll(() => held.seen.length, { timeout: 15_000 }).toBe(Math.min(5, ended + 2));
    held.ends[ended]?.();
  }
  expect(codesOf(await asked)).toEqual(['ok', 'ok', 'ok', 'ok', 'ok']);
  expect(held.seen).toEqual([0, 1, 2, 3, 4]);
  expect(held.mostAtOnce()).toBe(2);
});

test('a handler that goes on after its call was answered keeps its place', async () => {
  const held = createHeld(50);
  const { url } = await start({ BATCH_CONCURRENCY: '1', MAX_DEADLINE_MS: '1000' }, held.tool);

  expect(codesOf(await post(url, several(2, 'held')))).toEqual(['timeout', 'cancelled']);
  expect(held.seen).toEqual([0]);
  held.ends[0]?.();
});

test('calls that wait for their place end when their client goes', async () => {
  const held = createHeld();
  const service = await start({ BATCH_CONCURRENCY: '1' }, held.tool);
  const leaving = new AbortController();
  const asked = fetch(`${service.url}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(several(3, 'held')),
    signal: leaving.signal,
  });
  await expect.poll(() => held.seen, { timeout: 15_000 }).toEqual([0]);
  leaving.abort();

  await expect(asked).rejects.toThrow();
  const cancelled = () =>
    service.metric('recourse_tool_call_failures_total{tool="held",code="cancelled",fault="caller"}');
  await expect.poll(cancelled, { timeout: 15_000 }).toBe(3);
  held.ends[0]?.();
});

test.each(['2025-06-18', '2025-11-25', '2026-07-28', '1999-01-01'])(
  'revision %s has no bodies of several messages, and nothing in them runs',
  async (revision) => {
    const held = createHeld();
    const { url } = await start({}, held.tool);

    const answer = await post(url, several(2, 'held'), { 'mcp-protocol-version': revision });
    expect(answer).toMatchObject({ status: 400, messages: [{ jsonrpc: '2.0', id: null, error: { code: -32600 } }] });
    expect(held.seen).toEqual([]);
  },
);

test('revision 2025-03-26 has them', async () => {
  const { url } = await start({});

  const answer = await post(url, [call(1, 'echo', { text: 'x' })], { 'mcp-protocol-version': '2025-03-26' });
  expect(codesOf(answer)).toEqual(['ok']);
});
