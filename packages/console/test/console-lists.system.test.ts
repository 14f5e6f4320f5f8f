import { hash } from 'node:crypto';
import { keepScreenshot } from '@recourse/test-support/chromium.ts';
import { createConsoleLab, type Opened, SLOW_MS, useKey } from '@recourse/test-support/console/console-lab.ts';
import { createConsoleTools, HOSTILE, HOSTILE_SHOWN } from '@recourse/test-support/console/console-tools.ts';
import { expectSound } from '@recourse/test-support/console/page-checks.ts';
import type { RunningService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { defineTool } from 'recourse-server/internal/tools/define-tool.ts';
import { expect, test } from 'vitest';
import * as z from 'zod';

const lab = createConsoleLab();

const find = (number: unknown) => ({ id: 'c', name: 'find_order', arguments: { number } });
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';

const post = (url: string, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  fetch(`${url}/tool-calls`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });

/** Goes to a page of the console, and waits for what it shows. */
const goTo = async ({ page }: Opened, fragment: string, shown: string): Promise<void> => {
  await page.evaluate(`location.hash = ${JSON.stringify(fragment)}`);
  await page.locator(shown).first().waitFor();
};

test('from the list of failing sessions a reader comes to the session, the call, its like, and its trace', {
  timeout: SLOW_MS,
}, async () => {
  const service = await lab.start({ TRACE_URL: 'https://traces.example.com/t/{trace_id}?x=1' }, createConsoleTools());
  const traceparent = `00-${TRACE}-00f067aa0ba902b7-01`;
  for (const number of ['1', '2', '3', '4', '5'])
    await post(service.url, { session_id: 'agent-7', calls: [find(number)] }, { traceparent });
  await service.call([{ id: 'ok', name: 'echo', arguments: { text: 'x' } }], { session_id: 'well' });
  const { page, complaints } = await lab.open(service.url, '#sessions=blocked');
  const item = page.locator('.list li');
  await item.first().waitFor();
  expect(await item.count()).toBe(1);
  expect((await item.innerText()).replace(/\s+/g, ' ')).toMatch(
    /^~[0-9a-f]{8} ✕ blocked 5 of 5 calls failed \d+ s ago Blocked: find_order find_order retry_budget_exhausted/,
  );
  expect(await item.locator('time').first().getAttribute('title')).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  await page.getByRole('link', { name: 'Recent' }).click();
  await expect.poll(() => item.count(), { timeout: timeLimit(30_000) }).toBe(2);
  await page.getByRole('link', { name: 'Blocked' }).click();
  await item.getByRole('link', { name: /^~/ }).click();
  await page.getByRole('heading', { name: /^Session ~[0-9a-f]{64}$/ }).waitFor();
  await page.getByRole('img', { name: 'find_order: 4 retry, 1 refused' }).waitFor();
  await page.goto(`${service.url}/console#calls=&tool=find_order&code=retry_requested`);
  await item.nth(3).waitFor();
  expect(await item.count()).toBe(4);
  await item.first().getByRole('link', { name: 'find_order' }).click();
  await page.getByText('the call was wrong, and a corrected one may succeed').waitFor();
  expect(await page.locator('pre.text').innerText()).toBe("There is no order '4'. Numbers look like A-1042.");
  const trace = page.getByRole('link', { name: 'Trace' });
  expect(await trace.getAttribute('href')).toBe(`https://traces.example.com/t/${TRACE}?x=1`);
  expect(await trace.getAttribute('rel')).toBe('noopener noreferrer');
  const reference = await page.locator('#page-title .name').innerText();
  expect(service.logLines().some((line) => line['reference'] === reference)).toBe(true);
  await page.getByText(`grep '${reference}'`).waitFor();
  await page.getByRole('link', { name: 'Everything of this request' }).click();
  await page.getByText('1 failure in the last day').waitFor();
  await page.locator('.list li.card').waitFor();
  await page.getByRole('link', { name: 'find_order' }).first().click();
  await page.getByRole('link', { name: 'All retry_requested of find_order' }).click();
  await expect.poll(() => page.getByLabel('Code').inputValue()).toBe('retry_requested');
  expect(complaints).toEqual([]);
});

test('of equal failures, which share a reference, the one that was clicked is shown', {
  timeout: SLOW_MS,
}, async () => {
  const service = await lab.start({}, createConsoleTools());
  const same = { id: 'c', name: 'missing' };
  await service.call([same, same, same]);
  const { page } = await lab.open(service.url, '#calls=');
  const links = page.locator('.list .name');
  await links.nth(2).waitFor();
  const hrefs = await links.evaluateAll((all) => all.map((link) => link.getAttribute('href') ?? ''));
  const references = hrefs.map((href) => new URLSearchParams(href.slice(1)).get('call'));
  expect([new Set(references).size, new Set(hrefs).size]).toEqual([1, 3]);
  for (const index of [0, 2]) {
    await page.evaluate("location.hash = '#calls='");
    await page.locator(`.list .name[href$="&index=${index}"]`).click();
    await page.getByText(new RegExp(`, call ${index}$`)).waitFor();
  }
  await page.evaluate(`location.hash = '#call=${references[0]}'`);
  await page.getByText(/, call \d$/).waitFor();
});

test('what narrows a list stands in its address, and a list that is empty says so', { timeout: SLOW_MS }, async () => {
  const service = await lab.start({}, createConsoleTools());
  await service.call([find('1'), { id: '2', name: 'missing' }]);
  const { page, complaints } = await lab.open(service.url, '#calls=');
  const item = page.locator('.list li');
  await item.nth(1).waitFor();
  await page.getByLabel('Code').selectOption('unknown_tool');
  await expect.poll(() => item.count(), { timeout: timeLimit(30_000) }).toBe(1);
  await page.getByLabel('Since').focus();
  for (const _time of ['once', 'twice']) await page.keyboard.press('ArrowDown');
  await page.waitForURL((url) => url.hash === '#calls=&code=unknown_tool&since=1h');
  expect(await page.locator('#filter-since:focus').count()).toBe(1);
  await page.getByLabel('Tool', { exact: true }).fill('find_order');
  await page.keyboard.press('Enter');
  await page.getByText('No call of the last 24 hours is like that.').waitFor();
  // The last hour is that before each reading.
  const sinceOf = async (): Promise<number> => {
    const request = await page.waitForRequest((request) => request.url().includes('/calls?'));
    return Date.parse(new URL(request.url()).searchParams.get('since') ?? '');
  };
  expect(await sinceOf()).toBeLessThan(await sinceOf());
  await page.getByRole('link', { name: 'Show all failed calls' }).click();
  await item.nth(1).waitFor();
  for (const [fragment, says] of [
    ['#sessions=blocked', 'No session has a tool that may not be called any more.'],
    ['#pending=', 'No call is pending.'],
    ['#pending=&tool=find_order', 'No call of this tool is pending.'],
    ['#search=zzz', 'Nothing of the last 24 hours has this id.'],
    ['#call=ERR0', 'The last 1,000 failures of 24 hours are kept.'],
    ['#session=', 'No session was active in the last 24 hours.'],
  ] as const) {
    await page.evaluate(`location.hash = ${JSON.stringify(fragment)}`);
    await page.getByText(says).waitFor();
  }
  expect(complaints).toEqual([]);
});

test('how long ago something was is said anew each second, and the day of a moment unless it is today', {
  timeout: SLOW_MS,
}, async () => {
  const service = await lab.start({}, createConsoleTools());
  await service.call([{ id: '1', name: 'missing' }]);
  const { page } = await lab.open(service.url, '#tools');
  await page.clock.install();
  await page.evaluate("location.hash = '#calls='");
  await page.locator('.list .name').click();
  await page.getByText(/^\d+ s ago$/).waitFor();
  await page.clock.runFor(120_000);
  await page.getByText(/^2 min ago$/).waitFor();
  await page.evaluate("location.hash = '#reports'");
  await page.getByText(/From \d+ \w+ \d{4}, [\d:]+ to /).waitFor();
});

test('more of a list comes when it is asked for, and then nothing moves until it is read anew', {
  timeout: SLOW_MS,
}, async () => {
  const service = await lab.start({}, createConsoleTools());
  const failAs = (from: number, count: number) =>
    service.call(Array.from({ length: count }, (_, at) => ({ ...find(`${from + at}`), id: `${at}` })));
  for (const from of [0, 30]) await failAs(from, 30);
  const { page, complaints } = await lab.open(service.url, '#tools');
  await page.clock.install();
  await page.evaluate("location.hash = '#calls='");
  const item = page.locator('.list li');
  await expect.poll(() => item.count(), { timeout: timeLimit(30_000) }).toBe(50);
  await page.getByRole('button', { name: 'More' }).click();
  await expect.poll(() => item.count(), { timeout: timeLimit(30_000) }).toBe(60);
  const references = await item.locator('a').evaluateAll((all) => all.map((link) => link.getAttribute('href')));
  expect(new Set(references).size).toBe(60);
  await failAs(60, 1);
  const asked: string[] = [];
  page.on('request', (request) => void asked.push(request.url()));
  await page.clock.runFor(10_000);
  expect([asked, await item.count()]).toEqual([[], 60]);
  await page.getByText('The entries are shown as they were at').waitFor();
  expect(await page.getByText('Live: read every 2 s.').count()).toBe(0);
  await page.getByRole('button', { name: 'Read anew' }).click();
  await page.getByText("There is no order '60'.").waitFor();
  expect(await item.count()).toBe(50);
  expect(complaints).toEqual([]);
});

test('pending calls are listed, and cancelled after a question', { timeout: SLOW_MS }, async () => {
  const slow = defineTool({
    ...{ name: 'build', description: 'Builds.', effects: 'read', background: 'optional', input: z.object({}) },
    run: (_input, { signal }) => new Promise((resolve) => signal.addEventListener('abort', () => resolve('stopped'))),
  });
  const service = await lab.start({}, [slow]);
  const calls = [{ id: '1', name: 'build' }];
  await post(service.url, { session_id: 's', calls }, { prefer: 'respond-async' });
  const opened = await lab.open(service.url, '#pending=&tool=build');
  const { page, complaints } = opened;
  await page.locator('.list').getByText('running').waitFor();
  await expectSound(page, 15);
  await keepScreenshot(page, 'pending-light');
  await goTo(opened, '#session=s', '.timeline');
  await page.locator('.list').getByText('running').waitFor();
  await goTo(opened, '#pending=', '.list li');
  const cancel = async (): Promise<void> => {
    await page.getByRole('button', { name: 'Cancel build' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel the call' }).click();
  };
  const isCancel = (url: URL): boolean => url.pathname.startsWith('/tool-calls/');
  await page.route(isCancel, (route) =>
    route.fulfill({ status: 429, contentType: 'application/problem+json', body: '{}' }),
  );
  await cancel();
  const refusal = page.locator('.list li').getByText('Too many requests for this key.');
  await refusal.waitFor();
  for (const _time of ['once', 'twice']) await page.waitForResponse('**/calls/pending');
  expect(await refusal.count()).toBe(1);
  await page.unroute(isCancel);
  await cancel();
  await page.getByText('No call is pending.').waitFor();
  expect(complaints).toEqual([]);
});

test('another key sees nothing of what the one before it listed', { timeout: SLOW_MS }, async () => {
  const keys = ['one', 'two'].map((name) => `${name}=${hash('sha256', `rk_${name}`)}`).join(',');
  const { url } = await lab.start({ API_KEYS: keys }, createConsoleTools());
  await post(url, { session_id: 's', calls: [find('secret-of-one')] }, { authorization: 'Bearer rk_one' });
  const { page, complaints } = await lab.open(url, '#calls=');
  await useKey(page, 'rk_one');
  await page.getByText('secret-of-one').waitFor();
  await page.getByRole('button', { name: 'Forget key' }).click();
  // Also not while there is nothing of its own yet.
  await page.route('**/calls', (route) => route.fulfill({ status: 503 }));
  await useKey(page, 'rk_two');
  await page.getByText('The service does not accept requests now.').waitFor();
  expect(await page.locator('body').innerText()).not.toContain('secret-of-one');
  await page.unroute('**/calls');
  await page.getByText('No call has failed in the last 24 hours.').waitFor();
  expect(await page.locator('body').innerText()).not.toContain('secret-of-one');
  expect(complaints).toEqual([]);
});

const LINES = `first\n  second <b>\n${'long'.repeat(200)}\u2029`;

const startHostile = async (): Promise<RunningService> => {
  const service = await lab.start({}, createConsoleTools());
  const hostile = { id: HOSTILE, name: 'hostile', arguments: { mode: 'fail', [HOSTILE]: HOSTILE } };
  const unknown = { id: LINES, name: HOSTILE, arguments: LINES };
  for (const session_id of [HOSTILE, LINES.slice(0, 200)])
    await service.call([hostile, unknown, find(LINES), { ...hostile, id: 2, arguments: LINES }], { session_id });
  return service;
};

test('names and texts of strangers are text on every page', { timeout: SLOW_MS }, async () => {
  const service = await startHostile();
  const opened = await lab.open(service.url, '#sessions=recent');
  const { page, complaints } = opened;
  for (const [fragment, shown] of [
    ['#sessions=failing', '.list li'],
    [`#${new URLSearchParams({ calls: '', tool: HOSTILE, code: HOSTILE, since: '1h' })}`, '.notice, .trouble'],
    ['#calls=', '.list li'],
    [`#${new URLSearchParams({ call: HOSTILE })}`, '.trouble'],
    [`#${new URLSearchParams({ search: HOSTILE })}`, '.list li, .notice, .trouble'],
    [`#${new URLSearchParams({ pending: '', tool: HOSTILE })}`, '.notice, .trouble'],
    [`#${new URLSearchParams({ session: HOSTILE })}`, '.lane'],
    ['#reports', 'article'],
    ['#tool=hostile', '#try-title'],
  ] as const) {
    await goTo(opened, fragment, shown);
    expect(await page.locator('img, iframe, object, script:not([src^="console/"]), b b').count()).toBe(0);
    expect(await page.locator('a:not([href^="#"], [href="docs"])').count()).toBe(0);
    expect(await page.locator('body').innerText()).not.toMatch(/[\u202e\u2066\u2029]/);
  }
  await goTo(opened, '#calls=', '.list li');
  await page.locator('.list').getByText(HOSTILE_SHOWN).first().waitFor();
  // Line ends stay: what the model read is not one long line.
  const brief = page.locator('.brief').filter({ hasText: 'second <b>' }).first();
  expect(await brief.innerText()).toMatch(/first\n\s+second <b>\n/);
  expect(complaints).toEqual([]);
});

test.each([
  ['light', 1280],
  ['dark', 360],
] as const)(
  'in %s and %d pixels wide every page is legible, named and no wider than the window',
  {
    timeout: SLOW_MS,
  },
  async (colorScheme, width) => {
    const service = await startHostile();
    const options = { colorScheme, viewport: { width, height: 800 }, reducedMotion: 'reduce' } as const;
    const opened = await lab.open(service.url, '#sessions=recent', options);
    const { page, complaints } = opened;
    const name = `${width === 360 ? 'narrow-' : ''}${colorScheme}`;
    for (const [fragment, shown, texts] of [
      ['#sessions=recent', '.list li', 15],
      ['#calls=', '.list li', 20],
      ['#search=hostile', '.links li', 5],
      ['#reports', 'article', 15],
      [`#${new URLSearchParams({ session: HOSTILE })}`, '.lane', 30],
      ['#tool=hostile', '.counts li', 30],
    ] as const) {
      await goTo(opened, fragment, shown);
      await expectSound(page, texts);
      await keepScreenshot(page, `${fragment.slice(1, 6)}-${name}`);
    }
    await goTo(opened, '#calls=', '.list li');
    await page.locator('.list a').first().click();
    await page.getByText('What the model read').waitFor();
    await expectSound(page, 15);
    await keepScreenshot(page, `call-${name}`);
    expect(complaints).toEqual([]);
  },
);
