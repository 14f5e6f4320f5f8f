import { readFileSync } from 'node:fs';
import { DEADLINE } from '@recourse/test-support/config-lab.ts';
import { createConsoleLab, SLOW_MS } from '@recourse/test-support/console/console-lab.ts';
import { ROOT } from '@recourse/test-support/start-process.ts';
import { expect, test } from 'vitest';

const lab = createConsoleLab();

const readAddresses = (): readonly string[] => {
  const alerts = readFileSync(`${ROOT}/deploy/alerts.yml`, 'utf8');
  const fragments = [...alerts.matchAll(/console_url: '.*\{\{ end \}\}(#.*)'/g)].map(([, fragment = '']) => fragment);
  return [...new Set(fragments.map((fragment) => fragment.replace('{{ $labels.tool }}', 'echo')))];
};

test('every address that an alert leads to is a page of its own, without a complaint of the browser', {
  timeout: 3 * SLOW_MS,
}, async () => {
  const service = await lab.start();
  const addresses = readAddresses();
  expect(addresses.length).toBeGreaterThan(12);
  const { page, complaints } = await lab.open(service.url, '#overview=');
  for (const address of addresses) {
    await page.goto(`${service.url}/console${address}`);
    // Where there is no such page, the overview is shown.
    const isOverview = async () => (await page.locator('main h2').first().textContent()) === 'Overview';
    await expect.poll(isOverview, { message: address, ...DEADLINE }).toBe(address.startsWith('#overview='));
    expect(await page.getByText('could not be loaded').count(), address).toBe(0);
    expect(await page.getByRole('alert').count(), address).toBe(0);
  }
  expect(complaints).toEqual([]);
});

test('the report of tools shows arguments by path and rule, and a hostile name as text', {
  timeout: SLOW_MS,
}, async () => {
  const service = await lab.start();
  const name = '<img src=x onerror=alert(1)>';
  await service.call([
    { name: 'echo', arguments: { text: 5 } },
    { name: 'ecko', arguments: {} },
    { name, arguments: {} },
  ]);
  const { page, complaints } = await lab.open(service.url, '#reports=');
  await page.getByText('a string', { exact: true }).waitFor();
  await page.getByText('ecko').waitFor();
  await page.getByText(name).waitFor();
  expect(await page.locator('img').count()).toBe(0);
  expect(complaints).toEqual([]);
});
