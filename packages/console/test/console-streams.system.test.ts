import { createConsoleLab, SLOW_MS } from '@recourse/test-support/console/console-lab.ts';
import { HOSTILE, HOSTILE_SHOWN } from '@recourse/test-support/console/console-tools.ts';
import { defineTool } from 'recourse-server/internal/tools/define-tool.ts';
import { expect, test } from 'vitest';
import * as z from 'zod';

const lab = createConsoleLab();

test('the console shows progress and parts while a call runs, and its result behind them', {
  timeout: SLOW_MS,
}, async () => {
  const { promise: told, resolve: tell } = Promise.withResolvers<void>();
  const report = defineTool({
    name: 'report',
    description: 'Reports what it finds.',
    effects: 'read',
    input: z.object({}),
    run: async function* (_input, { progress }) {
      progress({ progress: 1, total: 3, message: 'reading' });
      yield 'first line';
      yield { second: HOSTILE };
      await told;
      yield 'last line';
      return { lines: 3, big: 12_345_678_901_234_567_890n.toString() };
    },
  });
  const service = await lab.start({}, [report]);
  const { page, complaints } = await lab.open(service.url, '#tool=report');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.locator('.shown-progress').filter({ hasText: '1 of 3 · reading' }).waitFor();
  await page.locator('.shown-parts').filter({ hasText: 'first line' }).waitFor();
  const shown = await page.locator('.shown-parts').innerText();
  expect(shown).toContain(HOSTILE_SHOWN.slice(0, 40).replaceAll('"', '\\"'));
  expect(await page.getByRole('heading', { name: 'Result' }).count()).toBe(0);
  tell();
  await page.getByRole('heading', { name: 'Result' }).waitFor();
  await page.locator('.shown-parts').filter({ hasText: 'last line' }).waitFor();
  await page.getByRole('button', { name: 'Raw answer' }).click();
  const raw: unknown = JSON.parse(await page.locator('.result .unfolded pre').innerText());
  expect(raw).toMatchObject({ session_id: null, status: 'done', results: [{ index: 0, value: { lines: 3 } }] });
  expect(complaints).toEqual([]);
});

test('the console shows what a call that outlives its request shows', { timeout: SLOW_MS }, async () => {
  const { promise: told, resolve: tell } = Promise.withResolvers<void>();
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const build = defineTool({
    ...{ name: 'build', description: 'Builds.', effects: 'read', background: 'always' },
    input: z.object({}),
    run: async function* () {
      await told;
      yield 'compiling main.c';
      yield 'linking';
      await ended;
      return 'built';
    },
  });
  const service = await lab.start({}, [build]);
  const { page, complaints } = await lab.open(service.url, '#tool=build');
  const watched = page.waitForRequest((request) => request.url().endsWith('/events'));
  await page.getByRole('button', { name: 'Send' }).click();
  await page.locator('.pending').getByText('running').waitFor();
  await (await watched).response();
  tell();
  await page.locator('.shown-parts').filter({ hasText: 'compiling main.c' }).filter({ hasText: 'linking' }).waitFor();
  await page.locator('.pending').getByText('running').waitFor();
  end();
  await page.locator('.mark.success').waitFor();
  expect(await page.locator('.shown-parts').innerText()).toContain('linking');
  expect(complaints).toEqual([]);
});

test('a stream that breaks is no answer', { timeout: SLOW_MS }, async () => {
  const hang = defineTool({
    name: 'hang',
    description: 'Never ends.',
    effects: 'read',
    input: z.object({}),
    run: (_input, { part, signal }) => {
      part('begun');
      return new Promise((resolve) => signal.addEventListener('abort', resolve));
    },
  });
  const service = await lab.start({}, [hang]);
  const { page } = await lab.open(service.url, '#tool=hang');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.locator('.shown-parts').filter({ hasText: 'begun' }).waitFor();
  await service.stop();
  await page.getByText('The service cannot be reached.').first().waitFor();
});
