import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createPendingClient } from '@recourse/test-support/pending-client.ts';
import { startProcess } from '@recourse/test-support/start-process.ts';
import { callService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';
import { ToolCatalogue } from '#src/contract/tool-description.ts';

const startExamples = async (environment: Readonly<Record<string, string>> = {}): Promise<string> => {
  const settings = { TOOLS_DIR: 'examples/tools', MAX_EVENT_LOOP_LAG_MS: '60000', ...environment };
  return (await startProcess({ by: 'node', environment: settings })).url;
};

/** A rates service that gives these answers one after the other, and then the last one again. */
const startRates = async (...answers: readonly ((response: ServerResponse) => void)[]) => {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    (answers[asked.length - 1] ?? answers.at(-1))?.(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The rates service has no port.');
  const url = await startExamples({ RATES_URL: `http://127.0.0.1:${address.port}`, TOOLS_ENV_ALLOW: 'RATES_URL' });
  return { asked, url };
};

const euros = { name: 'convert_money', arguments: { amount: 10, from: 'EUR', to: 'USD' } };
const rates = (response: ServerResponse): void =>
  void response.end(JSON.stringify({ date: '2026-11-20', rates: { USD: 1.2345 } }));
const answerWith =
  (status: number, headers: Readonly<Record<string, string>> = {}) =>
  (response: ServerResponse): void =>
    void response.writeHead(status, headers).end();

test('all tools of the examples are offered', async () => {
  const url = await startExamples();
  const { tools } = ToolCatalogue.parse(await (await fetch(`${url}/tools`)).json());
  const offered = tools.filter(({ source }) => source !== 'builtin');
  expect(offered.map(({ name, effects, available, source }) => `${name} ${effects} ${available} ${source}`)).toEqual([
    'add_note write true TOOLS_DIR/team-notes.ts',
    'build_report read true TOOLS_DIR/build-report.ts',
    'convert_money read true TOOLS_DIR/exchange-rates.ts',
    'delete_note idempotent true TOOLS_DIR/team-notes.ts',
    'find_notes read true TOOLS_DIR/team-notes.ts',
    'prime_factors read true TOOLS_DIR/prime-factors.ts',
  ]);
});

test('money is converted, and what passes upstream is waited for', async () => {
  const { asked, url } = await startRates(answerWith(503), (response) => void response.destroy(), rates);
  const [result] = await callService(url, [euros]);
  expect(result).toMatchObject({
    success: true,
    value: { amount: 12.35, currency: 'USD', rate: 1.2345, day: '2026-11-20' },
  });
  expect(asked).toEqual(Array.from({ length: 3 }, () => '/latest?base=EUR&symbols=USD'));
});

test('a long Retry-After is handed to the model and not waited for', async () => {
  const { asked, url } = await startRates(answerWith(429, { 'retry-after': '60' }));
  const [result] = await callService(url, [euros]);
  expect(result).toMatchObject({ success: false, outcome: 'retry', executed: 'no' });
  expect(result?.error).toMatchObject({ code: 'upstream_rate_limited', retry_after_ms: 60_000 });
  expect(result?.message).toContain('Rate limit exceeded (429). Try again in 60 seconds or use another source.');
  expect(asked).toHaveLength(1);
});

test('an upstream that stays away is said to be so, and a pair without a rate is told to the model', async () => {
  const away = await startRates(answerWith(502));
  const [gone] = await callService(away.url, [euros]);
  expect(gone?.error?.code).toBe('upstream_unavailable');
  expect(away.asked).toHaveLength(3);
  const strange = await startRates(answerWith(404));
  const [unknown] = await callService(strange.url, [euros]);
  expect(unknown?.error?.code).toBe('retry_requested');
  expect(unknown?.message).toContain('There is no rate from EUR to USD. Use codes that the ECB lists.');
});

test('a number with large factors ends at its time limit, and nothing else waits for it', async () => {
  const url = await startExamples();
  const numbers = ['1001', '1', '97', '1000000000000000012000000000000000027', '4294967296'];
  const results = await callService(url, [
    ...numbers.map((number) => ({ name: 'prime_factors', arguments: { number } })),
    { name: 'echo', arguments: { text: 'still here' } },
  ]);
  expect(results.map(({ value, error }) => error?.code ?? value)).toEqual([
    { number: '1001', factors: ['7', '11', '13'], prime: false },
    { number: '1', factors: ['1'], prime: false },
    { number: '97', factors: ['97'], prime: true },
    'timeout',
    { number: '4294967296', factors: Array.from({ length: 32 }, () => '2'), prime: false },
    { text: 'still here' },
  ]);
});

test('notes are kept by several processes at once, and outlive the service', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'recourse-notes-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const settings = { NOTES_DB: join(directory, 'notes.sqlite'), TOOLS_ENV_ALLOW: 'NOTES_*' };
  const first = await startExamples(settings);
  const adds = Array.from({ length: 6 }, (_, number) => ({
    name: 'add_note',
    arguments: { topic: 'release', text: `Step ${number}: it's 100 % done.` },
  }));
  const added = await callService(first, adds);
  expect(added.map(({ success }) => success)).toEqual(adds.map(() => true));
  expect(new Set(added.map(({ value }) => JSON.stringify(value))).size).toBe(6);
  const second = await startExamples(settings);
  const find = async (search: string): Promise<unknown> => {
    const [result] = await callService(second, [{ name: 'find_notes', arguments: { search } }]);
    return result?.empty ? result.message : result?.value;
  };
  expect(await find('STEP 1')).toMatchObject({ notes: [{ topic: 'release', text: "Step 1: it's 100 % done." }] });
  expect(await find("it's 100 %")).toMatchObject({ notes: Array.from({ length: 6 }, () => ({})) });
  expect(await find('_')).toBe("No note contains '_'.");
  const [gone, again] = await callService(
    second,
    [
      { name: 'delete_note', arguments: { id: 1 } },
      { name: 'delete_note', arguments: { id: 1 } },
    ],
    { order: 'sequential' },
  );
  expect(gone).toMatchObject({ success: true, message: 'Note 1 is deleted.' });
  expect(again?.message).toContain('There is no note 1. Call find_notes to see which there are.');
});

const report = (pages: number) => ({
  session_id: 's_42',
  calls: [{ id: 'call_1', name: 'build_report', arguments: { pages } }],
});

test('a report is built after its request was answered, says how far it is, and is cancelled as README.md says', async () => {
  const { ask, begin, finish } = createPendingClient(await startExamples());
  const [short, long] = await Promise.all([begin(report(1)), begin(report(300))]);
  expect([short.status, long.status]).toEqual([202, 202]);
  expect((await finish(short.requestId)).results).toMatchObject([{ outcome: 'success', value: { pages: 1 } }]);
  const path = long.headers.get('location') ?? '';
  await expect
    .poll(async () => (await ask(path)).results, { timeout: timeLimit(10_000) })
    .toMatchObject([{ outcome: 'pending', pending: { progress: { total: 300 } } }]);
  // 202 while it still ends.
  await ask(path, { method: 'DELETE' });
  await expect
    .poll(async () => (await ask(path)).results, { timeout: timeLimit(10_000) })
    .toMatchObject([{ error: { code: 'cancelled' } }]);
});
