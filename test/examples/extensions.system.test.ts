import { hash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createConsoleLab, SLOW_MS } from '@recourse/test-support/console/console-lab.ts';
import { ROOT, startProcess } from '@recourse/test-support/start-process.ts';
import { callService } from '@recourse/test-support/start-service.ts';
import { expect, onTestFinished, test } from 'vitest';

const CLOCK = 'examples/extensions/clock.ts';
const KEY = 'rk_clock_test_key';
const WITH_KEY = { API_KEYS: `acme=${hash('sha256', KEY)}` };

const lab = createConsoleLab();

const startClock = (environment: Readonly<Record<string, string>> = {}) =>
  startProcess({ by: 'node', environment: { EXTENSIONS: `./${CLOCK}`, CLOCK_ZONE: 'Asia/Tokyo', ...environment } });

test('the example has at most 60 lines, and one more than it names is not needed', () => {
  expect(readFileSync(join(ROOT, CLOCK), 'utf8').trim().split('\n').length).toBeLessThanOrEqual(60);
});

test('the clock adds a tool, a route, a link, a metric, and stops with the service', { timeout: SLOW_MS }, async () => {
  const service = await startClock();
  const [told] = await callService(service.url, [{ name: 'tell_time', arguments: {} }]);
  expect(told).toMatchObject({ success: true, value: { zone: 'Asia/Tokyo', time: expect.stringContaining('GMT+9') } });
  const [elsewhere] = await callService(service.url, [{ name: 'tell_time', arguments: { zone: 'Mars/Phobos' } }]);
  expect(elsewhere).toMatchObject({ success: false, error: { code: 'invalid_arguments' } });
  const described = await (await fetch(`${service.url}/tools/tell_time`)).json();
  expect(described).toMatchObject({ source: 'extension:clock' });
  expect(await (await fetch(`${service.url}/clock`)).json()).toMatchObject({ tenant: 'anonymous' });
  expect(await (await fetch(service.url)).json()).toMatchObject({ links: { clock: '/clock' } });
  expect(await (await fetch(`${service.url}/metrics`)).text()).toContain('\nclock_asked_total 2\n');
  service.send('SIGTERM', 'service');
  expect(await service.logged('the clock has stopped')).toMatchObject({ zone: 'Asia/Tokyo' });
  expect(await service.exited).toEqual({ code: 0, signal: null });
});

test('its route asks for a key, and its page in the console sends that of the reader', {
  timeout: SLOW_MS,
}, async () => {
  const { url } = await startClock(WITH_KEY);
  expect((await fetch(`${url}/clock`)).status).toBe(401);
  const { page, complaints } = await lab.open(url, '#tool=tell_time');
  await page.getByLabel('API key').fill(KEY);
  await page.getByRole('button', { name: 'Use key' }).click();
  await page.getByRole('link', { name: 'Clock' }).click();
  await page.getByRole('heading', { name: 'Clock' }).waitFor();
  await page.getByText(/GMT\+9/).waitFor();
  // What the former key was shown is not for the next reader.
  await page.getByRole('button', { name: 'Forget key' }).click();
  await page.getByText(/This page failed/).waitFor();
  expect(await page.getByText(/GMT\+9/).count()).toBe(0);
  // The page of the extension ends where another begins.
  await page.getByRole('link', { name: 'Sessions' }).click();
  await page.waitForURL(/#sessions/);
  await page.getByText(/This page failed/).waitFor({ state: 'detached' });
  expect(await page.getByText(/GMT\+9/).count()).toBe(0);
  expect(complaints).toEqual([]);
});

test('a page that fails says so, and the console goes on', { timeout: SLOW_MS }, async () => {
  const directory = mkdtempSync(join(tmpdir(), 'recourse-extension-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const file = join(directory, 'broken.ts');
  writeFileSync(
    file,
    `import { defineExtension } from 'recourse-server/extension';
    const script = "export const show = () => { throw new Error('no clock here'); };";
    export const extension = defineExtension({
      name: 'broken',
      settings: {},
      open: async () => ({ consolePage: { title: 'Broken', script } }),
    });`,
  );
  const { url } = await startProcess({ by: 'node', environment: { EXTENSIONS: file } });
  const { page } = await lab.open(url, '#page=broken');
  await page.getByText('This page failed: no clock here').waitFor();
  await page.getByRole('link', { name: 'Tools' }).click();
  await page.getByText('read_file').first().waitFor();
});
