import { keepScreenshot } from '@recourse/test-support/chromium.ts';
import { createConsoleLab, SLOW_MS } from '@recourse/test-support/console/console-lab.ts';
import { createConsoleTools } from '@recourse/test-support/console/console-tools.ts';
import { test, expect } from 'vitest';

const lab = createConsoleLab();
const FAILING = { id: 'c', name: 'find_order', arguments: { number: 'x' } };

test('look', { timeout: SLOW_MS }, async () => {
  const service = await lab.start({TRACE_URL: 'https://t.example.com/trace/{trace_id}'}, createConsoleTools());
  for (let i = 0; i < 3; i += 1)
    await service.call([{ id: 'ok', name: 'read_order', arguments: { title: 'a', copies: 1, address: { street: 's' } } }, {...FAILING, id: 'd'+i, arguments: {number: String(i)}}, { id: 'ok2', name: 'read_order', arguments: {} }], { session_id: 's' });
  for (let i = 0; i < 30; i += 1)
    await service.call([{...FAILING, arguments: {number: String(i % 7)}}], { session_id: 's' });
  for (let i = 0; i < 12; i += 1)
    await service.call([{ id: 'ok', name: 'wait' }, { id: 'm', name: 'missing_' + i }], { session_id: 's' });
  const { page, complaints } = await lab.open(service.url, '#session=s');
  await page.locator('.timeline li').nth(3).waitFor();
  await page.locator('.timeline .fold').nth(3).click();
  await keepScreenshot(page, 'f-session');
  await page.setViewportSize({ width: 360, height: 700 });
  await keepScreenshot(page, 'f-session-narrow');
  await page.goto(`${service.url}/console#reports`);
  await page.locator('article').first().waitFor();
  await keepScreenshot(page, 'f-reports-narrow');
  await page.setViewportSize({ width: 1280, height: 900 });
  await keepScreenshot(page, 'f-reports');
  await page.goto(`${service.url}/console#tool=find_order`);
  await page.getByRole('button', { name: 'Example call' }).click();
  await page.getByText('What models get wrong').first().waitFor();
  await keepScreenshot(page, 'f-tool');
  await page.setViewportSize({ width: 360, height: 700 });
  await keepScreenshot(page, 'f-tool-narrow');
  await page.goto(`${service.url}/console#tool=place_order`);
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByRole('heading', { name: 'Result' }).waitFor();
  await keepScreenshot(page, 'f-checked-narrow');
  await page.getByLabel('title required').fill('Paper');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByRole('dialog').waitFor();
  await keepScreenshot(page, 'f-question-narrow');
  expect(complaints).toEqual([]);
});
