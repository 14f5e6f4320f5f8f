import { hash } from 'node:crypto';
import {
  createConsoleLab,
  replaceHeaders,
  SLOW_MS,
  setOption,
  useKey,
} from '@recourse/test-support/console/console-lab.ts';
import { createConsoleTools } from '@recourse/test-support/console/console-tools.ts';
import type { Page } from 'playwright-core';
import { defineTool } from 'recourse-server/internal/tools/define-tool.ts';
import { expect, test } from 'vitest';
import * as z from 'zod';

const lab = createConsoleLab();

/** Sends what is filled in, waits for the code it ends with, and gives what is said of another try. */
const readStop = async (page: Page, code: string): Promise<string> => {
  await page.getByRole('button', { name: 'Send' }).click();
  await page.locator('.summary').getByText(code, { exact: true }).waitFor();
  return (await page.locator('.budget').innerText()).replace(/\s+/g, ' ').trim();
};

test('a call that the loop guard stops is not said to have used up its retries', { timeout: SLOW_MS }, async () => {
  const service = await lab.start({}, createConsoleTools());
  for (const id of ['1', '2'])
    await service.call([{ id, name: 'find_order', arguments: { number: 'x' } }], { session_id: 's' });
  const { page, complaints } = await lab.open(service.url, '#tool=find_order');
  await page.getByLabel('number required').fill('x');
  await setOption(page, 'Session id', 's');
  expect(await readStop(page, 'loop_detected')).toBe(
    'Stopped by the loop guard: the same call was repeated. Not stopped by the retry budget: 1 of 3 retries used, 2 remaining, stored per session in memory.',
  );
  expect(complaints).toEqual([]);
});

test('a call that a limit of calls stops is not said to have used up its retries', { timeout: SLOW_MS }, async () => {
  const once = defineTool({
    name: 'once',
    description: 'Can be called once in a session.',
    input: z.object({}),
    effects: 'read',
    maxCallsPerSession: 1,
    run: () => 'done',
  });
  const service = await lab.start({}, [once]);
  await service.call([{ id: 'c', name: 'once' }], { session_id: 's' });
  const { page } = await lab.open(service.url, '#tool=once');
  await setOption(page, 'Session id', 's');
  expect(await readStop(page, 'call_limit_exceeded')).toBe(
    'Stopped by a call limit: the message names it. Not stopped by the retry budget: 0 of 3 retries used, 3 remaining, stored per session in memory.',
  );
});

test('a call that the circuit breaker stops says so', { timeout: SLOW_MS }, async () => {
  const broken = defineTool({
    name: 'broken',
    description: 'Never works.',
    input: z.object({}),
    effects: 'read',
    run: () => {
      throw new Error('The disk is gone.');
    },
  });
  const service = await lab.start({ CIRCUIT_FAILURES: '1', CIRCUIT_OPEN_MS: '3600000' }, [broken]);
  await service.call([{ id: 'c', name: 'broken' }]);
  const { page } = await lab.open(service.url, '#tool=broken');
  expect(await readStop(page, 'circuit_open')).toBe(
    'Stopped by the circuit breaker: the tool is temporarily disabled after repeated failures.',
  );
});

test('a call that the API key may not make says so', { timeout: SLOW_MS }, async () => {
  const keys = `acme=${hash('sha256', 'rk_all')},acme=${hash('sha256', 'rk_narrow')} tools=read_order`;
  const { url } = await lab.start({ API_KEYS: keys }, createConsoleTools());
  const { page } = await lab.open(url, '#tool=find_order');
  await useKey(page, 'rk_all');
  await page.getByLabel('number required').fill('1');
  // The key was narrowed after its catalogue was read.
  await replaceHeaders(page, { authorization: 'Bearer rk_narrow' });
  expect(await readStop(page, 'not_authorized')).toBe('Stopped by the API key: it may not use this tool.');
});
