import { once } from 'node:events';
import { keepScreenshot } from '@recourse/test-support/chromium.ts';
import { createConsoleLab, SLOW_MS, send, setOption } from '@recourse/test-support/console/console-lab.ts';
import { createConsoleTools } from '@recourse/test-support/console/console-tools.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { defineTool } from 'recourse-server/internal/tools/define-tool.ts';
import { expect, test } from 'vitest';
import * as z from 'zod';

const lab = createConsoleLab();

test('the catalogue is searched, and a tool shows its schema, effects and limits', { timeout: SLOW_MS }, async () => {
  const { page, complaints } = await lab.show(createConsoleTools(), '#tools');
  await page.getByText('10 tools').waitFor();
  await page.getByLabel('Search').fill('order taken');
  await page.getByText('1 of 10 tools').waitFor();
  await page.getByRole('link', { name: 'place_order' }).click();
  await page.getByRole('heading', { name: 'place_order' }).waitFor();
  const facts = await page.locator('.facts').innerText();
  expect(facts.replace(/\s+/g, ' ')).toContain(
    'Effects write (check before repeating) Available yes Timeout 30.00 s Retries 1',
  );
  await page.getByRole('button', { name: 'Input schema' }).click();
  expect(await page.locator('.unfolded pre').first().innerText()).toContain('"required": [\n    "title"\n  ]');
  expect(complaints).toEqual([]);
});

test('a form made from the schema sends what was filled in, and the JSON beside it follows', {
  timeout: SLOW_MS,
}, async () => {
  const { page, complaints } = await lab.show(createConsoleTools(), '#tool=read_order');
  const field = (name: string) => page.getByLabel(name, { exact: true });
  await field('title required').fill('Paper\nwhite');
  await field('copies required').fill('3');
  await field('price').fill('1.50');
  await field('urgent').selectOption('true');
  await field('size').selectOption('large');
  await page.getByRole('button', { name: 'Add to tags' }).click();
  await field('tags 1 required').fill('a');
  await page.getByRole('button', { name: 'Add to tags' }).click();
  await field('tags 2 required').fill('b');
  await page.getByRole('button', { name: 'Remove tags 1' }).click();
  await field('street required').fill('Main');
  await page.getByRole('button', { name: 'Add to lines' }).click();
  await field('item required').fill('pen');
  await field('count required').fill('2');
  await field('extra').fill('{"k": [1, null]}');
  await field('reference').fill('not JSON');
  await send(page);
  const sent = {
    title: 'Paper\nwhite',
    copies: 3,
    price: 1.5,
    urgent: true,
    size: 'large',
    tags: ['b'],
    address: { street: 'Main' },
    lines: [{ item: 'pen', count: 2 }],
    extra: { k: [1, null] },
    reference: 'not JSON',
  };
  expect(JSON.parse(await field('Arguments as JSON').inputValue())).toEqual(sent);
  await page.locator('.mark.success').waitFor();
  expect(JSON.parse(await page.locator('.reading dd pre').last().innerText())).toEqual(sent);
  await keepScreenshot(page, 'try-light');
  expect(complaints).toEqual([]);
});

test('the JSON is sent as it stands, and the form rests while it is none', { timeout: SLOW_MS }, async () => {
  const { page } = await lab.show(createConsoleTools(), '#tool=read_order');
  const json = page.getByLabel('Arguments as JSON');
  await json.fill('{"title": "Paper", ');
  await page.getByText('The form is disabled until the JSON below is an object.').waitFor();
  await send(page);
  await page.getByText("Arguments for 'read_order' are not valid JSON").first().waitFor();
  await json.fill('{"title": "Paper", "copies": 12345678901234567890}');
  await page.getByLabel('title required').waitFor();
  await send(page);
  await page
    .getByText('which a JSON number cannot represent exactly, and no string is accepted there')
    .first()
    .waitFor();
});

test('a failed call is shown as the model reads it: message, hint, issues and budget', {
  timeout: SLOW_MS,
}, async () => {
  const { page, complaints } = await lab.show(createConsoleTools(), '#tool=find_order');
  await setOption(page, 'Session id', 's 4/2');
  await send(page);
  expect(await page.locator('.issues li').first().innerText()).toContain('number');
  await page.getByLabel('number required').fill('x-1');
  await send(page);
  await page.locator('.summary').getByText('retry_requested').waitFor();
  const result = await page.locator('.result').innerText();
  expect(result).toContain("There is no order 'x-1'. Numbers look like A-1042.");
  expect(result.replace(/\s+/g, ' ')).toContain(
    'Another attempt is allowed: 1 of 3 retries used, 2 remaining. Limited by the tool, stored per session in memory.',
  );
  await page.getByRole('button', { name: 'Raw answer' }).click();
  const raw: unknown = JSON.parse(await page.locator('.result .unfolded pre').innerText());
  expect(raw).toMatchObject({ session_id: 's 4/2', results: [{ error: { code: 'retry_requested' } }] });
  await keepScreenshot(page, 'failed-call-light');
  await page.getByRole('link', { name: 'Session s 4/2' }).click();
  await page.getByText('1 of 3 retries used').waitFor();
  expect(complaints).toEqual([]);
});

test('a write tool runs only after it was confirmed', { timeout: SLOW_MS }, async () => {
  const placed: string[] = [];
  const { page, complaints } = await lab.show(createConsoleTools(placed), '#tool=place_order');
  await page.getByLabel('title required').fill('Paper');
  await setOption(page, 'Idempotency key', 'key-1');
  for (const leave of ['Cancel', 'Escape'] as const) {
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('dialog', { name: 'Run place_order?' }).waitFor();
    if (leave === 'Escape') await page.keyboard.press('Escape');
    else await page.getByRole('button', { name: leave }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  }
  expect(placed).toEqual([]);
  for (const times of [1, 2]) {
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page
      .locator(times === 1 ? '.mark.success' : 'text=replayed')
      .first()
      .waitFor();
  }
  expect(placed).toEqual(['Paper']);
  expect(complaints).toEqual([]);
});

test('a shorter time limit is obeyed, and one that is none comes back as the model would read it', {
  timeout: SLOW_MS,
}, async () => {
  const { page } = await lab.show(createConsoleTools(), '#tool=find_order');
  await setOption(page, 'Timeout (ms)', 'soon');
  await send(page);
  await page.locator('.summary').getByText('invalid_call').waitFor();
});

test('a call that outlives its request shows its progress, is replaced when it ends, and can be cancelled', {
  timeout: SLOW_MS,
}, async () => {
  const end = Promise.withResolvers<string>();
  const build = defineTool({
    ...{ name: 'build', description: 'Builds.', effects: 'read', background: 'optional' },
    input: z.object({}),
    run: async (_input, { progress, signal }) => {
      progress({ progress: 3, total: 10, message: 'compiling' });
      return Promise.race([end.promise, once(signal, 'abort').then(() => signal.throwIfAborted())]);
    },
  });
  const { page, complaints } = await lab.show([build], '#tool=build');
  await send(page);
  await page.locator('.pending').getByText('running').waitFor();
  await page.locator('.pending').getByText('3 of 10 compiling').waitFor();
  await page.getByRole('button', { name: 'Cancel the call' }).click();
  await page.locator('.summary').getByText('cancelled').waitFor();
  expect(await page.locator('.pending').count()).toBe(0);
  await send(page);
  await page.locator('.pending').getByText('running').waitFor();
  end.resolve('built');
  await page.locator('.mark.success').waitFor();
  expect(await page.locator('.reading dd pre').last().innerText()).toBe('"built"');
  expect(complaints).toEqual([]);
});

const toFile = (names: readonly string[], more = ''): string => `import { defineTool, z } from 'recourse-server';
export const tools = ${JSON.stringify(names)}.map((name) =>
  defineTool({ name, description: '', effects: 'read', input: z.object({}), run: () => 1 }),
);
${more}`;

test('a link to a tool below the fold scrolls the list to it, and the source in a reason keeps its lines', {
  timeout: SLOW_MS,
}, async () => {
  const { root, write } = makeDirectory({
    'many.ts': toFile(Array.from({ length: 60 }, (_, at) => `many_${at}`)),
    'open.ts': toFile(['zz_open']),
  });
  const { url } = await lab.start({ TOOLS_DIR: root });
  write('open.ts', toFile(['zz_open'], 'const open = () = {\n'));
  await expect
    .poll(async () => (await fetch(`${url}/tools/zz_open`)).text(), { timeout: SLOW_MS })
    .toContain('"outdated_reason"');
  const { page, complaints } = await lab.open(url, '#tool=zz_open');
  const excerpt = page.locator('.notice pre');
  await excerpt.waitFor();
  expect(await excerpt.innerText()).toMatch(/\n.*const open = \(\) = \{\n *[| ]* *\^/);
  expect(await page.evaluate("getComputedStyle(document.querySelector('.notice pre')).fontFamily")).toMatch(/mono/i);
  await expect.poll(() => page.evaluate(CHOSEN_IS_SEEN)).toBe(true);
  await page.evaluate("location.hash = '#tool=echo'");
  await page.getByRole('heading', { name: 'echo' }).waitFor();
  expect(await page.evaluate(CHOSEN_IS_SEEN)).toBe(true);
  expect(complaints).toEqual([]);
});

const CHOSEN_IS_SEEN = `(() => {
  const box = document.querySelector('.names').getBoundingClientRect();
  const chosen = document.querySelector('.names [aria-current]').getBoundingClientRect();
  return chosen.top >= box.top && chosen.bottom <= box.bottom;
})()`;
