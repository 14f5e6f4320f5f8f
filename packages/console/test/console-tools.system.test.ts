import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { keepScreenshot } from '@recourse/test-support/chromium.ts';
import { createConsoleLab, SLOW_MS, useKey } from '@recourse/test-support/console/console-lab.ts';
import { createConsoleTools } from '@recourse/test-support/console/console-tools.ts';
import { expectSound, readOverflow } from '@recourse/test-support/console/page-checks.ts';
import { createActor, fail } from '@recourse/test-support/keyed-client.ts';
import { defineTool } from 'recourse-server/internal/tools/define-tool.ts';
import { expect, test } from 'vitest';
import * as z from 'zod';

const lab = createConsoleLab();

const imported = (name: string) =>
  defineTool({
    ...{ name, description: 'Asks the CRM.', effects: 'read', source: 'crm', run: () => ({}) },
    input: z.object({ id: z.string() }),
  });

test('tools stand in groups by source, without what all their names share; a narrow screen shows the chosen one', {
  timeout: SLOW_MS,
}, async () => {
  const names = ['crm_get_customer', 'crm_list_all_orders_of_a_customer'];
  const { page, complaints } = await lab.show(names.map(imported), '#tools');
  const link = page.getByRole('link', { name: 'crm_list_all_orders_of_a_customer' });
  await link.waitFor();
  expect(await page.locator('.names h3').allInnerTexts()).toEqual(['Built in', 'crm crm_…']);
  await link.click();
  await page.getByRole('heading', { name: 'crm_list_all_orders_of_a_customer' }).waitFor();
  await page.setViewportSize({ width: 360, height: 800 });
  expect(await page.locator('#search').isVisible()).toBe(false);
  expect(await readOverflow(page)).toBe(0);
  await page.getByRole('link', { name: 'All tools' }).click();
  await page.locator('#search').waitFor();
  expect(complaints).toEqual([]);
});

test('a tool whose circuit is open says so, why, and how it failed in the last hour', {
  timeout: SLOW_MS,
}, async () => {
  const { tool } = createActor('broken', {}, () => {
    throw new Error('The disk is gone.\n  at line 2');
  });
  const service = await lab.start({ CIRCUIT_FAILURES: '1', CIRCUIT_OPEN_MS: '3600000' }, [tool]);
  await service.call([{ id: 'c', name: 'broken' }]);
  await service.call([{ id: 'c', name: 'broken' }]);
  const { page, complaints } = await lab.open(service.url, '#tool=broken');
  await page.getByText('The circuit is open:').waitFor();
  await page.getByText('no: its circuit is open').waitFor();
  expect(await page.locator('.trouble pre').innerText()).toContain('The disk is gone.\n  at line 2');
  await page.getByRole('heading', { name: 'What models get wrong' }).waitFor();
  await expectSound(page, 20);
  await keepScreenshot(page, 'open-circuit-light');
  const failures = page.locator('.counts').first();
  expect((await failures.innerText()).replace(/\s+/g, ' ')).toMatch(/1× tool_exception fails now, since \d+ s ago/);
  await failures.getByRole('link', { name: 'tool_exception' }).click();
  await page.waitForFunction("location.hash === '#calls=&tool=broken&code=tool_exception&since=1h'");
  await page.locator('.list li').waitFor();
  expect(complaints).toEqual([]);
});

test('a tool is followed after a trouble that passes, and each visit reads the tools anew', {
  timeout: SLOW_MS,
}, async () => {
  const { tool } = createActor('broken', {}, fail);
  const service = await lab.start({ CIRCUIT_FAILURES: '1', CIRCUIT_OPEN_MS: '3600000' }, [tool]);
  const { page } = await lab.open(service.url, '#tools');
  const link = page.getByRole('link', { name: 'broken' });
  await link.waitFor();
  await page.clock.install();
  await page.route('**/overview', (route) => route.abort());
  const failed = page.waitForEvent('requestfailed');
  await link.click();
  await failed;
  await page.unroute('**/overview');
  await service.call([{ id: 'c', name: 'broken' }]);
  await page.clock.runFor(10_000);
  await page.getByText('The circuit is open:').waitFor();
  await page.route('**/tools', (route) => route.fulfill({ status: 500, body: '' }));
  await page.evaluate("location.hash = '#tools'");
  await page.getByText('The service answered 500.').waitFor();
  // What was read before stays.
  await page.unroute('**/tools');
  await link.click();
  await page.getByText('The service answered 500.').waitFor({ state: 'detached' });
});

test('a write is checked before a person is asked, and the question shows what would be sent', {
  timeout: SLOW_MS,
}, async () => {
  const placed: string[] = [];
  const { page, complaints } = await lab.show(createConsoleTools(placed), '#tool=place_order');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.locator('.mark.checked').waitFor();
  await page.getByText('What the check says: nothing was run').waitFor();
  expect(await page.getByRole('dialog').count()).toBe(0);
  await page.getByLabel('title required').fill('Paper <b>');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByRole('dialog').waitFor();
  expect(JSON.parse(await page.getByRole('dialog').locator('pre').innerText())).toEqual({ title: 'Paper <b>' });
  expect(placed).toEqual([]);
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await page.locator('.mark.success').waitFor();
  expect(placed).toEqual(['Paper <b>']);
  expect(complaints).toEqual([]);
});

test('a copied call runs in a shell with the key of its reader, which is not copied', {
  timeout: SLOW_MS,
}, async () => {
  const { tool, asked } = createActor('take');
  const { url } = await lab.start({ API_KEYS: `acme=${hash('sha256', 'rk_secret')}` }, [tool]);
  const { page, complaints } = await lab.open(url, '#tool=take');
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await useKey(page, 'rk_secret');
  const sent = { text: '\'; exit 1; "$(id)" \u202e é\n' };
  await page.locator('#arguments').fill(JSON.stringify(sent));
  await page.getByRole('button', { name: 'Copy as curl' }).click();
  await page.getByRole('status').getByText('Copied.').waitFor();
  const command = z.string().parse(await page.evaluate('navigator.clipboard.readText()'));
  expect(command).not.toContain('rk_secret');
  const env = { PATH: process.env['PATH'], RECOURSE_API_KEY: 'rk_secret' };
  const { stdout } = await promisify(execFile)('sh', ['-c', command], { env });
  expect(JSON.parse(stdout)).toMatchObject({ results: [{ outcome: 'success' }] });
  expect(asked).toEqual([sent]);
  expect(complaints).toEqual([]);
});

test('where the browser lets no page copy, the text is shown to be copied by hand', { timeout: SLOW_MS }, async () => {
  const { tool } = createActor('fails', {}, fail);
  const { page, complaints } = await lab.show([tool], '#tool=fails');
  await page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })");
  await page.getByRole('button', { name: 'Copy as curl' }).click();
  const dialog = page.getByRole('dialog', { name: 'Copy by hand' });
  expect(await dialog.getByLabel('Text').inputValue()).toMatch(/^curl -sS 'http:/);
  await dialog.getByRole('button', { name: 'Done' }).click();
  await dialog.waitFor({ state: 'detached' });
  expect(complaints).toEqual([]);
});
