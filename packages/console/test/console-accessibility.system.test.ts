import { keepScreenshot } from '@recourse/test-support/chromium.ts';
import { startAskedPayments } from '@recourse/test-support/console/asked-payments.ts';
import { createConsoleLab, SLOW_MS, send } from '@recourse/test-support/console/console-lab.ts';
import { createConsoleTools } from '@recourse/test-support/console/console-tools.ts';
import { createLostPayments, QUIET, toPayment } from '@recourse/test-support/console/lost-payments.ts';
import { expectSound } from '@recourse/test-support/console/page-checks.ts';
import { createKeyedClient, freshName } from '@recourse/test-support/keyed-client.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';

const lab = createConsoleLab();

const OUTCOMES = [
  { id: '1', name: 'find_order', arguments: { number: 'x' } },
  { id: '2', name: 'missing' },
  { id: '3', name: 'read_order', arguments: { title: 'a', copies: 1, address: { street: 's' } } },
];

test.each([
  ['light', 1280],
  ['dark', 1280],
  ['light', 360],
  ['dark', 360],
] as const)(
  'in %s and %d pixels wide every text is legible, every control named and nothing overflows',
  { timeout: SLOW_MS },
  async (colorScheme, width) => {
    const bank = createLostPayments();
    const service = await lab.start(QUIET, [...createConsoleTools(), bank.tool]);
    for (const amount of [1, 'y'.repeat(900)])
      await createKeyedClient(service.url).post(toPayment(amount), { key: freshName() });
    for (let round = 0; round < 4; round += 1) await service.call(OUTCOMES, { session_id: 's' });
    const { page, complaints } = await lab.open(service.url, '#tool=read_order', {
      colorScheme,
      viewport: { width, height: 800 },
      reducedMotion: 'reduce',
    });
    const name = `${width === 360 ? 'narrow-' : ''}${colorScheme}`;
    await page.getByRole('button', { name: 'Add to tags' }).click();
    await page.getByRole('button', { name: 'Add to lines' }).click();
    await expectSound(page, 60);
    await keepScreenshot(page, `form-${name}`);
    // A narrow screen shows the chosen tool alone.
    await page.evaluate("location.hash = '#tool=hostile'");
    await page.getByLabel('mode required').selectOption('fail');
    await send(page);
    await expectSound(page, 60);
    await keepScreenshot(page, `failed-call-${name}`);
    await page.goto(`${service.url}/console#session=s`);
    await page.locator('.timeline li').nth(11).waitFor();
    await page.locator('.timeline .fold').first().click();
    await page.getByRole('button', { name: 'timeline' }).click();
    await expectSound(page, 60);
    await keepScreenshot(page, `session-${name}`);
    await page.getByRole('button', { name: 'End session' }).click();
    await expectSound(page, 60);
    await keepScreenshot(page, `question-${name}`);
    await page.goto(`${service.url}/console#unknown=`);
    await page.getByRole('button', { name: 'Arguments' }).nth(1).click();
    bank.isUnclear = false;
    await page.getByRole('button', { name: 'Look now' }).first().click();
    await page.getByText('it happened, found out by its tool').first().waitFor();
    await expectSound(page, 20);
    await keepScreenshot(page, `unknown-${name}`);
    await page.getByRole('button', { name: 'It happened' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'It happened' }).click();
    await page.getByRole('alert').waitFor();
    await expectSound(page, 20);
    await keepScreenshot(page, `verdict-${name}`);
    expect(complaints).toEqual([]);
  },
);

test.each([
  ['light', 1280],
  ['dark', 360],
] as const)('so it is of approvals, in %s and %d pixels wide', { timeout: SLOW_MS }, async (colorScheme, width) => {
  const { service, pay } = await startAskedPayments(lab);
  await pay({ amount: 1200, to: 'ann', lines: [{ item: 'paper', count: 3 }] });
  await pay({ amount: 7, to: 'y'.repeat(900) });
  const { page, complaints } = await lab.open(service.url, '#approvals=', {
    colorScheme,
    viewport: { width, height: 800 },
    reducedMotion: 'reduce',
  });
  const name = `${width === 360 ? 'narrow-' : ''}${colorScheme}`;
  await page.locator('.names a').nth(1).waitFor();
  await expectSound(page, 10);
  await keepScreenshot(page, `approvals-${name}`);
  for (const key of ['j', 'j', 'k']) await page.keyboard.press(key);
  await page.locator('article').waitFor();
  await expectSound(page, 20);
  await keepScreenshot(page, `approval-${name}`);
  for (const key of ['a', 'd', 'e']) {
    await page.keyboard.press(key);
    await page.getByRole('dialog').waitFor();
    if (key === 'e') await page.getByLabel('Arguments as JSON').fill('{"amount":12,"to":"ann"}');
    await expectSound(page, 20);
    await keepScreenshot(page, `approval-${key}-${name}`);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  }
  await page.keyboard.press('e');
  await page.getByLabel('Arguments as JSON').fill('{"amount":12,"to":"ann"}');
  await page.getByRole('dialog').getByRole('button', { name: 'Approve the edit' }).click();
  await page.getByText('approved with other arguments').first().waitFor();
  await expectSound(page, 20);
  await keepScreenshot(page, `approval-decided-${name}`);
  expect(complaints).toEqual([]);
});

test('a call is made and its session watched by keyboard alone, with the focus always in sight', {
  timeout: SLOW_MS,
}, async () => {
  const { page, complaints } = await lab.show(createConsoleTools(), '#tools');
  await page.getByText('10 tools').waitFor();
  // What has the focus may be drawn anew in between: then there is nothing to say of it.
  const focused = async (): Promise<string> =>
    (
      await page
        .locator(':focus')
        .ariaSnapshot({ timeout: timeLimit(2_000) })
        .catch(() => '')
    ).split('\n')[0] ?? '';
  const tabTo = async (what: string): Promise<void> => {
    // Past its last link a page hands the focus to the browser; the next Tab begins again at the top.
    for (let step = 0; step < 60; step += 1) {
      await page.keyboard.press('Tab');
      expect(await page.locator(':focus:not(:focus-visible)').count()).toBe(0);
      if ((await focused()).startsWith(`- ${what}`)) return;
    }
    throw new Error(`No way leads to ${what} by the Tab key.`);
  };
  await tabTo('searchbox "Search"');
  await page.keyboard.type('place');
  await tabTo('link "place_order');
  await page.keyboard.press('Enter');
  await expect.poll(focused, { timeout: timeLimit(30_000) }).toBe('- heading "place_order" [level=2]');
  await tabTo('textbox "title required"');
  await page.keyboard.type('Paper');
  await tabTo('button "▸ Options"');
  await page.keyboard.press('Space');
  await tabTo('textbox "Session id"');
  await page.keyboard.type('s_1');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor();
  expect(await focused()).toBe('- button "Cancel"');
  await page.keyboard.press('Escape');
  await expect.poll(focused, { timeout: timeLimit(30_000) }).toContain('- textbox "Session id"');
  await page.keyboard.press('Control+Enter');
  await page.getByRole('dialog').waitFor();
  await tabTo('button "Run"');
  await page.keyboard.press('Enter');
  await page.getByRole('status').filter({ hasText: 'Result: success.' }).waitFor();
  await tabTo('link "Session s_1"');
  await page.keyboard.press('Enter');
  await expect.poll(focused, { timeout: timeLimit(30_000) }).toBe('- heading "Session s_1" [level=2]');
  await tabTo('button "Pause"');
  await page.keyboard.press('Space');
  await page.getByText('Paused.').waitFor();
  expect(complaints).toEqual([]);
});
