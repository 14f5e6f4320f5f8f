import { codesOf, createActor, fail, freshName, startLab } from '@recourse/test-support/keyed-client.ts';
import { expect, test } from 'vitest';
import * as z from 'zod';
import type { ToolResult } from '#src/contract/tool-result.ts';
import { defineTool, type ToolDefinition } from '#src/tools/define-tool.ts';

const would = ({ results }: { readonly results: readonly ToolResult[] }): readonly string[] =>
  results.map((result) => (result.outcome === 'checked' ? result.dry_run.would : `not a dry run: ${result.outcome}`));

const pay = (rest: Partial<ToolDefinition<z.ZodObject>> = {}) => {
  const paid: unknown[] = [];
  const tool = defineTool({
    name: 'pay',
    description: 'Pays.',
    effects: 'write',
    input: z.object({ amount: z.number(), currency: z.string().default('EUR') }),
    ...rest,
    run: (input) => paid.push(input),
  });
  return { tool, paid };
};

test('a dry run says what each call would do, and runs none', async () => {
  const { tool, paid } = pay();
  const read = createActor('look');
  const { post, service } = await startLab([{ tool }, read]);
  const calls = [
    { id: 'a', name: 'pay', arguments: { amount: 5 } },
    { id: 'b', name: 'pay', arguments: { amount: 'five' } },
    { id: 'c', name: 'payy', arguments: {} },
    { id: 'd', name: 'look', arguments: '{' },
    { id: 'e', name: 'look' },
    'nothing',
  ];
  const answer = await post({ calls, dry_run: true });
  expect([answer.status, would(answer)]).toEqual([200, ['run', 'retry', 'retry', 'retry', 'run', 'retry']]);
  expect(codesOf(answer)).toEqual([
    'ok',
    'invalid_arguments',
    'unknown_tool',
    'invalid_arguments',
    'ok',
    'invalid_call',
  ]);
  expect(answer.results[0]).toEqual({
    ...{ index: 0, id: 'a', name: 'pay', success: false, outcome: 'checked', executed: 'no', value: null },
    ...{ message: 'Dry run: this call would run. Nothing has run.', error: null, retry: null },
    ...{
      dry_run: { depth: 'checked', would: 'run', digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/), rules: [] },
      duration_ms: 0,
    },
  });
  expect(answer.results[1]?.message).toMatch(
    /^Dry run: this call would not run as it is\. Nothing has run\. Invalid arguments for 'pay'/,
  );
  expect([paid, read.asked]).toEqual([[], []]);
  expect(await service.metric('recourse_dry_runs_total{tool="pay",would="run"}')).toBe(1);
  expect(await service.metric('recourse_dry_runs_total{tool="pay",would="retry"}')).toBe(1);
  expect(await service.metric('recourse_tool_calls_total{tool="pay",outcome="success",code="ok",fault="none"}')).toBe(
    0,
  );
});

test('the query asks for a dry run as well; what waits or streams is refused', async () => {
  const { tool, paid } = pay();
  const { service } = await startLab([{ tool }]);
  const send = async (query: string, body: object = {}, headers: Readonly<Record<string, string>> = {}) => {
    const answer = await fetch(`${service.url}/tool-calls${query}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ calls: [{ name: 'pay', arguments: { amount: 1 } }], ...body }),
    });
    const { results, code } = z
      .object({ results: z.array(z.object({ outcome: z.string() })).optional(), code: z.string().optional() })
      .parse(await answer.json());
    return [answer.status, code ?? results?.[0]?.outcome];
  };
  expect(await send('?dry_run=true')).toEqual([200, 'checked']);
  expect(await send('?dry_run=true', { dry_run: false })).toEqual([200, 'checked']);
  expect(await send('?dry_run=yes')).toEqual([400, 'invalid_envelope']);
  expect(await send('', { dry_run: 'true' })).toEqual([400, 'invalid_envelope']);
  expect(await send('?dry_run=true', { wait_ms: 5 })).toEqual([400, 'invalid_query']);
  expect(await send('?dry_run=true', { wait_ms: 0 })).toEqual([400, 'invalid_query']);
  expect(await send('?dry_run=true', {}, { prefer: 'respond-async' })).toEqual([400, 'invalid_query']);
  expect(await send('', { dry_run: true }, { accept: 'text/event-stream' })).toEqual([400, 'invalid_query']);
  expect(await send('', { dry_run: true }, { accept: 'application/x-ndjson' })).toEqual([400, 'invalid_query']);
  expect(paid).toEqual([]);
  expect(await send('?dry_run=false')).toEqual([200, 'success']);
  expect(paid).toHaveLength(1);
});

test('an Idempotency-Key is looked up, and stays free', async () => {
  const { tool, paid } = pay();
  const { post } = await startLab([{ tool }]);
  const key = freshName();
  const body = { calls: [{ id: 'a', name: 'pay', arguments: { amount: 1 } }] };
  const dry = { ...body, dry_run: true };
  expect(would(await post(dry, { key }))).toEqual(['run']);
  // Another body under it: the key is still nobody's.
  expect((await post({ calls: [{ name: 'pay', arguments: { amount: 2 } }], dry_run: true }, { key })).status).toBe(200);
  expect(codesOf(await post(body, { key }))).toEqual(['ok']);
  const replayed = await post(dry, { key });
  expect(would(replayed)).toEqual(['replay']);
  expect(replayed.results[0]?.value).toBeNull();
  const other = await post({ calls: [{ name: 'pay', arguments: { amount: 2 } }], dry_run: true }, { key });
  expect([other.status, other.problem]).toEqual([422, 'idempotency_key_reused']);
  expect(paid).toHaveLength(1);
});

test('the id of a call that is its key is looked up, and stays free', async () => {
  const { tool, paid } = pay();
  const { post } = await startLab([{ tool }]);
  const envelope = { session_id: freshName(), idempotency: 'call_id' };
  const calls = [{ id: 'a', name: 'pay', arguments: { amount: 1 } }];
  expect(would(await post({ ...envelope, calls, dry_run: true }))).toEqual(['run']);
  expect(codesOf(await post({ ...envelope, calls }))).toEqual(['ok']);
  expect(would(await post({ ...envelope, calls, dry_run: true }))).toEqual(['replay']);
  const reused = [{ id: 'a', name: 'pay', arguments: { amount: 3 } }];
  const answer = await post({ ...envelope, calls: reused, dry_run: true });
  expect([would(answer), codesOf(answer)]).toEqual([['retry'], ['invalid_call']]);
  expect(paid).toHaveLength(1);
});

test('budgets, limits and the loop guard are asked and not charged', async () => {
  const failing = createActor('failing', { retries: 0 }, fail);
  const same = createActor('same', {}, () => 'same');
  const rare = createActor('rare', { maxCallsPerSession: 1 });
  const { post, session } = await startLab([failing, same, rare]);
  const session_id = freshName();
  const ask = (name: string) => post({ session_id, calls: [{ name }], dry_run: true });
  const unseen = await session(session_id);
  for (let n = 0; n < 5; n += 1) {
    expect(would(await ask('failing'))).toEqual(['run']);
    expect(would(await ask('rare'))).toEqual(['run']);
    expect(would(await ask('same'))).toEqual(['run']);
  }
  expect(await session(session_id)).toEqual(unseen);
  await post({ session_id, calls: [{ name: 'failing' }] });
  await post({ session_id, calls: [{ name: 'rare' }] });
  const exhausted = await ask('failing');
  expect([would(exhausted), codesOf(exhausted)]).toEqual([['refuse'], ['retry_budget_exhausted']]);
  const limited = await ask('rare');
  expect([would(limited), codesOf(limited)]).toEqual([['refuse'], ['call_limit_exceeded']]);
  expect([failing.asked, rare.asked, same.asked].map(({ length }) => length)).toEqual([1, 1, 0]);
});

test('a preview says what a call would do, redacted and in its time; one that fails leaves a warning', async () => {
  const { tool, paid } = pay({
    preview: ({ amount, currency }) => {
      if (amount === 0) throw new Error('The bank is closed.');
      return { after: 100 - Number(amount), currency };
    },
  });
  const { post } = await startLab([{ tool }]);
  const calls = [7, 0, 'x'].map((amount) => ({ name: 'pay', arguments: { amount } }));
  const [shown, failed, invalid] = (await post({ calls, dry_run: true })).results;
  expect(shown).toMatchObject({ value: { after: 93, currency: 'EUR' }, dry_run: { depth: 'previewed', would: 'run' } });
  expect(failed).toMatchObject({
    value: null,
    error: null,
    dry_run: { depth: 'checked', would: 'run' },
    warnings: [{ code: 'preview_failed', message: 'The preview failed. Error: The bank is closed.' }],
  });
  expect(invalid).toMatchObject({ value: null, dry_run: { depth: 'checked', would: 'retry' } });
  expect(paid).toEqual([]);
});

test('an open circuit refuses, and is not probed', async () => {
  const down = createActor('down', { retries: 9 }, fail);
  const { post } = await startLab([down], { CIRCUIT_FAILURES: '1', CIRCUIT_OPEN_MS: '600000' });
  await post([{ name: 'down' }]);
  const answer = await post({ calls: [{ name: 'down' }], dry_run: true });
  expect([would(answer), codesOf(answer)]).toEqual([['refuse'], ['circuit_open']]);
  expect(down.asked).toHaveLength(1);
});

test('in a sequential batch that stops at failures what stands behind one would not run', async () => {
  const { tool } = pay();
  const read = createActor('look');
  const { post } = await startLab([{ tool }, read]);
  const calls = [{ name: 'look' }, { name: 'pay', arguments: { amount: 'x' } }, { name: 'look', arguments: { b: 1 } }];
  const ask = async (envelope: object) => codesOf(await post({ calls, dry_run: true, ...envelope }));
  expect(await ask({ order: 'sequential', on_error: 'stop' })).toEqual(['ok', 'invalid_arguments', 'not_executed']);
  expect(await ask({ order: 'sequential' })).toEqual(['ok', 'invalid_arguments', 'ok']);
});

test('calls that repeat each other, and share an id with others, say so as those of a real batch do', async () => {
  const { post } = await startLab([createActor('look')]);
  const calls = [
    { id: 'a', name: 'look', arguments: { n: 1 } },
    { id: 'a', name: 'look', arguments: { n: 1 } },
    { id: 'a', name: 'look', arguments: { n: 2 } },
  ];
  const answer = await post({ calls, dry_run: true });
  expect(would(answer)).toEqual(['run', 'run', 'run']);
  expect(answer.results.map(({ warnings }) => warnings?.[0]?.code)).toEqual(Array(3).fill('duplicate_id'));
});

test('models read a dry run as the result of a tool, and not as an error', async () => {
  const { tool } = pay({ preview: () => ({ after: 93 }) });
  const { service } = await startLab([{ tool }]);
  const send = async (format: string, body: object): Promise<unknown> => {
    const answer = await fetch(`${service.url}/tool-calls?raw=true&dry_run=true&format=${format}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return answer.json();
  };
  const said = 'Dry run: this call would run. Nothing has run.\n{"after":93}';
  const input = { amount: 7 };
  const content = [{ type: 'tool_use', id: 'toolu_1', name: 'pay', input }];
  expect(await send('anthropic', { role: 'assistant', content })).toEqual([
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: said }] },
  ]);
  const parts = [{ functionCall: { id: '1', name: 'pay', args: input } }];
  expect(await send('gemini', { role: 'model', parts })).toEqual([
    { role: 'user', parts: [{ functionResponse: { id: '1', name: 'pay', response: { output: said } } }] },
  ]);
  const calls = [
    { name: 'pay', arguments: input },
    { name: 'pay', arguments: {} },
  ];
  expect(await send('text', { calls })).toEqual([
    said,
    expect.stringMatching(
      /^Dry run: this call would not run as it is\. Nothing has run\. Required parameter 'amount' missing/,
    ),
  ]);
});
