import { hash } from 'node:crypto';
import { createConsoleLab, replaceHeaders, SLOW_MS, send, useKey } from '@recourse/test-support/console/console-lab.ts';
import { createConsoleTools } from '@recourse/test-support/console/console-tools.ts';
import { startService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test, vi } from 'vitest';

// A name that is not loopback for the service, and leads to it all the same.
const lab = createConsoleLab(['--host-resolver-rules=MAP recourse.test 127.0.0.1']);

const KEY = 'rk_console_test_key';
const keyed = (words = ''): Readonly<Record<string, string>> => ({ API_KEYS: `acme=${hash('sha256', KEY)}${words}` });

test('a key is asked for, sent as a header alone, kept for the tab, and forgotten', { timeout: SLOW_MS }, async () => {
  const { url } = await lab.start(keyed(), createConsoleTools());
  const { page, complaints } = await lab.open(url, '#tools');
  await page.getByText('This service requires an API key.').waitFor();
  const addresses: string[] = [];
  page.on('request', (request) => void addresses.push(request.url()));
  await useKey(page, 'two words');
  await page.getByText('A key has only printable ASCII characters and no spaces.').waitFor();
  await useKey(page, 'rk_wrong');
  await page.getByText('The API key was not accepted.').waitFor();
  await useKey(page, KEY);
  await page.getByText('10 tools').waitFor();
  await page.reload();
  await page.getByText('10 tools').waitFor();
  expect(await page.evaluate('[localStorage.length, document.cookie, location.href.includes("rk_")]')).toEqual([
    0,
    '',
    false,
  ]);
  await page.getByRole('button', { name: 'Forget key' }).click();
  await page.getByText('This service requires an API key.').waitFor();
  expect(await page.evaluate('sessionStorage.length')).toBe(0);
  expect(addresses.length).toBeGreaterThan(3);
  expect(addresses.filter((address) => address.includes('rk_'))).toEqual([]);
  expect(complaints).toEqual([]);
});

test('an operation the key lacks is named', { timeout: SLOW_MS }, async () => {
  const service = await lab.start(keyed(' may=call'), createConsoleTools());
  const { page } = await lab.open(service.url, '#session=s_42');
  await useKey(page, KEY);
  await page.getByText('This API key does not permit that.').waitFor();
  await page.getByText('HTTP 403 operation_not_allowed').waitFor();
});

/** A service on a port that it knows beforehand. */
const startKnown = async (toEnvironment: (port: number) => Readonly<Record<string, string>>): Promise<number> => {
  const { port, stop } = await startService();
  await stop();
  const started = await lab.start({ ...keyed(), PORT: String(port), ...toEnvironment(port) }, createConsoleTools());
  return started.port;
};

test('under a name that is not loopback the page says that its origin must be added', {
  timeout: SLOW_MS,
}, async () => {
  const { port } = await lab.start(keyed(), createConsoleTools());
  const { page } = await lab.open(`http://recourse.test:${port}`);
  await page.getByText('the service refuses requests from the origin of this page').waitFor();
});

test('once its origin is added, the page works under that name', { timeout: SLOW_MS }, async () => {
  const port = await vi.waitFor(
    () => startKnown((chosen) => ({ ALLOWED_ORIGINS: `http://recourse.test:${chosen}` })),
    // Somebody else may have taken the port in between.
    { timeout: timeLimit(60_000), interval: 100 },
  );
  const { page } = await lab.open(`http://recourse.test:${port}`, '#tool=find_order');
  await useKey(page, KEY);
  await page.getByLabel('number required').fill('1');
  await send(page);
});

test('a call that is refused for the origin of the page names that origin', { timeout: SLOW_MS }, async () => {
  const { url } = await lab.start({}, createConsoleTools());
  const { page } = await lab.open(url, '#tool=find_order');
  // A browser does not let anybody name another origin: the service is asked in its place.
  await replaceHeaders(page, { origin: 'http://elsewhere.example' });
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText(`Add this page's origin to ALLOWED_ORIGINS: ${url}`).waitFor();
  await page.getByText('HTTP 403 forbidden_origin').waitFor();
});

test('a rate that is used up says when to come again', { timeout: SLOW_MS }, async () => {
  const { url } = await lab.start(keyed(' rate=1/h'), createConsoleTools());
  const { page } = await lab.open(url, '#tools');
  await useKey(page, KEY);
  await page.getByText('10 tools').waitFor();
  await page.getByRole('button', { name: 'Reload' }).click();
  await page.getByText('Too many requests for this key.').waitFor();
  expect(await page.locator('.trouble').innerText()).toMatch(/Try again in \d+ s\./);
});

test('a service that drains, and one that has gone, are told apart', { timeout: SLOW_MS }, async () => {
  const service = await lab.start({}, createConsoleTools());
  const { page, complaints } = await lab.open(service.url, '#tools');
  await page.getByText('10 tools').waitFor();
  service.drain();
  await page.getByRole('button', { name: 'Reload' }).click();
  await page.getByText('The service does not accept requests now.').waitFor();
  expect(await page.locator('.trouble').innerText()).toContain('Try again in 1 s.');
  expect(complaints).toEqual([]);
});

test('without a network the page says so, and goes on when it is back', { timeout: SLOW_MS }, async () => {
  const { page, complaints } = await lab.show(createConsoleTools(), '#session=s_42');
  await page.getByText('This session has no data').waitFor();
  await page.context().setOffline(true);
  await page.getByText('The service cannot be reached.').waitFor();
  await page.context().setOffline(false);
  await page.getByText('The service cannot be reached.').waitFor({ state: 'detached' });
  expect(complaints).toEqual([]);
});

test('an answer of a proxy is not taken for one of the service', { timeout: SLOW_MS }, async () => {
  const { page, complaints } = await lab.show(createConsoleTools(), '#tools');
  await page.getByText('10 tools').waitFor();
  await page.route('**/tools', (route) => route.fulfill({ status: 502, contentType: 'text/html', body: '<b>Bad</b>' }));
  await page.getByRole('button', { name: 'Reload' }).click();
  await page.getByText('The service answered 502.').waitFor();
  await page.getByText('a proxy may have sent it').waitFor();
  expect(complaints).toEqual([]);
});
