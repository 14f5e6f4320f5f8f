import { hash } from 'node:crypto';
import { keepScreenshot } from '@recourse/test-support/chromium.ts';
import { DEADLINE } from '@recourse/test-support/config-lab.ts';
import { startAskedPayments } from '@recourse/test-support/console/asked-payments.ts';
import { createConsoleLab, SLOW_MS, useKey } from '@recourse/test-support/console/console-lab.ts';
import { createConsoleTools, HOSTILE_SHOWN } from '@recourse/test-support/console/console-tools.ts';
import { createLostPayments, QUIET, toPayment } from '@recourse/test-support/console/lost-payments.ts';
import {
  findAxeViolations,
  findUnnamed,
  readContrast,
  readHeadingLevels,
  readOverflow,
} from '@recourse/test-support/console/page-checks.ts';
import { createKeyedClient, freshName } from '@recourse/test-support/keyed-client.ts';
import { startRedisServer } from '@recourse/test-support/redis-server.ts';
import type { RunningService } from '@recourse/test-support/start-service.ts';
import { startTcpProxy } from '@recourse/test-support/tcp-proxy.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import type { Page, Request } from 'playwright-core';
import { defineTool } from 'recourse-server/internal/tools/define-tool.ts';
import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';

const lab = createConsoleLab();

/** Fails with what it is told to fail with. */
const createBroken = (name = 'find_price') =>
  defineTool({
    ...{ name, description: 'Looks up a price.', effects: 'read' },
    input: z.object({ why: z.string() }),
    run: ({ why }) => {
      throw new Error(why);
    },
  });

/** Lets a tool fail as often as its circuit takes it. */
const openCircuit = async (service: RunningService, name = 'find_price'): Promise<void> => {
  for (let batch = 0; batch < 3; batch += 1)
    await service.call([{ id: '1', name, arguments: { why: 'ECONNREFUSED 10.0.0.7' } }]);
};
const SOON = { CIRCUIT_FAILURES: '3', CIRCUIT_OPEN_MS: '600000' };

const section = (page: Page, name: string) => page.locator('.wrong').filter({ has: page.locator(`#overview-${name}`) });

const expectSound = async (page: Page): Promise<void> => {
  expect((await readContrast(page)).weak).toEqual([]);
  expect(await findUnnamed(page)).toEqual([]);
  const levels = await readHeadingLevels(page);
  expect(levels.filter((level, index) => level > (levels[index - 1] ?? 0) + 1)).toEqual([]);
  expect(await readOverflow(page)).toBe(0);
  expect(await findAxeViolations(page)).toEqual([]);
};

test('a service that nobody has called shows a command for the first call, and follows what comes of it', {
  timeout: SLOW_MS,
}, async () => {
  const service = await lab.start({}, createConsoleTools());
  const { page, complaints } = await lab.open(service.url);
  await page.getByText('Nothing is wrong').waitFor();
  const command = await page.locator('.notice pre').innerText();
  expect(command).toContain(`curl -sS '${service.url}/tool-calls'`);
  const body = /-d '(.*)'$/.exec(command)?.[1] ?? '';
  const answer = await fetch(`${service.url}/tool-calls`, {
    ...{ method: 'POST', headers: { 'content-type': 'application/json' }, body },
  });
  expect(await answer.json()).toMatchObject({ results: [{ outcome: 'success' }] });
  const { calls } = z.object({ calls: z.tuple([z.object({ name: z.string() })]) }).parse(JSON.parse(body));
  await page.getByRole('link', { name: calls[0].name, exact: true }).waitFor();
  expect(await page.locator('.tile .figure').first().innerText()).toBe('1');
  expect(complaints).toEqual([]);
});

test('a key that may use no tool is shown no command, and a service without a document of its API no link to it', {
  timeout: SLOW_MS,
}, async () => {
  const API_KEYS = `acme=${hash('sha256', 'secret')} tools=none_*`;
  const service = await lab.start({ API_KEYS, DOCS: 'false' });
  const { page } = await lab.open(service.url);
  await useKey(page, 'secret');
  await page.getByText('No tool is offered that could be called.').waitFor();
  expect(await page.locator('.notice pre').count()).toBe(0);
  expect(await page.getByRole('link', { name: 'API' }).count()).toBe(0);
});

test.each([
  ['light', 1280],
  ['dark', 1600],
  ['light', 360],
] as const)(
  'what is wrong comes first, in %s and %d pixels wide, with texts of strangers as text',
  { timeout: SLOW_MS },
  async (colorScheme, width) => {
    const { root } = makeDirectory({ 'open.ts': 'const open = () = {\n' });
    const environment = { ...SOON, TOOLS_DIR: root };
    const service = await lab.start(environment, [...createConsoleTools(), createBroken()]);
    await openCircuit(service);
    const failing = [{ id: '1', name: 'hostile', arguments: { mode: 'fail' } }];
    for (let round = 0; round < 5; round += 1) await service.call(failing, { session_id: 'looping' });
    const viewport = { width, height: 800 };
    const { page, complaints } = await lab.open(service.url, '', { colorScheme, viewport, reducedMotion: 'reduce' });
    await section(page, 'circuits').getByText('ECONNREFUSED 10.0.0.7').waitFor();
    await section(page, 'failing').getByText(HOSTILE_SHOWN).first().waitFor();
    const pre = section(page, 'files').locator('pre');
    await pre.waitFor();
    expect(await pre.innerText()).toMatch(/\n.*const open = \(\) = \{\n *[| ]* *\^/);
    const tops = await page
      .locator('.wrong h3, #hour-title, #quiet-title')
      .evaluateAll((all) => all.map(({ id }) => id));
    expect(tops.slice(-2)).toEqual(['hour-title', 'quiet-title']);
    expect(tops).toEqual(expect.arrayContaining(['overview-failing', 'overview-circuits', 'overview-files']));
    await page.getByRole('button', { name: 'Minute by minute' }).click();
    expect(await page.getByRole('region', { name: 'Minutes' }).locator('tbody tr').count()).toBe(60);
    await expectSound(page);
    await keepScreenshot(page, `overview-${colorScheme}-${width}`);
    expect(complaints).toEqual([]);
  },
);

test('a circuit counts down and is closed after a question; a key without the right is told which one it lacks', {
  timeout: SLOW_MS,
}, async () => {
  const [reader, operator] = ['rk_reader', 'rk_operator'];
  const keys = `acme=${hash('sha256', reader)} may=read|call,acme=${hash('sha256', operator)} may=read|call|operate`;
  const service = await lab.start({ ...SOON, API_KEYS: keys }, [createBroken()]);
  const call = (): Promise<Response> =>
    fetch(`${service.url}/tool-calls`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${reader}` },
      body: '{"calls":[{"id":"1","name":"find_price","arguments":{"why":"down"}}]}',
    });
  for (let batch = 0; batch < 3; batch += 1) await (await call()).arrayBuffer();
  const { page, complaints } = await lab.open(service.url, '#overview=circuits');
  await useKey(page, reader);
  const left = section(page, 'circuits').locator('.left').first();
  await left.waitFor();
  const before = await left.innerText();
  expect(before).toMatch(/^\d\d:\d\d$/);
  await expect.poll(() => left.innerText(), { timeout: timeLimit(20_000) }).not.toBe(before);
  const close = async (): Promise<void> => {
    await page.getByRole('button', { name: 'Close the circuit of find_price' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Close the circuit' }).click();
  };
  await close();
  await page.getByText('This API key does not permit that.').waitFor();
  expect(await section(page, 'circuits').innerText()).toMatch(/operate/);
  await page.getByRole('button', { name: 'Forget key' }).click();
  await useKey(page, operator);
  await left.waitFor();
  await close();
  await section(page, 'circuits').waitFor({ state: 'detached' });
  expect(await page.locator('#overview-circuits:focus').count()).toBe(1);
  expect(await page.getByRole('status').textContent()).toBe('The circuit of find_price is closed.');
  expect(await (await call()).text()).not.toContain('circuit_open');
  expect(complaints).toEqual([]);
});

test('two replicas on one Redis are one overview, of one tenant', {
  timeout: SLOW_MS,
}, async () => {
  const redis = await startRedisServer();
  onTestFinished(() => redis.stop());
  const keys = ['rk_acme', 'rk_other'];
  const [acme, other] = keys;
  const environment = {
    ...{ REDIS_URL: `redis://127.0.0.1:${redis.port}` },
    API_KEYS: `acme=${hash('sha256', 'rk_acme')},other=${hash('sha256', 'rk_other')}`,
  };
  const tools = (): readonly ReturnType<typeof createBroken>[] => [
    createBroken('acme_price'),
    createBroken('other_price'),
  ];
  const replicas = [await lab.start(environment, tools()), await lab.start(environment, tools())];
  const call = async (replica: RunningService | undefined, key = '', tool = '', session_id = ''): Promise<void> => {
    const answer = await fetch(`${replica?.url}/tool-calls`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify({ session_id, calls: [{ id: '1', name: tool, arguments: { why: `of ${tool}` } }] }),
    });
    await answer.arrayBuffer();
  };
  for (const replica of replicas)
    for (let round = 0; round < 3; round += 1) {
      await call(replica, acme, 'acme_price', 'acme_session');
      await call(replica, other, 'other_price', 'other_session');
    }
  const { page, complaints } = await lab.open(replicas[0]?.url ?? '');
  await useKey(page, acme ?? '');
  await expect
    .poll(() => page.locator('.tile .figure').first().innerText(), { timeout: timeLimit(60_000), interval: 200 })
    .toBe('6');
  await section(page, 'failing').getByText('of acme_price').waitFor();
  expect(await page.locator('body').innerText()).not.toMatch(/other_price|other_session/);
  expect(complaints).toEqual([]);
});

test('unknown outcomes and approvals are settled where they are found', { timeout: SLOW_MS }, async () => {
  const bank = createLostPayments();
  const service = await lab.start(QUIET, [bank.tool]);
  await createKeyedClient(service.url).post(toPayment(7), { key: freshName() });
  bank.isUnclear = false;
  const { page } = await lab.open(service.url);
  await section(page, 'unknown').getByRole('button', { name: 'Look now' }).click();
  await page.getByText('it happened, found out by its tool').first().waitFor();
  const asked = await startAskedPayments(lab);
  for (const amount of [12, 13]) await asked.pay({ amount, to: 'ann' });
  const second = await lab.open(asked.service.url);
  const approvals = section(second.page, 'approvals');
  await approvals.getByText('"amount": 12').waitFor();
  await expectSound(second.page);
  // No key decides here.
  expect(await approvals.locator('kbd, [aria-keyshortcuts]').count()).toBe(0);
  await approvals.getByRole('button', { name: 'Approve: pay' }).first().click();
  await second.page.getByRole('dialog').getByRole('button', { name: 'Approve' }).click();
  await approvals.getByText('approved by').waitFor();
  await expect.poll(() => approvals.locator('h4:focus').count(), DEADLINE).toBe(1);
  expect(second.complaints).toEqual([]);
});

test('the first approvals that wait are on the overview; one with long arguments is opened to be decided', {
  timeout: SLOW_MS,
}, async () => {
  const { service, pay } = await startAskedPayments(lab, { summary: 'Pay {/amount}' });
  const asked: unknown[] = [];
  for (const amount of [1, 2, 3, 4, 5, 6, 7])
    asked.push((await pay({ amount, to: amount === 7 ? 'x'.repeat(17_000) : 'ann' }))?.error?.approval);
  const { page, complaints } = await lab.open(service.url);
  const approvals = section(page, 'approvals');
  const cards = approvals.locator('li.card');
  await expect.poll(() => cards.locator('p').allInnerTexts(), DEADLINE).toHaveLength(5);
  expect(await cards.first().innerText()).toContain('Pay 1');
  const chosen = cards.nth(2).getByRole('button', { name: 'Approve' });
  await chosen.focus();
  const label = await chosen.getAttribute('aria-label');
  for (const approval of asked.slice(0, 2)) {
    const { id, digest } = z.object({ id: z.string(), digest: z.string() }).parse(approval);
    const headers = { 'content-type': 'application/json', 'if-match': `"${digest}"` };
    await fetch(`${service.url}/approvals/${id}`, { method: 'POST', headers, body: '{"decision":"deny"}' });
  }
  await expect.poll(() => cards.first().innerText(), DEADLINE).toContain('Pay 3');
  expect(await cards.count()).toBe(5);
  // What goes makes no button that of another call.
  expect(await approvals.locator('button:focus').getAttribute('aria-label')).toBe(label);
  await page.route('**/approvals', (route) => route.fulfill({ status: 500, body: '' }));
  await approvals.getByText('The service answered 500.').waitFor();
  await page.unroute('**/approvals');
  await approvals.getByText('The service answered 500.').waitFor({ state: 'detached' });
  expect(await cards.last().getByRole('button').count()).toBe(0);
  await cards.last().getByRole('link', { name: 'open it' }).click();
  await page.getByRole('button', { name: 'Approve: pay' }).waitFor();
  expect(await page.locator('article pre').innerText()).toContain('xxx');
  expect(complaints.filter((text) => !text.includes('500'))).toEqual([]);
});

test('a hidden page reads nothing, and a stream that is refused is read again and again', {
  timeout: SLOW_MS,
}, async () => {
  const service = await lab.start({}, createConsoleTools());
  const { page } = await lab.open(service.url, '#tools');
  await page.route('**/overview', async (route) => {
    const isStream = route.request().headers()['accept']?.includes('ndjson') === true;
    if (isStream)
      await route.fulfill({ status: 503, contentType: 'application/problem+json', body: '{"code":"overloaded"}' });
    else await route.continue();
  });
  await page.getByRole('link', { name: 'Overview' }).click();
  await page.getByText('Nothing is wrong').waitFor();
  await service.call([{ id: '1', name: 'echo', arguments: { text: 'x' } }]);
  await page.getByRole('link', { name: 'echo' }).waitFor();
  await page.unroute('**/overview');
  await page.reload();
  await page.getByRole('link', { name: 'echo' }).waitFor();
  const isReading = (request: Request): boolean => request.url().endsWith('/overview');
  const begun: Request[] = [];
  page.on('request', (request) => void (isReading(request) && begun.push(request)));
  const ended = page.waitForEvent('requestfailed', isReading);
  await page.evaluate(setHidden(true));
  expect((await ended).failure()?.errorText).toBe('net::ERR_ABORTED');
  // Asked behind what the page would have asked.
  await page.evaluate("fetch('live').then((answer) => answer.text())");
  expect(begun).toEqual([]);
  const again = page.waitForEvent('request', isReading);
  await page.evaluate(setHidden(false));
  await again;
  // Also where another page was looked at in between.
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.getByRole('link', { name: 'Tools' }).click();
  await page.getByRole('heading', { name: 'Choose a tool' }).waitFor();
  const once = page.waitForEvent('requestfinished', isReading);
  await page.getByRole('link', { name: 'Overview' }).click();
  expect((await once).headers()['accept']).toBeUndefined();
  await page.getByText('Paused.').waitFor();
});

test('a connection that dies without a word is said to be unreachable, and a stream is begun again once the service is back', {
  timeout: SLOW_MS,
}, async () => {
  const service = await lab.start({}, createConsoleTools());
  const proxy = await startTcpProxy({ to: Number(new URL(service.url).port) });
  onTestFinished(() => proxy.close());
  const { page } = await lab.open(`http://127.0.0.1:${proxy.port}`, '#tools');
  await page.locator('.names li').first().waitFor();
  await page.clock.install();
  const kinds: unknown[] = [];
  page.on('request', (request) => {
    if (request.url().endsWith('/overview')) kinds.push(request.headers()['accept']);
  });
  await page.evaluate("location.hash = '#overview='");
  await page.getByText('Nothing is wrong').waitFor();
  const unreachable = page.getByText('The service cannot be reached.');
  proxy.freeze();
  await page.clock.runFor(44_000);
  expect(await unreachable.count()).toBe(0);
  await page.clock.runFor(1_000);
  await unreachable.waitFor();
  // Neither does it come back at once.
  await page.clock.runFor(13_000);
  proxy.thaw();
  await page.clock.runFor(2_000);
  await unreachable.waitFor({ state: 'detached' });
  proxy.refuse();
  proxy.cut();
  for (const _time of ['once', 'twice']) {
    const failed = page.waitForEvent('requestfailed');
    await expect.poll(() => page.clock.runFor(2_000).then(() => unreachable.count()), DEADLINE).toBe(1);
    await failed;
  }
  await proxy.accept();
  await page.clock.runFor(2_000);
  await unreachable.waitFor({ state: 'detached' });
  expect([...new Set(kinds)]).toEqual(['application/x-ndjson']);
  await page.evaluate("location.hash = '#calls='");
  await page.getByText('No call has failed').waitFor();
  proxy.freeze();
  // The next reading, and the time that it has.
  await page.clock.runFor(22_500);
  await unreachable.waitFor();
  proxy.thaw();
});

const setHidden = (isHidden: boolean): string =>
  `Object.defineProperty(document, 'hidden', { configurable: true, get: () => ${isHidden} });
  document.dispatchEvent(new Event('visibilitychange'));`;

test('what becomes wrong while the overview is looked at is said aloud', { timeout: SLOW_MS }, async () => {
  const service = await lab.start(SOON, [createBroken()]);
  const { page } = await lab.open(service.url);
  await page.getByText('Nothing is wrong').waitFor();
  const said = page.getByRole('status').filter({ hasText: 'Wrong now: ' });
  expect(await said.count()).toBe(0);
  await openCircuit(service);
  await said.filter({ hasText: 'Circuits, find_price' }).waitFor({ state: 'attached' });
});

test('a link to a part opens it, whether something is wrong there or not', { timeout: SLOW_MS }, async () => {
  const service = await lab.start(SOON, [createBroken()]);
  await openCircuit(service);
  const { page } = await lab.open(service.url, '#overview=circuits');
  await expect
    .poll(() => page.locator('#overview-circuits').evaluate((element) => element.matches(':focus')))
    .toBe(true);
  const begun: string[] = [];
  page.on('request', (request) => void begun.push(request.url()));
  await page.evaluate("location.hash = '#overview=replicas'");
  await page.getByRole('region', { name: 'Replicas' }).waitFor();
  // One stream has all parts.
  expect(begun).toEqual([]);
});

test('the API document is dark where the reader wants it so, and leads to the console and back', {
  timeout: SLOW_MS,
}, async () => {
  const { url } = await lab.start({});
  const { page, complaints } = await lab.open(url, '', { colorScheme: 'dark' }, '/docs');
  await page.locator('.opblock').first().waitFor();
  const ground = await page.evaluate(
    "getComputedStyle(document.documentElement.querySelector('body')).backgroundColor",
  );
  expect(ground).toBe('rgb(20, 22, 25)');
  expect(await page.evaluate("getComputedStyle(document.querySelector('.opblock-tag')).color")).toBe(
    'rgb(230, 231, 234)',
  );
  await page.getByRole('link', { name: 'Console' }).click();
  await page.getByText('Nothing is wrong').waitFor();
  await page.getByRole('link', { name: 'API' }).click();
  await page.locator('.opblock').first().waitFor();
  expect(complaints).toEqual([]);
  const { url: bare } = await lab.start({ CONSOLE: 'false' });
  const second = await lab.open(bare, '', {}, '/docs/');
  await second.page.locator('.opblock').first().waitFor();
  expect(await second.page.getByRole('link', { name: 'Console' }).count()).toBe(0);
});

test('the first page and all that it loads is at most 100 kB, and moves nothing when its answer comes', {
  timeout: SLOW_MS,
}, async () => {
  const service = await lab.start({}, createConsoleTools());
  const { page } = await lab.open(service.url, '', { viewport: { width: 1280, height: 900 } });
  await page.getByText('Nothing is wrong').waitFor();
  const Weight = z.object({ bytes: z.number(), files: z.array(z.string()), shift: z.number() });
  const { bytes, files, shift } = Weight.parse(await page.evaluate(WEIGH));
  // And the tools, for the example in a service that was not called yet. Each file more takes a browser 10 ms.
  expect(files.toSorted()).toEqual(['app.js', 'console', 'style.css', 'tools']);
  expect(bytes).toBeLessThan(100_000);
  expect(shift).toBeLessThan(0.01);
});

// With what is sent of each file, packed and with its head.
const WEIGH = `new Promise((resolve) => {
  const sent = performance.getEntries().filter((entry) => 'transferSize' in entry && !entry.name.endsWith('/overview'));
  let shift = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) shift += entry.value;
  }).observe({ type: 'layout-shift', buffered: true });
  setTimeout(() => resolve({
    bytes: sent.reduce((sum, entry) => sum + entry.transferSize, 0),
    files: sent.map((entry) => entry.name.split('/').at(-1)),
    shift,
  }), 100);
})`;
