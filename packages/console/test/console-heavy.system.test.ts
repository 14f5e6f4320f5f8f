import { createConsoleLab, SLOW_MS } from '@recourse/test-support/console/console-lab.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import type { Page, Route } from 'playwright-core';
import { defineTool } from 'recourse-server/internal/tools/define-tool.ts';
import { expect, test } from 'vitest';
import * as z from 'zod';

const lab = createConsoleLab();

// Whoever types waits this long for his own letter at most, also while a compiler runs beside the browser.
const PATIENCE_MS = timeLimit(2_000);

/** Milliseconds from a key that is pressed in a field to the page that shows it. */
const timeTyping = async (page: Page, selector: string, text: string): Promise<number> =>
  z.number().parse(
    await page.evaluate(`(() => {
      const field = document.querySelector(${JSON.stringify(selector)});
      const startedAt = performance.now();
      field.value = ${JSON.stringify(text)};
      field.dispatchEvent(new InputEvent('input', { bubbles: true }));
      document.body.getBoundingClientRect();
      return performance.now() - startedAt;
    })()`),
  );

const recursive = () => {
  const names = Array.from({ length: 12 }, (_, at) => `child${at}`);
  const node: z.ZodType = z.lazy(() => z.object(Object.fromEntries(names.map((name) => [name, node.optional()]))));
  return defineTool({
    name: 'recursive',
    description: 'Refers to itself.',
    input: z.object({ root: node }),
    effects: 'read',
    run: () => ({}),
  });
};

const wide = defineTool({
  name: 'wide',
  description: 'Has ten thousand parameters.',
  input: z.object(Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`p${at}`, z.string().optional()]))),
  effects: 'read',
  run: () => ({}),
});

const talkative = defineTool({
  name: 'talkative',
  description: 'd'.repeat(1_000_000),
  source: 's'.repeat(1_000_000),
  input: z.object({
    text: z.string().default('t'.repeat(1_000_000)).describe('p'.repeat(1_000_000)),
    one: z.enum(Array.from({ length: 10_000 }, (_, at) => `o${at}`)).optional(),
  }),
  effects: 'read',
  run: () => Array.from({ length: 200_000 }, () => 1),
});

test.each([
  ['recursive', recursive()],
  ['wide', wide],
  ['talkative', talkative],
])('a schema without measure leaves the page usable: %s', { timeout: SLOW_MS }, async (name, tool) => {
  const { page, complaints } = await lab.show([tool], `#tool=${name}`);
  await page.locator('#arguments').waitFor();
  expect(await page.locator('.try .field').count()).toBeLessThan(250);
  expect(await page.locator('.try option').count()).toBeLessThan(250);
  expect((await page.locator('.facts, .try').allTextContents()).join('').length).toBeLessThan(50_000);
  expect(await timeTyping(page, '#arguments', '{"p0":"x"}')).toBeLessThan(PATIENCE_MS);
  expect(complaints).toEqual([]);
});

test('parameters that have no field of their own are said to be there', { timeout: SLOW_MS }, async () => {
  const { page } = await lab.show([wide], '#tool=wide');
  await page.getByText('9800 more parameters have no field here: enter them in the JSON below.').waitFor();
});

test('a large result is prepared once, and not at every key', { timeout: SLOW_MS }, async () => {
  const { page } = await lab.show([talkative], '#tool=talkative');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.locator('.mark.success').waitFor();
  await page.getByRole('button', { name: 'Raw answer' }).click();
  // What is done with texts of a megabyte is counted, since a clock says little on a busy machine.
  await page.evaluate(`(() => {
    window.heavy = 0;
    const { stringify } = JSON;
    JSON.stringify = (...given) => {
      const text = stringify(...given);
      if (text?.length > 100_000) window.heavy += 1;
      return text;
    };
    for (const name of ['matchAll', 'replace']) {
      const original = String.prototype[name];
      String.prototype[name] = function (...given) {
        if (this.length > 100_000) window.heavy += 1;
        return original.apply(this, given);
      };
    }
  })()`);
  expect(await timeTyping(page, '#arguments', '{"a":1}')).toBeLessThan(PATIENCE_MS);
  expect(await page.evaluate('window.heavy')).toBe(0);
});

test('a long list that was pasted is shown as JSON, and not as thousands of fields', { timeout: SLOW_MS }, async () => {
  const tool = defineTool({
    ...{ name: 'tags', description: 'Takes tags.', effects: 'read', run: () => ({}) },
    input: z.object({ tags: z.array(z.object({ a: z.string(), b: z.array(z.string()) })) }),
  });
  const { page, complaints } = await lab.show([tool], '#tool=tags');
  const items = (count: number) => Array.from({ length: count }, () => ({ a: 'x', b: ['y'] }));
  await page.locator('#arguments').fill(JSON.stringify({ tags: items(2) }));
  await page.getByLabel('Remove tags 2', { exact: true }).waitFor();
  await page.locator('#arguments').fill(JSON.stringify({ tags: items(5_000) }));
  await page.getByText('JSON; anything else is sent as text').waitFor();
  expect(await page.locator('.try .field').count()).toBeLessThan(10);
  expect(complaints).toEqual([]);
});

const answering =
  (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  (route: Route): Promise<void> =>
    route.fulfill({ status, headers, contentType: 'application/json', body: JSON.stringify(body) });

test('a Retry-After that no timer can hold does not make the page ask without a pause', {
  timeout: SLOW_MS,
}, async () => {
  const { url } = await lab.start();
  const { page } = await lab.open(url, '#tools');
  let asked = 0;
  await page.route('**/sessions/busy', (route) => {
    asked += 1;
    return answering(503, {}, { 'retry-after': '999999999' })(route);
  });
  await page.evaluate("location.hash = '#session=busy'");
  await page.getByText('Try again in 999999999 s.').waitFor();
  // Timers in the page are exact: ten of its turns later a pause of none would have asked ten times.
  await page.evaluate(
    'new Promise((done) => { let turns = 50; const turn = () => (turns-- ? setTimeout(turn, 4) : done()); turn(); })',
  );
  expect(asked).toBe(1);
});

test('whatever is not known to do no harm is asked about first', { timeout: SLOW_MS }, async () => {
  const { url } = await lab.start();
  const { page } = await lab.open(url, '#tools');
  const [echo] = z
    .object({ tools: z.tuple([z.looseObject({})], z.unknown()) })
    .parse(await (await fetch(`${url}/tools`)).json()).tools;
  const tools = ['destroy', '', '__proto__'].map((effects, at) => ({ ...echo, name: `t${at}`, effects }));
  await page.route('**/tools', answering(200, { tools }));
  let posted = 0;
  page.on('request', (request) => {
    if (request.method() === 'POST' && !request.postData()?.includes('"dry_run":true')) posted += 1;
  });
  const wouldRun = { outcome: 'checked', dry_run: { would: 'run' } };
  await page.route('**/tool-calls', answering(200, { results: [wouldRun] }));
  await page.getByRole('button', { name: 'Reload' }).click();
  for (const { name } of tools) {
    await page.evaluate(`location.hash = '#tool=${name}'`);
    await page.getByRole('heading', { name, exact: true }).waitFor();
    await page.getByRole('button', { name: 'Send' }).click();
    await page
      .getByRole('dialog', { name: `Run ${name}?` })
      .getByRole('button', { name: 'Cancel' })
      .click();
  }
  expect(posted).toBe(0);
});

test('of thousands of tools the first are listed, and all are found', { timeout: SLOW_MS }, async () => {
  const { url } = await lab.start();
  const { page } = await lab.open(url, '#tools');
  const tools = Array.from({ length: 5_000 }, (_, at) => ({
    name: `t${at}`,
    description: 'd'.repeat(2_000),
    effects: 'read',
    source: 'TOOLS_DIR/many.ts',
  }));
  await page.route('**/tools', answering(200, { tools }));
  await page.getByRole('button', { name: 'Reload' }).click();
  await page.getByText('Only the first 300 are listed. Search for the others.').waitFor();
  expect(await page.locator('.names li').count()).toBe(300);
  expect(await timeTyping(page, '#search', 't4999')).toBeLessThan(PATIENCE_MS);
  await page.getByText('1 of 5000 tools').waitFor();
  await page.getByRole('link', { name: 't4999' }).waitFor();
});
