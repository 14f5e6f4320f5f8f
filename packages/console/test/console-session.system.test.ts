import { hash } from 'node:crypto';
import { keepScreenshot } from '@recourse/test-support/chromium.ts';
import { createConsoleLab, SLOW_MS, useKey } from '@recourse/test-support/console/console-lab.ts';
import { createConsoleTools } from '@recourse/test-support/console/console-tools.ts';
import { startRedisServer } from '@recourse/test-support/redis-server.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { defineTool } from 'recourse-server/internal/tools/define-tool.ts';
import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';

const lab = createConsoleLab();

const FAILING = { id: 'c', name: 'find_order', arguments: { number: 'x' } };

test('a session shows its budgets, streaks, slices and calls, and follows what happens', {
  timeout: SLOW_MS,
}, async () => {
  const service = await lab.start({}, createConsoleTools());
  const { page, complaints } = await lab.open(service.url, '#session=');
  await page.getByLabel('Session id').fill('team/7');
  await page.keyboard.press('Enter');
  await page.getByText('This session has no data').waitFor();
  for (const number of ['1', '2', '3', '4'])
    await service.call([{ ...FAILING, arguments: { number } }], { session_id: 'team/7' });
  await service.call([{ id: 'ok', name: 'read_order', arguments: '{}' }], { session_id: 'team/7' });
  await page.getByText('3 of 3 retries used').waitFor();
  const budget = page.locator('.budgets li').first();
  expect((await budget.innerText()).replace(/\s+/g, ' ')).toMatch(
    /^find_order ✕ blocked 3 of 3 retries used same call failed 1× in a row Reset/,
  );
  await page.locator('.timeline li').nth(4).waitFor();
  const newest = await page.locator('.timeline li').first().innerText();
  expect(newest).toMatch(/round 5\s+read_order\s+↻\s+retry\s+invalid_arguments/);
  await page.getByRole('button', { name: /round 4 find_order/ }).click();
  await page.getByText('executed: yes · retries left: 0').waitFor();
  await page.getByRole('button', { name: 'failures_by_tool' }).click();
  expect(JSON.parse(await page.locator('.unfolded pre').last().innerText())).toMatchObject({
    find_order: { retry_requested: 4 },
  });
  for (const _time of ['first', 'second', 'third'])
    await service.call([{ ...FAILING, arguments: { number: '4' } }], { session_id: 'team/7' });
  const refused = page.locator('.timeline li').first().filter({ hasText: 'retry_budget_exhausted' });
  await refused.getByText('(3 times)').waitFor();
  await keepScreenshot(page, 'session-light');
  expect(complaints).toEqual([]);
});

test('budgets are reset and the session is ended after a question each', { timeout: SLOW_MS }, async () => {
  const service = await lab.start({}, createConsoleTools());
  const fail = () => service.call([FAILING, { ...FAILING, name: 'hostile' }], { session_id: 's' });
  await fail();
  await fail();
  const { page, complaints } = await lab.open(service.url, '#session=s');
  const budgetOf = (name: string) => page.locator('.budgets li').filter({ hasText: name });
  await budgetOf('find_order').getByText('1 of 3 retries used').waitFor();
  const confirm = async (button: string, answer: string): Promise<void> => {
    await page.getByRole('button', { name: button }).click();
    await page.getByRole('dialog').getByRole('button', { name: answer, exact: true }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  };
  await confirm('Reset find_order', 'Cancel');
  await confirm('Reset find_order', 'Reset');
  await page.getByRole('status').filter({ hasText: 'The budget of find_order is reset.' }).waitFor();
  await budgetOf('find_order').getByText('1 of 3 retries used').waitFor({ state: 'detached' });
  await budgetOf('hostile').getByText('1 of 3 retries used').waitFor();
  await confirm('Reset all budgets', 'Reset all');
  await budgetOf('hostile').getByText('1 of 3 retries used').waitFor({ state: 'detached' });
  await page.getByText(/^✓ [\d:]+ All budgets are reset\.$/).waitFor();
  await confirm('End session', 'End session');
  await page.getByText('This session has no data').waitFor();
  expect(complaints).toEqual([]);
});

test('a reset that is refused says so beside its button, also while the session is read on', {
  timeout: SLOW_MS,
}, async () => {
  const service = await lab.start(
    { API_KEYS: `acme=${hash('sha256', 'rk_reader')} may=read|call` },
    createConsoleTools(),
  );
  await fetch(`${service.url}/tool-calls`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer rk_reader' },
    body: JSON.stringify({ session_id: 's', calls: [FAILING] }),
  });
  const { page } = await lab.open(service.url, '#session=s');
  await useKey(page, 'rk_reader');
  for (const [place, button, answer] of [
    ['.budgets li', 'Reset find_order', 'Reset'],
    ['main', 'End session', 'End session'],
  ] as const) {
    await page.getByRole('button', { name: button }).click();
    await page.getByRole('dialog').getByRole('button', { name: answer, exact: true }).click();
    const refusal = page.locator(place).getByText('This API key does not permit that.');
    await refusal.last().waitFor();
    for (const _time of ['once', 'twice'])
      await page.waitForResponse((response) => response.url().endsWith('/sessions/s') && response.status() === 200);
    expect(await refusal.count()).toBe(place === 'main' ? 2 : 1);
  }
});

test('it is read every two seconds, and never while paused or hidden', { timeout: SLOW_MS }, async () => {
  const service = await lab.start({}, createConsoleTools());
  const { page } = await lab.open(service.url, '#tools');
  await page.clock.install();
  const readings: string[] = [];
  page.on('requestfinished', (request) => {
    if (request.url().includes('/sessions/')) readings.push(request.url());
  });
  const expectReadings = (count: number) =>
    expect.poll(() => readings.length, { timeout: timeLimit(30_000) }).toBe(count);
  const setHidden = (hidden: boolean) =>
    page.evaluate(`Object.defineProperty(document, 'hidden', { get: () => ${hidden}, configurable: true });
      document.dispatchEvent(new Event('visibilitychange'));`);
  await page.clock.pauseAt(Date.now() + 60_000);
  await page.getByRole('link', { name: 'Sessions' }).click();
  await page.getByLabel('Session id').fill('s');
  await page.getByRole('button', { name: 'Watch' }).click();
  await expectReadings(1);
  await page.getByText('Last read').waitFor();
  await page.clock.runFor(1_900);
  expect(readings.length).toBe(1);
  await page.clock.runFor(200);
  await expectReadings(2);
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.clock.runFor(20_000);
  await page.getByRole('button', { name: 'Resume' }).click();
  await expectReadings(3);
  await setHidden(true);
  await page.clock.runFor(20_000);
  await setHidden(false);
  await expectReadings(4);
  await page.getByRole('link', { name: 'Tools' }).click();
  await page.getByRole('heading', { name: 'Choose a tool' }).waitFor();
  await page.clock.runFor(20_000);
  expect(readings.length).toBe(4);
});

test('a result that came after its answer stands beside its call', { timeout: SLOW_MS }, async () => {
  const gate = Promise.withResolvers<string>();
  const late = defineTool({
    name: 'late',
    description: 'Answers when it likes.',
    input: z.object({}),
    effects: 'write',
    timeoutMs: 50,
    run: () => gate.promise,
  });
  const service = await lab.start({}, [late]);
  await service.call([{ id: '1', name: 'late' }], { session_id: 's' });
  const { page } = await lab.open(service.url, '#session=s');
  await page.locator('.timeline').getByText('timeout', { exact: true }).waitFor();
  gate.resolve('done');
  await page.getByText('Finished later, at').waitFor();
  // The picture shows it as well.
  await page.locator('.lane g.late').waitFor();
  expect((await page.locator('p.late').innerText()).replace(/\s+/g, ' ')).toMatch(
    /Finished later, at [\d:]+: ✓ success/,
  );
});

test('a question about one session is gone when another is looked at', { timeout: SLOW_MS }, async () => {
  const service = await lab.start({}, createConsoleTools());
  for (const session_id of ['one', 'two']) await service.call([FAILING], { session_id });
  const { page, complaints } = await lab.open(service.url, '#session=one');
  await page.getByRole('button', { name: 'End session' }).click();
  await page.getByRole('dialog', { name: 'End this session?' }).waitFor();
  await page.evaluate("location.hash = '#session=two'");
  await page.getByRole('heading', { name: 'Session two' }).waitFor();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.locator('.budgets li').waitFor();
  expect(complaints).toEqual([]);
});

test('while Redis is away it says whose count it shows, and neither resets nor ends a session that it does not show', {
  timeout: SLOW_MS,
}, async () => {
  const redis = await startRedisServer();
  onTestFinished(redis.stop);
  const service = await lab.start({ REDIS_URL: redis.url }, createConsoleTools());
  await expect.poll(async () => (await fetch(`${service.url}/ready`)).text()).toContain('"ready"');
  await service.call([FAILING], { session_id: 's' });
  const { page } = await lab.open(service.url, '#session=s');
  const buttons = ['Reset find_order', 'Reset all budgets', 'End session'].map((name) =>
    page.getByRole('button', { name, exact: true }),
  );
  const enabled = () => Promise.all(buttons.map(async (button) => (await button.count()) > 0 && button.isEnabled()));
  await buttons[0]?.waitFor();
  expect(await enabled()).toEqual([true, true, true]);
  await redis.kill();
  const notice = page.locator('.notice');
  await notice.getByText('Redis is away.').waitFor();
  expect((await notice.innerText()).replace(/\s+/g, ' ')).toMatch(
    /^Redis is away\. This is what this replica counted since \d\d:\d\d:\d\d; the session itself is in Redis\. It can be reset/,
  );
  // Nothing was counted here yet, and it is not said that the session was never used.
  expect(await page.getByText('This session has no data').count()).toBe(0);
  expect((await enabled()).slice(1)).toEqual([false, false]);
  const gone = await fetch(`${service.url}/sessions/s`, { method: 'DELETE' });
  expect([gone.status, await gone.json()]).toMatchObject([503, { code: 'store_unavailable' }]);
  await service.call([FAILING], { session_id: 's' });
  await buttons[0]?.waitFor();
  expect(await enabled()).toEqual([false, false, false]);
  await redis.restart();
  // It is empty, and has the session as this replica knows it.
  await expect.poll(enabled, { timeout: SLOW_MS }).toEqual([true, true, true]);
  expect(await page.getByText('Redis is away.').count()).toBe(0);
});
