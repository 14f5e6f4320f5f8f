import { hash } from 'node:crypto';
import { createConsoleLab, SLOW_MS, useKey } from '@recourse/test-support/console/console-lab.ts';
import { answering, startHttpTarget } from '@recourse/test-support/http-target.ts';
import { expect, test } from 'vitest';

const lab = createConsoleLab();

const KEY = 'a-secret-key-of-32-characters-xx';
const WITH_KEYS = { API_KEYS: `acme=${hash('sha256', KEY)}` };

/** Where a page can put something that stays, and what it shows; a text: this program knows no DOM. */
const READ_ALL = `(async () => JSON.stringify({
  local: { ...localStorage },
  cookie: document.cookie,
  databases: await indexedDB.databases(),
  caches: await caches.keys(),
  workers: (await navigator.serviceWorker.getRegistrations()).length,
  history: history.state,
  address: location.href,
  name: window.name,
  page: document.documentElement.outerHTML,
  fields: [...document.querySelectorAll('input, textarea')].map((field) => field.value),
}))()`;

test('the key is in the tab and nowhere else, and in no address that was asked for', { timeout: SLOW_MS }, async () => {
  const { url } = await lab.start(WITH_KEYS);
  const { page, complaints } = await lab.open(url, '#tools');
  const asked: string[] = [];
  page.on('request', (request) => void asked.push(`${request.url()} ${request.postData() ?? ''}`));
  await useKey(page, KEY);
  await page.getByText('6 tools').waitFor();
  await page.evaluate("location.hash = '#tool=echo'");
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByRole('heading', { name: 'Result' }).waitFor();
  expect(String(await page.evaluate(READ_ALL))).not.toContain(KEY);
  expect(asked.join('\n')).not.toContain(KEY);
  expect(await page.evaluate('JSON.stringify({ ...sessionStorage })')).toBe(
    JSON.stringify({ 'recourse.api-key': KEY }),
  );
  const other = await page.context().newPage();
  await other.goto(`${url}/console`);
  await other.getByText('This service requires an API key.').waitFor();
  await page.getByRole('button', { name: 'Forget key' }).click();
  expect(await page.evaluate('sessionStorage.length')).toBe(0);
  expect(complaints).toEqual([]);
});

test('another site can neither frame the console nor keep a hand on it, and its messages change nothing', {
  timeout: SLOW_MS,
}, async () => {
  const { url } = await lab.start();
  const site = await startHttpTarget(answering(200, { 'content-type': 'text/html' }, '<body><h1>Elsewhere</h1>'));
  const { page } = await lab.open(url, '#tools');
  await page.goto(site.origin);
  await page.evaluate(`new Promise((done) => {
    const frame = document.createElement('iframe');
    frame.onload = done;
    frame.src = ${JSON.stringify(`${url}/console`)};
    document.body.append(frame);
  })`);
  expect(
    page
      .frames()
      .map((frame) => frame.url())
      .filter((at) => at.startsWith(url)),
  ).toEqual([]);
  const [popup] = await Promise.all([
    page.context().waitForEvent('page'),
    page.evaluate(`void (window.held = open(${JSON.stringify(`${url}/console#tool=echo`)}))`),
  ]);
  await popup.getByRole('heading', { name: 'echo' }).waitFor();
  expect(await page.evaluate('window.held.closed')).toBe(true);
  expect(await popup.evaluate('window.opener')).toBe(null);
  await popup.evaluate("postMessage({ type: 'setKey', key: 'x', hash: '#session=x' }, '*')");
  expect(await popup.evaluate('[location.hash, sessionStorage.length].join()')).toBe('#tool=echo,0');
});

test('names of the page and of prototypes in an address clobber and pollute nothing', {
  timeout: SLOW_MS,
}, async () => {
  const { url } = await lab.start();
  const hostile = [
    '__proto__[polluted]=1',
    'constructor.prototype.polluted=1',
    'tool=__proto__',
    'tool=constructor',
    'tool=app',
  ];
  for (const text of hostile) {
    const { page, complaints } = await lab.open(url, `?${text}#${text}`);
    // What names no page leads to the first one.
    await page.getByText(text.startsWith('tool=') ? '6 tools' : 'Nothing is wrong').waitFor();
    expect(await page.evaluate("'polluted' in {}")).toBe(false);
    expect(complaints).toEqual([]);
  }
});

test('no script of the service can become a worker that sees what other pages ask', { timeout: SLOW_MS }, async () => {
  const { url } = await lab.start();
  const { page } = await lab.open(url, '#tools');
  for (const script of ['console/app.js', 'openapi.json', 'tools', 'docs/static/swagger-initializer.js']) {
    const registering = page.evaluate(
      `navigator.serviceWorker.register('/${script}', { scope: '/' }).then(() => 'yes', () => 'no')`,
    );
    expect([script, await registering]).toEqual([script, 'no']);
  }
});

test('/docs shows the document of this service, whatever its address says, and asks nobody else', {
  timeout: SLOW_MS,
}, async () => {
  const { url } = await lab.start();
  const elsewhere = await startHttpTarget(
    answering(200, { 'access-control-allow-origin': '*' }, '{"openapi":"3.1.0"}'),
  );
  const { page, complaints } = await lab.open(url, '#tools');
  const from = elsewhere.origin;
  const spec = encodeURIComponent('{"openapi":"3.1.0","info":{"title":"<img src=x onerror=alert(1)>","version":"1"}}');
  // Each page takes seconds to render: a member that another one could hide has a page of its own.
  const queries = [
    `?url=${from}&urls.primaryName=x`,
    `?configUrl=${from}&__proto__[url]=${from}`,
    `?spec=${spec}`,
    `#/?url=${from}&spec=${spec}`,
  ];
  for (const query of queries) {
    await page.goto('about:blank');
    await page.goto(`${url}/docs${query}`, { waitUntil: 'networkidle' });
    expect(await page.locator('.swagger-ui img[src="x"]').count()).toBe(0);
  }
  expect(elsewhere.connections()).toBe(0);
  await page.goto('about:blank');
  await page.goto(`${url}/docs`);
  await page.getByText('Executes tools for LLM agents.').waitFor();
  // A key that is entered there is kept nowhere: test/e2e/docs-page.system.test.ts enters one.
  await page.getByRole('button', { name: 'Authorize' }).first().waitFor();
  expect(await page.evaluate('[localStorage.length, sessionStorage.length, document.cookie].join()')).toBe('0,0,');
  expect(complaints.filter((complaint) => complaint.startsWith('dialog'))).toEqual([]);
});
