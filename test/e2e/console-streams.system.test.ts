import { expect, test } from 'vitest';
import * as z from 'zod';
import { defineTool } from '#src/tools/define-tool.ts';
import { createConsoleLab, SLOW_MS } from '#test/console/console-lab.ts';
import { HOSTILE, HOSTILE_SHOWN } from '#test/console/console-tools.ts';

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
