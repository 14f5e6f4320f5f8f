import { toKeyEntry } from '@recourse/test-support/access-client.ts';
import { keepScreenshot } from '@recourse/test-support/chromium.ts';
import { createConsoleLab, SLOW_MS, useKey } from '@recourse/test-support/console/console-lab.ts';
import { HOSTILE } from '@recourse/test-support/console/console-tools.ts';
import { createLostPayments, QUIET, toPayment } from '@recourse/test-support/console/lost-payments.ts';
import { createKeyedClient, freshName } from '@recourse/test-support/keyed-client.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';

const lab = createConsoleLab();

const AGENT = 'agent-key-0123456789abcdef';
const OPERATOR = 'operator-key-0123456789abcdef';
const READER = 'reader-key-0123456789abcdef';
const CALLER = 'caller-key-0123456789abcdef';
const KEYS = {
  API_KEYS: [
    toKeyEntry('acme', AGENT),
    toKeyEntry('acme', OPERATOR, 'may=call|read|operate'),
    toKeyEntry('acme', READER, 'may=read'),
    toKeyEntry('acme', CALLER, 'may=call'),
  ].join(','),
};

const start = async (environment: Readonly<Record<string, string>> = {}) => {
  const bank = createLostPayments();
  const service = await lab.start({ ...QUIET, ...environment }, [bank.tool]);
  const client = createKeyedClient(service.url);
  const sent = environment['API_KEYS'] === undefined ? {} : { apiKey: AGENT };
  /** Pays; nobody knows how that ended. */
  const lose = async (amount: unknown) => {
    const key = freshName();
    const { requestId, results } = await client.post(toPayment(amount), { key, ...sent });
    expect(results[0]).toMatchObject({ outcome: 'unknown' });
    return { key, requestId };
  };
  return { ...client, service, bank, sent, lose };
};

const press = (page: Page, name: string) => page.getByRole('button', { name }).click();

/** Answers the question for a verdict. */
const answer = async (page: Page, verdict: string, typed: Readonly<Record<string, string>>): Promise<void> => {
  const dialog = page.getByRole('dialog');
  for (const [label, text] of Object.entries(typed)) await dialog.getByLabel(label).fill(text);
  await dialog.getByRole('button', { name: verdict, exact: true }).click();
};

const whenReadAgain = (page: Page) =>
  page.waitForResponse((response) => response.url().endsWith('/calls/unknown') && response.status() === 200);

test('a write whose outcome is unknown appears by itself, and a look now finds out how it ended', {
  timeout: SLOW_MS,
}, async () => {
  const { service, bank, lose, lost } = await start();
  const { page, complaints } = await lab.open(service.url, '#unknown=');
  await page.getByText('No outcome is unknown: a write would be listed here').waitFor();
  const { requestId } = await lose(5);
  const card = page.locator('.outcomes li');
  await card.waitFor();
  const [effectId = ''] = bank.payments.keys();
  const shown = (await card.innerText()).replace(/\s+/g, ' ');
  expect(shown).toMatch(
    /^pay \? unknown Unknown for \d+ s, since \d\d:\d\d:\d\d Why tool_exception Looks so far 1 Next look \d\d:\d\d:\d\d Arguments \{"amount":5\} Look now/,
  );
  expect(shown).toContain(`Effect ${effectId} · request ${requestId}, call 0`);
  await press(page, 'Arguments');
  expect(await card.locator('pre').innerText()).toBe('{\n  "amount": 5\n}');
  await keepScreenshot(page, 'unknown-light');
  await press(page, `Look now: pay ${effectId}`);
  await card.filter({ hasText: /Looks so far\s*2/ }).waitFor();
  bank.isUnclear = false;
  await press(page, 'Look now');
  await card.getByText('it happened, found out by its tool').waitFor();
  await page.getByRole('status').filter({ hasText: 'pay: it happened, found out by its tool.' }).waitFor();
  // What it ended as stays to be read, and no button is left that would move under a hand.
  await whenReadAgain(page);
  expect(await card.getByRole('button').count()).toBe(0);
  expect(await card.innerText()).toContain('it happened');
  expect(await card.getByRole('heading').evaluate((heading) => heading.matches(':focus'))).toBe(true);
  expect((await lost(requestId)).results[0]).toMatchObject({ success: true, value: { paid: 5 } });
  expect(complaints).toEqual([]);
});

test('the link to the page tells how many outcomes are unknown, and the oldest stands first', {
  timeout: SLOW_MS,
}, async () => {
  const { service, bank, lose } = await start();
  for (const amount of [1, 2, 3]) await lose(amount);
  const { page, complaints } = await lab.open(service.url, '#tools');
  await page.getByRole('link', { name: 'Unknown outcomes (3)' }).click();
  const cards = page.locator('.outcomes li');
  await cards.nth(2).waitFor();
  expect(await cards.locator('.first-line').allInnerTexts()).toEqual(['{"amount":1}', '{"amount":2}', '{"amount":3}']);
  bank.isUnclear = false;
  await cards.nth(1).getByRole('button', { name: 'Look now' }).click();
  await page.getByRole('link', { name: 'Unknown outcomes (2)' }).waitFor();
  // Nothing has moved.
  expect(await cards.nth(2).locator('.first-line').innerText()).toBe('{"amount":3}');
  // Another page shows how many there were; this one begins anew.
  await page.getByRole('link', { name: 'Sessions' }).click();
  await page.getByRole('link', { name: 'Unknown outcomes (2)' }).click();
  await cards.nth(1).waitFor();
  expect(await cards.count()).toBe(2);
  expect(complaints).toEqual([]);
});

test('a person who may operate says that it happened, with its value and why', { timeout: SLOW_MS }, async () => {
  const { service, bank, lose, lost, sent } = await start(KEYS);
  const { requestId } = await lose(5);
  const { page, complaints } = await lab.open(service.url, '#unknown=');
  await useKey(page, OPERATOR);
  await press(page, 'It happened');
  const dialog = page.getByRole('dialog', { name: 'Did this call of pay happen?' });
  await dialog.getByText('gets this value as a success').waitFor();
  await keepScreenshot(page, 'unknown-question-light');
  await answer(page, 'It happened', { 'Value as JSON': '{"paid": 5, "receipt": r-1}' });
  await dialog.getByRole('alert').filter({ hasText: 'The value is not JSON' }).waitFor();
  await answer(page, 'It happened', { 'Value as JSON': '{"paid": 5, "receipt": "r-1"}', Reason: ' \n' });
  await dialog.getByRole('alert').filter({ hasText: 'A reason is required' }).waitFor();
  // A page that is read again takes nothing away of what is being typed.
  await dialog.getByLabel('Reason').fill('the bank ');
  await whenReadAgain(page);
  await whenReadAgain(page);
  expect(await dialog.getByLabel('Reason').inputValue()).toBe('the bank ');
  await answer(page, 'It happened', { Reason: 'the bank confirmed it by phone' });
  await page.getByText('it happened, settled by hand').first().waitFor();
  expect((await lost(requestId, sent)).results[0]).toMatchObject({
    success: true,
    executed: 'yes',
    value: { paid: 5, receipt: 'r-1' },
    reconciled: { by: 'person' },
  });
  expect(bank.payments.size).toBe(1);
  expect(complaints).toEqual([]);
});

test('after "it did not happen" the same key runs the write again, and the question says so', {
  timeout: SLOW_MS,
}, async () => {
  const { service, bank, lose, post, sent } = await start(KEYS);
  const { key } = await lose(5);
  bank.payments.clear();
  bank.isLost = false;
  const { page, complaints } = await lab.open(service.url, '#unknown=');
  await useKey(page, OPERATOR);
  await press(page, 'It did not happen');
  await page.getByRole('dialog').getByText('The same key will run the write again').waitFor();
  await press(page, 'Cancel');
  expect((await post(toPayment(5), { key, ...sent })).results[0]).toMatchObject({ outcome: 'unknown' });
  expect(bank.payments.size).toBe(0);
  await press(page, 'It did not happen');
  await answer(page, 'It did not happen', { Reason: 'the bank has no such payment' });
  await page.getByText('it did not happen, settled by hand').first().waitFor();
  expect((await post(toPayment(5), { key, ...sent })).results[0]).toMatchObject({ success: true, value: { paid: 5 } });
  expect(bank.payments.size).toBe(1);
  expect(complaints).toEqual([]);
});

test('what a key may not do is named, and stays to be read', { timeout: SLOW_MS }, async () => {
  const { service, lose } = await start(KEYS);
  await lose(5);
  const { page } = await lab.open(service.url, '#unknown=');
  const card = page.locator('.outcomes li');
  const changeKey = async (key: string): Promise<void> => {
    await press(page, 'Forget key');
    await useKey(page, key);
  };
  await useKey(page, CALLER);
  await page.getByText('Use a key with the operation read.').waitFor();
  expect(await card.count()).toBe(0);
  await changeKey(READER);
  await press(page, 'Look now');
  await card.getByText('This key may not call tools. Use a key with the operation call.').waitFor();
  await changeKey(AGENT);
  for (const verdict of ['It happened', 'It did not happen']) {
    await press(page, verdict);
    await answer(page, verdict, { Reason: 'I say so' });
    await page.getByRole('status').filter({ hasText: 'It was not settled.' }).waitFor();
    await card.getByText('it needs the operation operate').waitFor();
    await whenReadAgain(page);
    await whenReadAgain(page);
    expect(await card.locator('.trouble').innerText()).toContain('HTTP 403 operation_not_allowed');
  }
  expect(await card.getByRole('button', { name: 'It happened' }).count()).toBe(1);
});

test('a person who decides on what has changed meanwhile is told so', { timeout: SLOW_MS }, async () => {
  const { service, lose, post, sent } = await start(KEYS);
  const { key, requestId } = await lose(5);
  const settle = async (verdict: string, fence: number) => {
    const settled = await fetch(`${service.url}/tool-calls/${requestId}/calls/0/reconcile`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${OPERATOR}`,
        'content-type': 'application/json',
        'if-match': `"${fence}"`,
      },
      body: JSON.stringify({ verdict, reason: 'somebody else was faster' }),
    });
    expect(settled.status).toBe(200);
  };
  const { page, complaints } = await lab.open(service.url, '#unknown=');
  await useKey(page, OPERATOR);
  await press(page, 'Pause');
  // Its write is unknown again, under another fence.
  await press(page, 'It happened');
  await settle('did_not_happen', 1);
  expect((await post(toPayment(5), { key, requestId, ...sent })).results[0]).toMatchObject({ outcome: 'unknown' });
  await answer(page, 'It happened', { Reason: 'seen' });
  const card = page.locator('.outcomes li');
  await card.getByText('The call has changed meanwhile.').waitFor();
  await settle('happened', 3);
  await press(page, 'It happened');
  await answer(page, 'It happened', { Reason: 'seen' });
  await card.getByText('It is known by now how the call ended.').waitFor();
  await card.getByText('no longer listed: it is known how it ended, or 24 hours have passed').waitFor();
  expect(complaints).toEqual([]);
});

test('arguments that are hostile are shown as text', { timeout: SLOW_MS }, async () => {
  const { service, lose } = await start();
  await lose({ [HOSTILE]: HOSTILE, long: 'y'.repeat(100_000) });
  const { page, complaints } = await lab.open(service.url, '#unknown=');
  const card = page.locator('.outcomes li');
  await card.waitFor();
  const shown = '<img src=x onerror=alert(1)><script>alert(2)</script>';
  expect(await card.locator('.first-line').innerText()).toContain(shown);
  await press(page, 'Arguments');
  const text = await card.locator('pre').innerText();
  expect(text).toContain(shown);
  expect(text).toContain('\\u{202e}gnp.exe');
  expect(text.length).toBeLessThan(3_000);
  await press(page, 'It did not happen');
  await page.getByRole('dialog').waitFor();
  expect(await page.locator('img, iframe, object, script:not([src^="console/"])').count()).toBe(0);
  expect(await page.locator('a:not([href^="#"], [href="docs"])').count()).toBe(0);
  expect(complaints).toEqual([]);
});

test('a write is settled by keyboard alone: the question begins in its first field, and Escape leaves it', {
  timeout: SLOW_MS,
}, async () => {
  const { service, lose } = await start();
  await lose(5);
  const { page, complaints } = await lab.open(service.url, '#unknown=');
  const focused = (selector: string) =>
    expect.poll(() => page.locator(`${selector}:focus`).count(), { timeout: timeLimit(30_000) }).toBe(1);
  const button = page.getByRole('button', { name: 'It happened' });
  await button.focus();
  await page.keyboard.press('Enter');
  await focused('#question-value');
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await focused('button[aria-label^="It happened"]');
  await page.keyboard.press('Enter');
  await focused('#question-value');
  await page.keyboard.type('12345678901234567890');
  await page.keyboard.press('Tab');
  await page.keyboard.type('seen');
  const sent = page.waitForRequest((request) => request.method() === 'POST');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  // As it was typed: no digit is lost on the way.
  expect((await sent).postData()).toBe('{"verdict":"happened","reason":"seen","value":12345678901234567890}');
  await page.getByText('it happened, settled by hand').first().waitFor();
  await focused('.outcomes h3');
  expect(complaints).toEqual([]);
});
