import { createHash } from 'node:crypto';
import { createConsoleLab, SLOW_MS } from '@recourse/test-support/console/console-lab.ts';
import { createConsoleTools } from '@recourse/test-support/console/console-tools.ts';
import { expect, test } from 'vitest';

const lab = createConsoleLab();
const KEY = 'key-of-the-page';
const API_KEYS = `acme=${createHash('sha256').update(KEY).digest('hex')}`;

test('/docs keeps to its policy, sends the key it is given, and what tools say is text there', {
  timeout: SLOW_MS,
}, async () => {
  const { url } = await lab.start({ API_KEYS }, createConsoleTools());
  const { page, complaints } = await lab.open(url, '', {}, '/docs');
  expect(await page.title()).toBe('Recourse API');
  const operation = page.locator('#operations-tools-listTools');
  await operation.locator('button.opblock-summary-control').click();
  await operation.getByRole('button', { name: 'Try it out' }).click();
  // An example is no default.
  expect(await operation.locator('.parameters select').first().inputValue()).toBe('');

  const authorize = page.locator('.scheme-container').getByRole('button', { name: 'Authorize' });
  const execute = operation.getByRole('button', { name: 'Execute' });
  const answer = operation.locator('.live-responses-table .response-col_description');
  await operation.getByPlaceholder('names').fill('hostile');
  await execute.click();
  await answer.getByText('Send a valid key').first().waitFor();
  for (const [scheme, field, header] of [
    ['apiKey', '#api_key_value', `X-API-Key: ${KEY}`],
    ['bearer', '#auth-bearer-value', `Authorization: Bearer ${KEY}`],
  ] as const) {
    await authorize.click();
    const form = page.locator('.auth-container', { hasText: scheme });
    await form.locator(field).fill(KEY);
    await form.getByRole('button', { name: 'Apply credentials' }).click();
    await form.getByRole('button', { name: 'Close' }).click();
    await execute.click();
    await operation.locator('.curl-command').getByText(header).waitFor();
    await answer.getByText('<img src=x onerror=alert(1)>').first().waitFor();
    expect(await answer.locator('img, iframe, object, script').count()).toBe(0);
    expect(await page.evaluate('[localStorage.length, sessionStorage.length, document.cookie].join()')).toBe('0,0,');
    await authorize.click();
    await form.getByRole('button', { name: 'Remove authorization' }).click();
    await form.getByRole('button', { name: 'Close' }).click();
  }
  expect(await page.locator('script:not([src^="/docs/static/"])').count()).toBe(0);
  expect(await page.locator('body').textContent()).not.toContain('Swagger');
  expect(complaints).toEqual([]);
});
