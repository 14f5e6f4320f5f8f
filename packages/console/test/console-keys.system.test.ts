import { hash } from 'node:crypto';
import { createConsoleLab, replaceHeaders, SLOW_MS, send, useKey } from '@recourse/test-support/console/console-lab.ts';
import { createConsoleTools } from '@recourse/test-support/console/console-tools.ts';
import {
  findAxeViolations,
  findUnnamed,
  readContrast,
  readOverflow,
} from '@recourse/test-support/console/page-checks.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import type { Page, Route } from 'playwright-core';
import { defineTool } from 'recourse-server/internal/tools/define-tool.ts';
import { expect, test } from 'vitest';
import * as z from 'zod';

const lab = createConsoleLab();

const FORMER = 'rk_former';
const LATTER = 'rk_latter';
const KEYS = {
  API_KEYS: `acme=${hash('sha256', FORMER)},other=${hash('sha256', LATTER)} tools=slow|find_order`,
};

const changeKey = async (page: Page, key: string): Promise<void> => {
  await page.getByRole('button', { name: 'Forget key' }).click();
  await useKey(page, key);
};

/** Holds back the answer to a key; `release` resolves once the page has the answer. */
const holdAnswer = async (page: Page, path: string, key: string, method: 'GET' | 'DELETE') => {
  const asked = Promise.withResolvers<Route>();
  await page.route(path, async (route) => {
    const request = route.request();
    const isHeld = request.method() === method && request.headers()['authorization'] === `Bearer ${key}`;
    if (isHeld) asked.resolve(route);
    else await route.fallback();
  });
  const release = async (): Promise<void> => {
    const route = await asked.promise;
    const response = await route.fetch();
    const arrived = page.waitForEvent('requestfinished', (request) => request === route.request());
    await route.fulfill({ response });
    await arrived;
    await settle(page);
  };
  return { asked: asked.promise, release };
};

/** Resolves when the page has dealt with every answer that has arrived: a later request has been answered, too. */
const settle = async (page: Page): Promise<void> => {
  await page.evaluate("fetch('live').then((answer) => answer.text())");
  await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))');
};

// Asked of the service: of an answer that is streamed the browser does not always tell the end.
const whenStreamsEnded = async (url: string): Promise<void> => {
  const read = async () => (await fetch(`${url}/metrics`)).text();
  await expect.poll(read, { timeout: timeLimit(20_000), interval: 200 }).toMatch(/^recourse_streams_open 0$/m);
};

test.each([
  ['The catalogue', FORMER],
  ['A refusal', 'rk_wrong'],
])('%s that comes after another key was entered is not shown', { timeout: SLOW_MS }, async (_what, former) => {
  const { url } = await lab.start(KEYS, createConsoleTools());
  const { page, complaints } = await lab.open(url, '#tools');
  const held = await holdAnswer(page, '**/tools', former, 'GET');
  await useKey(page, former);
  await held.asked;
  await changeKey(page, LATTER);
  await page.getByText('1 tools').waitFor();
  await held.release();
  expect(await page.locator('.names').innerText()).toMatch(/^(Built in\s+)?find_order\s+read$/);
  expect(await page.locator('.trouble').count()).toBe(0);
  expect(await page.locator('header').innerText()).toContain('API key in use');
  expect(complaints).toEqual([]);
});

test('the result of a call that ends after another key was entered is not shown', { timeout: SLOW_MS }, async () => {
  const started = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<string>();
  const slow = defineTool({
    name: 'slow',
    description: 'Answers when it likes.',
    input: z.object({ whose: z.string() }),
    effects: 'read',
    timeoutMs: 100_000,
    run: ({ whose }) => {
      if (whose === 'latter') return 'the latter may see this';
      started.resolve();
      return gate.promise;
    },
  });
  const { url } = await lab.start(KEYS, [slow]);
  const { page, complaints } = await lab.open(url, '#tool=slow');
  await useKey(page, FORMER);
  await page.getByLabel('whose required').fill('former');
  await page.getByRole('button', { name: 'Send' }).click();
  await started.promise;
  await changeKey(page, LATTER);
  await page.getByText('1 tools').waitFor();
  gate.resolve('only the former may see this');
  await whenStreamsEnded(url);
  await settle(page);
  expect(await page.locator('.result').count()).toBe(0);
  expect(await page.getByRole('status').last().textContent()).toBe('');
  await page.getByLabel('whose required').fill('latter');
  await send(page);
  await page.getByText('"the latter may see this"').first().waitFor();
  expect(await page.locator('main').innerText()).not.toContain('only the former');
  expect(complaints).toEqual([]);
});

test('what a call shows is not shown under the key that followed', { timeout: SLOW_MS }, async () => {
  const more = Promise.withResolvers<void>();
  const slow = defineTool({
    name: 'slow',
    description: 'Shows parts when it likes.',
    effects: 'read',
    input: z.object({}),
    run: async function* () {
      yield 'only the former may see this';
      await more.promise;
      yield 'nor this';
      return 1;
    },
  });
  const service = await lab.start(KEYS, [slow]);
  const { page } = await lab.open(service.url, '#tool=slow');
  await useKey(page, FORMER);
  await page.getByRole('button', { name: 'Send' }).click();
  await page.locator('.shown-parts').filter({ hasText: 'only the former' }).waitFor();
  await changeKey(page, LATTER);
  await page.getByText('1 tools').waitFor();
  more.resolve();
  await whenStreamsEnded(service.url);
  await settle(page);
  expect(await page.locator('.shown-parts').count()).toBe(0);
});

test('a session that is read or reset with the former key is not shown under the one that followed', {
  timeout: SLOW_MS,
}, async () => {
  const { url } = await lab.start(KEYS, createConsoleTools());
  const answer = await fetch(`${url}/tool-calls`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${FORMER}` },
    body: '{"session_id":"s","calls":[{"id":"1","name":"find_order","arguments":{"number":"x"}}]}',
  });
  expect(answer.status).toBe(200);
  const { page, complaints } = await lab.open(url, '#session=s');
  await useKey(page, FORMER);
  await page.locator('.budgets li').waitFor();
  const reading = await holdAnswer(page, '**/sessions/**', FORMER, 'GET');
  const reset = await holdAnswer(page, '**/sessions/**', FORMER, 'DELETE');
  const ended = page.waitForEvent('requestfailed', (request) => request.url().endsWith('/sessions/s'));
  await page.getByRole('button', { name: 'Reset all budgets' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Reset all' }).click();
  await Promise.all([reading.asked, reset.asked]);
  await changeKey(page, LATTER);
  await page.getByText('This session has no data').waitFor();
  // The reading is given up; the reset is made, and only the word of it comes too late.
  expect((await ended).failure()?.errorText).toBe('net::ERR_ABORTED');
  await reset.release();
  expect(await page.getByRole('status').textContent()).toBe('');
  expect(await page.locator('.budgets li').count()).toBe(0);
  expect(complaints).toEqual([]);
});

test('a key that is refused can be replaced at once: the page says so, and the field for it has the focus', {
  timeout: SLOW_MS,
}, async () => {
  const { url } = await lab.start(KEYS, createConsoleTools());
  const { page, complaints } = await lab.open(url, '#tools', { viewport: { width: 360, height: 800 } });
  await useKey(page, 'rk_wrong');
  await page.getByRole('heading', { name: 'The API key was not accepted.' }).waitFor();
  expect(await page.locator('header').innerText()).not.toContain('in use');
  // Nothing else is there that a key is needed for.
  expect(await page.getByRole('navigation').count()).toBe(0);
  expect(await page.getByRole('alert').count()).toBe(0);
  const field = page.getByLabel('API key');
  expect(await field.evaluate((element) => element.matches(':focus'))).toBe(true);
  expect(await field.inputValue()).toBe('');
  expect(await findUnnamed(page)).toEqual([]);
  expect((await readContrast(page)).weak).toEqual([]);
  expect(await readOverflow(page)).toBe(0);
  expect(await findAxeViolations(page)).toEqual([]);
  await page.keyboard.type(LATTER);
  await page.keyboard.press('Enter');
  await page.getByText('1 tools').waitFor();
  await page.locator('header').getByText('API key in use').waitFor();
  expect(complaints).toEqual([]);
});

test('a service without keys is shown at once, and says nothing of them', { timeout: SLOW_MS }, async () => {
  const { page } = await lab.show(createConsoleTools());
  await page.getByRole('heading', { name: 'The last hour' }).waitFor();
  expect(await page.locator('body').innerText()).not.toMatch(/API key/);
});

test('a reload with a key that is refused asks for another, and forgetting it is still possible', {
  timeout: SLOW_MS,
}, async () => {
  const { url } = await lab.start(KEYS, createConsoleTools());
  const { page } = await lab.open(url, '#tools');
  await useKey(page, 'rk_wrong');
  await page.getByRole('heading', { name: 'The API key was not accepted.' }).waitFor();
  await page.reload();
  await page.getByRole('heading', { name: 'The API key was not accepted.' }).waitFor();
  await page.getByRole('button', { name: 'Forget key' }).click();
  await page.getByText('This service requires an API key.').waitFor();
  expect(await page.locator('body').innerText()).not.toContain('not accepted');
  expect(await page.evaluate('sessionStorage.length')).toBe(0);
});

test('a key that is refused while somebody writes takes the focus from nobody', { timeout: SLOW_MS }, async () => {
  const { url } = await lab.start(KEYS, createConsoleTools());
  const { page, complaints } = await lab.open(url, '#tool=find_order');
  await useKey(page, FORMER);
  const json = page.getByLabel('Arguments as JSON');
  await json.fill('{"number": "1"}');
  // The key has expired since.
  await replaceHeaders(page, { authorization: 'Bearer rk_wrong' });
  await page.keyboard.press('Control+Enter');
  await page.getByRole('heading', { name: 'The API key was not accepted.' }).waitFor();
  await page.locator('.result .trouble').waitFor();
  expect(await json.evaluate((element) => element.matches(':focus'))).toBe(true);
  await page.unroute('**/tool-calls');
  await send(page);
  await page.locator('header').getByText('API key in use').waitFor();
  expect(complaints).toEqual([]);
});
