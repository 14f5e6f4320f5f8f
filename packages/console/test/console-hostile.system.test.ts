import { keepScreenshot } from '@recourse/test-support/chromium.ts';
import { createConsoleLab, type Opened, SLOW_MS, send, setOption } from '@recourse/test-support/console/console-lab.ts';
import { createConsoleTools, HOSTILE, HOSTILE_SHOWN } from '@recourse/test-support/console/console-tools.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';

const lab = createConsoleLab();

/** Nothing that was sent has become markup, a link or a script. */
const expectTextOnly = async ({ page, complaints }: Opened): Promise<void> => {
  expect(await page.locator('img, iframe, object, script:not([src^="console/"])').count()).toBe(0);
  expect(await page.locator('a:not([href^="#"], [href="docs"])').count()).toBe(0);
  expect(complaints).toEqual([]);
};

test('what a tool is called and says is shown as text, with hidden characters written out', {
  timeout: SLOW_MS,
}, async () => {
  const opened = await lab.show(createConsoleTools(), '#tool=hostile');
  const { page } = opened;
  await page.getByRole('heading', { name: 'hostile' }).waitFor();
  expect(await page.locator('.description').innerText()).toBe(HOSTILE_SHOWN);
  expect(await page.locator('.facts').innerText()).toContain(HOSTILE_SHOWN);
  expect(await page.locator('label .name').first().innerText()).toBe(HOSTILE_SHOWN);
  await page.getByRole('button', { name: 'Input schema' }).click();
  await page.getByLabel('mode required').selectOption('fail');
  await setOption(page, 'Session id', HOSTILE);
  await send(page);
  expect(await page.locator('.reading dd').first().innerText()).toContain(HOSTILE_SHOWN);
  await page.getByRole('button', { name: 'Raw answer' }).click();
  await keepScreenshot(page, 'hostile-light');
  await page.getByLabel('mode required').selectOption('text');
  await send(page);
  await page.locator('.mark.success').waitFor();
  expect(await page.locator('.reading dd').last().innerText()).toContain('<img src=x onerror=alert(1)>');
  await expectTextOnly(opened);
});

test('a session whose id, calls and arguments are hostile is shown as text', { timeout: SLOW_MS }, async () => {
  const service = await lab.start({}, createConsoleTools());
  const call = { id: HOSTILE, name: 'hostile', arguments: { mode: 'fail', [HOSTILE]: HOSTILE } };
  await service.call([call, { id: '2', name: HOSTILE, arguments: HOSTILE }], { session_id: HOSTILE });
  const opened = await lab.open(service.url, `#${new URLSearchParams({ session: HOSTILE })}`);
  const { page } = opened;
  await page.locator('.timeline li').nth(1).waitFor();
  expect(await page.locator('#session-title').innerText()).toBe(`Session ${HOSTILE_SHOWN}`);
  for (const button of await page.locator('.fold').all()) await button.click();
  expect(await page.locator('.timeline').innerText()).toContain('<img src=x onerror=alert(1)>');
  await page.getByRole('button', { name: 'End session' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'End session' }).click();
  await page.getByText('This session has no data').waitFor();
  await expectTextOnly(opened);
});

test('a value of nearly a megabyte is cut, and shown whole when asked for', { timeout: SLOW_MS }, async () => {
  const { url } = await lab.start({ MAX_RESULT_BYTES: '1000000' }, createConsoleTools());
  const opened = await lab.open(url, '#tool=hostile');
  const { page } = opened;
  await page.getByLabel('mode required').selectOption('long');
  await send(page);
  await page.locator('.mark.success').waitFor();
  const value = page.locator('.reading dd pre').last();
  expect((await value.innerText()).length).toBe(4_001);
  await page.getByRole('button', { name: 'Show all (900,016 characters)' }).click();
  await expect.poll(async () => (await value.textContent())?.length, { timeout: timeLimit(60_000) }).toBe(900_016);
  await expectTextOnly(opened);
});

test('a value nested 500 levels deep is described, and the raw answer has all of it', {
  timeout: SLOW_MS,
}, async () => {
  const opened = await lab.show(createConsoleTools(), '#tool=hostile');
  const { page } = opened;
  await page.getByLabel('mode required').selectOption('deep');
  await send(page);
  await page.locator('.mark.success').waitFor();
  await page.getByText('Nested more than 64 levels deep.').waitFor();
  await page.getByRole('button', { name: 'Raw answer' }).click();
  expect(await page.locator('.result .unfolded pre').innerText()).toContain('['.repeat(500));
  await expectTextOnly(opened);
});

test('an address made by a stranger shows no tool and no session, and runs nothing', { timeout: SLOW_MS }, async () => {
  const { url } = await lab.start({}, createConsoleTools());
  const opened = await lab.open(url, `#${new URLSearchParams({ tool: HOSTILE })}`);
  await opened.page.getByRole('heading', { name: 'No such tool' }).waitFor();
  await opened.page.getByText(HOSTILE_SHOWN).waitFor();
  await expectTextOnly(opened);
  for (const id of ['.', '..']) {
    const dots = await lab.open(url, `#session=${id}`);
    await dots.page.getByText('This id cannot be written into a URL path.').waitFor();
    await expectTextOnly(dots);
  }
});

test('a script that found its way into the page would not run', { timeout: SLOW_MS }, async () => {
  const { url } = await lab.start();
  const { page, complaints } = await lab.open(url, '#tools');
  await page.getByText('6 tools').waitFor();
  await page.evaluate(`(() => {
    const script = document.createElement('script');
    try { script.text = 'window.ran = true'; } catch {}
    document.body.append(script);
    try { document.body.insertAdjacentHTML('beforeend', '<img src=x onerror="window.ran = true">'); } catch {}
  })()`);
  expect(await page.evaluate('window.ran')).toBe(undefined);
  expect(complaints.some((complaint) => complaint.includes('require-trusted-types-for'))).toBe(true);
});
