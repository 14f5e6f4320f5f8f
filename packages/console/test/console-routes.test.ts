import { hash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { expect, onTestFinished, test } from 'vitest';
import { makeConsoleFiles } from '#src/console-files.ts';

const ROOT = join(import.meta.dirname, '../../..');

const start = async (environment: Readonly<Record<string, string>> = {}): Promise<RunningService> => {
  const service = await startService(environment);
  onTestFinished(() => service.stop());
  return service;
};

const WITH_KEYS = { API_KEYS: `acme=${hash('sha256', 'secret')}` };

test('the page is served without a key, under a strict policy, and is asked for anew every time', async () => {
  const { url } = await start(WITH_KEYS);
  const answer = await fetch(`${url}/console`);
  expect(answer.status).toBe(200);
  expect(Object.fromEntries(answer.headers)).toMatchObject({
    'cache-control': 'no-cache',
    'content-security-policy':
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types lit-html",
    'content-type': 'text/html; charset=utf-8',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
  });
  const page = await answer.text();
  expect(page).toContain('<script type="module" src="console/app.js"></script>');
  expect(page).not.toMatch(/<script(?![^>]* src=)|<style|\son[a-z]+=|\sstyle=/);
  const named = [...page.matchAll(/\s(?:src|href|srcset|action|data)\s*=\s*["']?([^"'\s>]*)/gi)].map(
    ([, to = '']) => to,
  );
  expect(named.length).toBeGreaterThan(4);
  expect(named.filter((to) => !/^(console\/[\w.-]+|docs|data:,)$/.test(to))).toEqual([]);
});

test('the page names the document of the API where the service has one', async () => {
  for (const DOCS of ['true', 'false']) {
    const { url } = await start({ DOCS });
    const page = await (await fetch(`${url}/console`)).text();
    expect(page.includes('<link rel="service-doc" href="docs" />')).toBe(DOCS === 'true');
  }
});

test('a file that the browser still has is not sent again', async () => {
  const { url } = await start();
  const first = await fetch(`${url}/console/app.js`);
  expect(first.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
  const etag = first.headers.get('etag') ?? '';
  expect(etag).toMatch(/^"[\w-]{43}"$/);
  const ask = (known: string) => fetch(`${url}/console/app.js`, { headers: { 'if-none-match': known } });
  for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) expect((await ask(known)).status).toBe(304);
  expect((await ask('"other"')).status).toBe(200);
});

test('a file is packed for a client that takes it so, and each form has a tag of its own', async () => {
  const { url } = await start();
  const ask = async (encodings: string) => {
    const answer = await fetch(`${url}/console/app.js`, { headers: { 'accept-encoding': encodings } });
    const { headers } = answer;
    expect(headers.get('vary')).toBe('accept-encoding');
    const [length, etag] = [Number(headers.get('content-length')), headers.get('etag')];
    return { packed: headers.get('content-encoding'), length, etag, text: await answer.text() };
  };
  const packed = await ask('br, gzip;q=0.5');
  const plain = await ask('identity');
  expect([packed.packed, plain.packed]).toEqual(['gzip', null]);
  expect(packed.text).toBe(plain.text);
  expect(packed.length).toBeLessThan(plain.length / 2);
  expect(packed.etag).not.toBe(plain.etag);
  for (const refused of ['gzip;q=0', 'gzip; q=0.000, br', 'x-gzip2']) expect(await ask(refused)).toEqual(plain);
});

test('every file that the page names is served, and no other; the script asks for none', async () => {
  const { url } = await start();
  const page = await (await fetch(`${url}/console`)).text();
  const named = [...page.matchAll(/(?:src|href)="console\/([^"]+)"/g)].map(([, name = '']) => name);
  expect(named).toEqual(['style.css', 'app.js']);
  for (const name of named) expect((await fetch(`${url}/console/${name}`)).status).toBe(200);
  const script = await (await fetch(`${url}/console/app.js`)).text();
  expect(script.match(/^import\b.*|\bfrom ['"].*|\bimport\(['"`].*/gm)).toBeNull();
  // The licence of what is in it goes with it.
  expect(script).toMatch(/@license\s+\* Copyright \d+ Google LLC\s+\* SPDX-License-Identifier: BSD-3-Clause/);
  for (const name of ['missing.js', 'app.ts', 'page-view.js', '..%2fapp.ts', '__proto__', 'constructor', '%00'])
    expect([name, (await fetch(`${url}/console/${name}`)).status]).toEqual([name, 404]);
});

test('other methods are refused, and the address with a slash leads to the one without', async () => {
  const { url } = await start();
  expect((await fetch(`${url}/console`, { method: 'HEAD' })).status).toBe(200);
  const refused = await fetch(`${url}/console`, { method: 'POST' });
  expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  const moved = await fetch(`${url}/console/`, { redirect: 'manual' });
  expect([moved.status, moved.headers.get('location')]).toEqual([308, '../console']);
  const approval = await fetch(`${url}/console/approvals/a_1%26session=s%23x`, { redirect: 'manual' });
  expect([approval.status, approval.headers.get('location')]).toEqual([
    308,
    '../../console#approvals=a_1%26session%3Ds%23x',
  ]);
});

test('the console is no part of the API document, and CONSOLE=false leaves it out', async () => {
  const { url } = await start();
  expect(await (await fetch(`${url}/openapi.json`)).text()).not.toContain('/console');
  const without = await start({ CONSOLE: 'false' });
  expect((await fetch(`${without.url}/console`)).status).toBe(404);
  expect((await fetch(`${without.url}/console/app.js`)).status).toBe(404);
});

test('a checkout whose script was not made of its sources says what to do in place of the page', () => {
  const files = makeConsoleFiles({ pages: new Map(), traceUrl: '', hasDocs: () => true, script: null });
  expect(files.get('page.html')).toThrow('sh scripts/ensure-bundles.sh');
  expect(files.has('app.js')).toBe(false);
});

test('no source of the console can make markup of a text', () => {
  const sources = globSync('packages/console/src/page/*.ts', { cwd: ROOT });
  expect(sources.length).toBeGreaterThan(10);
  const dangerous =
    /unsafe|innerHTML|outerHTML|insertAdjacent|document\.write|createContextualFragment|eval\(|Function\(/;
  const offenders = sources.filter((path) => dangerous.test(readFileSync(join(ROOT, path), 'utf8')));
  expect(offenders).toEqual([]);
});

test.each([
  ['https://jaeger.example.com/trace/{trace_id}', true],
  ['http://127.0.0.1:3000/explore?left={"q":"{trace_id}"}', true],
  ['javascript:alert("{trace_id}")', false],
  ['https://{trace_id}.example.com/', false],
  ['https://user@example.com/{trace_id}', false],
  ['https://example.com/trace', false],
  ['https://example.com/ {trace_id}', false],
])('TRACE_URL=%s is checked at the start', async (TRACE_URL, isTaken) => {
  const starting = start({ TRACE_URL });
  if (!isTaken) return expect(starting).rejects.toThrow('TRACE_URL');
  const page = await (await fetch(`${(await starting).url}/console`)).text();
  const [, content = ''] = /<meta name="service-facts" content="([^"]*)" \/>/.exec(page) ?? [];
  expect(JSON.parse(content.replaceAll('&quot;', '"').replaceAll('&amp;', '&'))).toMatchObject({
    trace_url: TRACE_URL,
    codes: { timeout: 'The time limit of the call passed.' },
    extension_pages: [],
  });
});
