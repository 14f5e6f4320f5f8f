import { askAs, toKeyEntry } from '@recourse/test-support/access-client.ts';
import { keepScreenshot } from '@recourse/test-support/chromium.ts';
import { startAskedPayments } from '@recourse/test-support/console/asked-payments.ts';
import { createConsoleLab, SLOW_MS, useKey } from '@recourse/test-support/console/console-lab.ts';
import { HOSTILE } from '@recourse/test-support/console/console-tools.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';

const lab = createConsoleLab();

const AGENT = 'agent-key-0123456789abcdef';
const OPERATOR = 'operator-key-0123456789abcdef';
const KEYS = {
  API_KEYS: [toKeyEntry('acme', AGENT, 'name=agent'), toKeyEntry('acme', OPERATOR, 'name=ops may=read|approve')].join(
    ',',
  ),
};

const press = (page: Page, name: string) => page.getByRole('button', { name }).click();

const createFocused = (page: Page) => (selector: string) =>
  expect.poll(() => page.locator(`${selector}:focus`).count(), { timeout: timeLimit(30_000) }).toBe(1);

const whenReadAgain = (page: Page) =>
  page.waitForResponse((response) => response.url().endsWith('/approvals') && response.status() === 200);

test('a call is chosen and approved by keyboard alone, and no single key decides; it then runs once', {
  timeout: SLOW_MS,
}, async () => {
  const { service, pay, paid } = await startAskedPayments(lab, {}, KEYS);
  const { page, complaints } = await lab.open(service.url, '#approvals=');
  await useKey(page, OPERATOR);
  await page.getByText('No call waits for an approval.').waitFor();
  const { error } = (await pay({ amount: 5, to: 'ann' }, { apiKey: AGENT })) ?? {};
  await pay({ amount: 7, to: 'bob' }, { apiKey: AGENT });
  const entries = page.locator('.names a');
  await entries.nth(1).waitFor();
  expect((await entries.first().innerText()).replace(/\s+/g, ' ')).toMatch(/^pay (29:\d\d|30:00) Pay 5 to ann$/);
  const focused = createFocused(page);
  await page.keyboard.press('j');
  await focused(`.names a[href$="${error?.approval?.id}"]`);
  await page.keyboard.press('ArrowDown');
  await page.getByText('"bob"').waitFor();
  await page.keyboard.press('k');
  await page.getByText('"ann"').waitFor();
  expect(page.url()).toBe(`${service.url}/console#approvals=${error?.approval?.id}`);
  const card = page.locator('article');
  const shown = (await card.innerText()).replace(/\s+/g, ' ');
  expect(shown).toMatch(
    /^pay … waits Pay 5 to ann Called by agent Effects write Waits since \d\d:\d\d:\d\d Time left (29:\d\d|30:00), until \d\d:\d\d:\d\d Who decides a key with the right approve Session [0-9a-f]{64} Digest/,
  );
  expect(shown).toContain(`Digest ${error?.approval?.digest}`);
  expect(await card.locator('pre').innerText()).toBe('{\n  "amount": 5,\n  "to": "ann"\n}');
  // One key alone asks a question, which Escape leaves.
  await page.keyboard.press('a');
  const dialog = page.getByRole('dialog', { name: 'Approve this call of pay?' });
  await dialog.waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await focused('.names a[aria-current]');
  await page.keyboard.press('a');
  await focused('dialog button.primary');
  await page.keyboard.press('Enter');
  await card.getByText('approved by ops: it may run once').waitFor();
  await focused('.names a[aria-current]');
  await page.getByRole('status').filter({ hasText: 'pay: approved by ops' }).waitFor();
  expect(await card.getByRole('button').count()).toBe(0);
  expect(paid).toEqual([]);
  expect(await pay({ amount: 5, to: 'ann' }, { apiKey: AGENT })).toMatchObject({ success: true, value: { paid: 5 } });
  await card.getByText('approved by ops, and was run').waitFor();
  // Both keep their places.
  expect(await entries.count()).toBe(2);
  await page.keyboard.press('Escape');
  await focused('#approvals-title');
  await page.getByText('Choose a call').waitFor();
  expect(paid).toEqual([{ amount: 5, to: 'ann' }]);
  expect(complaints).toEqual([]);
});

test('an edit shows its difference while it is typed, and mistakes beside what was typed; what runs is what was typed', {
  timeout: SLOW_MS,
}, async () => {
  const { service, pay, paid } = await startAskedPayments(lab);
  const { error } = (await pay({ amount: 500, to: 'ann', note: 'x' })) ?? {};
  const { page, complaints } = await lab.open(service.url, `/approvals/${error?.approval?.id}`);
  await page.locator('article').waitFor();
  await page.keyboard.press('e');
  const dialog = page.getByRole('dialog', { name: 'Approve other arguments for pay?' });
  const field = dialog.getByLabel('Arguments as JSON');
  await dialog.getByText('Nothing is changed.').waitFor();
  expect(await field.inputValue()).toBe('{\n  "amount": 500,\n  "to": "ann",\n  "note": "x"\n}');
  const approve = dialog.getByRole('button', { name: 'Approve the edit' });
  await field.fill('{"amount": 5');
  await approve.click();
  await dialog.getByRole('alert').filter({ hasText: 'The arguments are not JSON' }).waitFor();
  await field.fill('{"amount": "much", "to": "ann", "note": "x"}');
  await approve.click();
  await dialog.getByRole('alert').filter({ hasText: 'amount' }).waitFor();
  expect(await field.inputValue()).toBe('{"amount": "much", "to": "ann", "note": "x"}');
  await createFocused(page)('#question-arguments');
  await field.fill('{"amount": 50, "to": "ann", "note": "x"}');
  // A page that is read again takes nothing away of what is being typed.
  await whenReadAgain(page);
  await whenReadAgain(page);
  expect(await dialog.locator('pre').innerText()).toBe(
    '  {\n-   "amount": 500,\n+   "amount": 50,\n    "to": "ann",\n    "note": "x"\n',
  );
  await keepScreenshot(page, 'approval-edit-light');
  await approve.click();
  const card = page.locator('article');
  await card.getByText('approved with other arguments by somebody without a key: it may run once').waitFor();
  expect(await card.locator('del').innerText()).toContain('500');
  expect(await pay({ amount: 500, to: 'ann', note: 'x' })).toMatchObject({ success: true, value: { paid: 50 } });
  expect(paid).toEqual([{ amount: 50, to: 'ann', note: 'x' }]);
  expect(complaints).toEqual([]);
});

test('a call is denied with a reason that the model reads, and who comes too late reads who was faster', {
  timeout: SLOW_MS,
}, async () => {
  const { service, pay, paid } = await startAskedPayments(lab, { edit: false }, KEYS);
  const { id = '', digest = '' } = (await pay({ amount: 5 }, { apiKey: AGENT }))?.error?.approval ?? {};
  const { page, complaints } = await lab.open(service.url, `#approvals=${id}`);
  await useKey(page, OPERATOR);
  await page.locator('article').waitFor();
  // Its rule allows no edit.
  expect(await page.getByRole('button', { name: 'Edit' }).count()).toBe(0);
  await page.keyboard.press('e');
  await page.keyboard.press('d');
  const dialog = page.getByRole('dialog', { name: 'Deny this call of pay?' });
  await createFocused(page)('#question-reason');
  await page.keyboard.type('ask the owner <b>first</b>');
  await page.keyboard.press('Enter');
  await dialog.waitFor({ state: 'detached' });
  const card = page.locator('article');
  await card.getByText('denied by ops').waitFor();
  expect(await card.innerText()).toContain('Reason: ask the owner <b>first</b>');
  const denied = await pay({ amount: 5 }, { apiKey: AGENT });
  expect(denied?.error?.code).toBe('approval_denied');
  expect(denied?.message).toContain('ask the owner <b>first</b>.');

  const other = (await pay({ amount: 6 }, { apiKey: AGENT }))?.error?.approval;
  await page.locator('.names a').filter({ hasText: 'Pay 6' }).click();
  await press(page, 'Pause');
  await press(page, 'Approve: pay');
  const headers = { 'if-match': `"${other?.digest}"` };
  const body = { decision: 'deny' };
  const decided = await askAs(service, OPERATOR, `/approvals/${other?.id}`, { method: 'POST', body, headers });
  expect(decided.status).toBe(200);
  await page.getByRole('dialog').getByRole('button', { name: 'Approve' }).click();
  await card.getByText('It cannot be decided any more.').waitFor();
  await card.getByText("'ops' has decided deny at").waitFor();
  await card.getByText('denied by ops').waitFor();
  expect(digest).not.toBe(other?.digest);
  expect(paid).toEqual([]);
  expect(complaints).toEqual([]);
});

test('a key without the right to approve reads which right is missing, and what it reads stays', {
  timeout: SLOW_MS,
}, async () => {
  const { service, pay, paid } = await startAskedPayments(lab, {}, KEYS);
  const { id = '' } = (await pay({ amount: 5 }, { apiKey: AGENT }))?.error?.approval ?? {};
  const { page, complaints } = await lab.open(service.url, '#tools');
  await useKey(page, AGENT);
  await page.getByRole('link', { name: 'Approvals (1)' }).click();
  await page.locator('.names a[href^="#approvals"]').click();
  await press(page, 'Approve: pay');
  await page.getByRole('dialog').getByRole('button', { name: 'Approve' }).click();
  const card = page.locator('article');
  await card.getByText('This API key does not permit that.').waitFor();
  await card.getByText('it needs the operation approve, which is never implied').waitFor();
  await createFocused(page)('article button[aria-label^="Approve"]');
  expect(await card.innerText()).toContain('… waits');
  expect((await askAs(service, OPERATOR, `/approvals/${id}`)).text).toContain('"state":"waiting"');
  expect(paid).toEqual([]);
  expect(complaints).toEqual([]);
});

test('a link only shows: the address of an approval leads to its page, and opening it changes nothing', {
  timeout: SLOW_MS,
}, async () => {
  const { service, pay } = await startAskedPayments(lab);
  const { id = '' } = (await pay({ amount: 5 }))?.error?.approval ?? {};
  const requests: string[] = [];
  const { page, complaints } = await lab.open(service.url, '#approvals=');
  page.on('request', (request) => requests.push(request.method()));
  await page.goto(`${service.url}/console/approvals/${id}`);
  await page.locator('article').getByText('Pay 5').waitFor();
  expect(page.url()).toBe(`${service.url}/console#approvals=${id}`);
  await whenReadAgain(page);
  expect(new Set(requests)).toEqual(new Set(['GET']));
  // A call that was made here leads there, too.
  await page.goto(`${service.url}/console#tool=pay`);
  await press(page, 'Send');
  await page.getByRole('dialog').getByRole('button', { name: 'Run' }).click();
  await page.getByRole('link', { name: 'Approval', exact: true }).click();
  await createFocused(page)('h3#approval-title');
  await page.goto(`${service.url}/console/approvals/a_${'x'.repeat(22)}`);
  await page.getByText('There is no such approval, or it is no longer kept.').waitFor();
  // The browser writes an answer of 404 to its console.
  expect(complaints.filter((complaint) => !complaint.includes('404'))).toEqual([]);
});

test('names, summaries, arguments and reasons that are hostile are shown as text', { timeout: SLOW_MS }, async () => {
  const { service, pay } = await startAskedPayments(lab, { summary: '{/to} {/long}' });
  const { id = '' } =
    (await pay({ to: HOSTILE, [HOSTILE]: [HOSTILE], long: 'y'.repeat(100_000) }))?.error?.approval ?? {};
  const { page, complaints } = await lab.open(service.url, `#approvals=${id}`);
  const card = page.locator('article');
  await card.waitFor();
  const shown = '<img src=x onerror=alert(1)><script>alert(2)</script>';
  const text = await card.locator('pre').innerText();
  expect(text).toContain(shown);
  expect(text).toContain('\\u{202e}gnp.exe');
  expect(text.length).toBeLessThan(5_000);
  await press(page, 'Show all');
  expect((await card.locator('pre').innerText()).length).toBeGreaterThan(100_000);
  await press(page, 'Edit');
  await page.getByRole('dialog').getByText('Nothing is changed.').waitFor();
  await page.keyboard.press('Escape');
  await press(page, 'Deny');
  await page.getByLabel('Reason').fill(HOSTILE.replaceAll('\n', ' ').slice(0, 500));
  await page.keyboard.press('Enter');
  await card.getByText('denied by').waitFor();
  expect(await card.innerText()).toContain(`Reason: `);
  expect(await page.locator('img, iframe, object, b:not(.names b), script:not([src^="console/"])').count()).toBe(0);
  expect(await page.locator('a:not([href^="#"], [href="docs"])').count()).toBe(0);
  expect(complaints).toEqual([]);
});
