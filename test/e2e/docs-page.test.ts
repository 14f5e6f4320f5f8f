import { expect, test } from 'vitest';
import { createConsoleLab, SLOW_MS } from '../console/console-lab.ts';
import { createConsoleTools } from '../console/console-tools.ts';

const lab = createConsoleLab();

test('/docs keeps to its policy, and what tools say is text there', {
  timeout: SLOW_MS,
}, async () => {
  const { url } = await lab.start({}, createConsoleTools());
  const { page, complaints } = await lab.open(url, '', {}, '/docs');
  const operation = page.locator('#operations-tools-listTools');
  await operation.locator('button.opblock-summary-control').click();
  await operation.getByRole('button', { name: 'Try it out' }).click();
  await operation.getByRole('button', { name: 'Execute' }).click();
  const answer = operation.locator('.live-responses-table .response-col_description');
  await answer.getByText('<img src=x onerror=alert(1)>').first().waitFor();
  expect(await answer.locator('img, iframe, object, script').count()).toBe(0);
  expect(await page.locator('script:not([src^="/docs/static/"])').count()).toBe(0);
  expect(complaints).toEqual([]);
});
