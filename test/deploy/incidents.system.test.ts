import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { keepScreenshot } from '@recourse/test-support/chromium.ts';
import { createConsoleLab, SLOW_MS } from '@recourse/test-support/console/console-lab.ts';
import { startPrometheus } from '@recourse/test-support/prometheus.ts';
import { startRedisServer } from '@recourse/test-support/redis-server.ts';
import { ROOT, startProcess } from '@recourse/test-support/start-process.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import type { Locator, Page } from 'playwright-core';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { untilFiring, writeImpatientRules } from './live-alerts.ts';

// What a person on call does: from the alert that fires to the cause, and to the cure where it is not in somebody's code. Each test
// begins at the address that the alert names, uses the pointer alone, and counts clicks and the seconds that pages need.

const CACHE = join(ROOT, 'node_modules/.cache/recourse');
const lab = createConsoleLab();
const table: { readonly incident: string; readonly clicks: number; readonly seconds: string }[] = [];
afterAll(() => writeFileSync(join(CACHE, 'incidents.json'), JSON.stringify(table, null, 2)));

const TOOL = (name: string, run: string, more = '') => `
  import { defineTool, RetryableToolError, unclear, z } from 'recourse-server';
  const kept = [];
  export const tool = defineTool({
    name: '${name}',
    description: 'Serves a test of incidents.',
    effects: 'read',
    input: z.object({ id: z.string() }),
    ${more}
    run: async ({ id }) => { ${run} },
  });
`;
const FINE = 'return { id };';

type Incident = {
  readonly alert: string;
  readonly files?: Readonly<Record<string, string>>;
  readonly settings?: Readonly<Record<string, string>>;
};

/** A service with these tools, watched by a Prometheus. */
const startIncident = async ({ alert, files = {}, settings = {} }: Incident) => {
  const tools = makeDirectory({ 'fine.ts': TOOL('fine', FINE), ...files });
  const environment = { TOOLS_DIR: tools.root, CIRCUIT_FAILURES: '40', CIRCUIT_OPEN_MS: '600000', ...settings };
  const service = await startProcess({ by: 'node', environment: { ...environment, MAX_EVENT_LOOP_LAG_MS: '600000' } });
  const prometheus = await startPrometheus({
    targets: [`127.0.0.1:${service.port}`],
    ruleFiles: writeImpatientRules(),
    scrapeIntervalMs: 500,
    externalLabels: { console_of_recourse: `${service.url}/console` },
  });
  onTestFinished(prometheus.stop);
  let sessions = 0;
  const call = async (name: string, session?: string): Promise<string | null> => {
    sessions += 1;
    const body = {
      session_id: session ?? `agent-${sessions}`,
      // A write whose outcome is unknown is looked for until then.
      deadline_ms: 2000,
      calls: [{ name, arguments: { id: `order-${sessions}` } }],
    };
    const answer = await fetch(`${service.url}/tool-calls`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': `incident-${sessions}` },
      body: JSON.stringify(body),
    });
    const { results }: { results: readonly { error: { code: string } | null }[] } = JSON.parse(await answer.text());
    return results[0]?.error?.code ?? null;
  };
  /** Opens what the alert names, once it fires. `meanwhile` runs until then. */
  const openAlert = async (meanwhile: () => Promise<unknown>, tool?: string) => {
    const isIt = ({
      labels,
    }: {
      readonly labels: { readonly alertname: string; readonly tool?: string | undefined };
    }) => labels.alertname === alert && (tool === undefined || labels.tool === tool);
    const firing = await untilFiring(prometheus.url, (alerts) => alerts.some(isIt), meanwhile);
    const address = firing.find(isIt)?.annotations.console_url ?? '';
    expect(address).toContain(`${service.url}/console#`);
    const begun = performance.now();
    const { page, complaints } = await lab.open(service.url, address.slice(address.indexOf('#')));
    return new Visit(alert, page, begun, complaints);
  };
  return { service, tools, call, openAlert };
};

/** What a person does on the pages. */
class Visit {
  readonly page: Page;
  readonly complaints: readonly string[];
  readonly #incident: string;
  readonly #begun: number;
  #clicks = 0;

  constructor(incident: string, page: Page, begun: number, complaints: readonly string[]) {
    [this.#incident, this.page, this.#begun, this.complaints] = [incident, page, begun, complaints];
  }

  readonly sees = async (...texts: readonly (string | RegExp)[]): Promise<void> => {
    for (const text of texts)
      await this.page
        .locator('main')
        .getByText(text)
        .filter({ visible: true })
        .first()
        .waitFor({ timeout: timeLimit(10_000) });
  };

  readonly click = async (target: Locator): Promise<void> => {
    await target.first().click();
    this.#clicks += 1;
  };

  readonly picture = (when: 'before' | 'after'): Promise<void> =>
    keepScreenshot(this.page, `incident-${this.#incident}-${when}`);

  readonly done = async (): Promise<void> => {
    await this.picture('after');
    const seconds = ((performance.now() - this.#begun) / 1000).toFixed(1);
    table.push({ incident: this.#incident, clicks: this.#clicks, seconds });
    expect(this.complaints).toEqual([]);
  };
}

test('a tool hangs: its calls, its circuit, and the circuit closed once the tool is mended', {
  timeout: 2 * SLOW_MS,
}, async () => {
  const hang = TOOL('hang_report', 'await new Promise(() => undefined);', 'timeoutMs: 100,');
  const { call, openAlert, tools } = await startIncident({
    alert: 'RecourseToolFailing',
    files: { 'report.ts': hang },
  });
  const visit = await openAlert(() => call('hang_report'), 'hang_report');
  await visit.sees('timeout');
  await visit.picture('before');
  await visit.click(visit.page.getByRole('link', { name: 'Overview', exact: true }));
  await visit.sees(/timed out after 100 ms/);
  await expect.poll(() => call('hang_report'), { timeout: SLOW_MS }).toBe('circuit_open');
  tools.write('report.ts', TOOL('hang_report', FINE));
  await visit.click(visit.page.getByRole('button', { name: 'Close the circuit of hang_report' }));
  await visit.click(visit.page.getByRole('dialog').getByRole('button', { name: 'Close the circuit' }));
  await expect.poll(() => call('hang_report'), { timeout: SLOW_MS }).toBeNull();
  await visit.done();
});

test('an upstream answers 500: what it says, and the circuit closed once it is mended', {
  timeout: 2 * SLOW_MS,
}, async () => {
  const crm = await startCrm();
  const { call, openAlert } = await startIncident({
    alert: 'RecourseToolFailing',
    settings: { CONFIG_FILE: crm.configFile },
  });
  const visit = await openAlert(() => call('crm_getCustomer'), 'crm_getCustomer');
  await visit.sees('upstream_unavailable', /database is down/);
  await visit.picture('before');
  await visit.click(visit.page.getByRole('link', { name: 'Overview', exact: true }));
  const close = visit.page.getByRole('button', { name: /^Close the circuit of openapi:crm/ });
  await expect.poll(() => call('crm_getCustomer'), { timeout: SLOW_MS }).toBe('circuit_open');
  crm.mend();
  await visit.click(close);
  await visit.click(visit.page.getByRole('dialog').getByRole('button', { name: 'Close the circuit' }));
  await expect.poll(() => call('crm_getCustomer'), { timeout: SLOW_MS }).toBeNull();
  await visit.done();
});

test('Redis is gone: the store is named, and the page says by itself when it is back', {
  timeout: 2 * SLOW_MS,
}, async () => {
  const redis = await startRedisServer();
  onTestFinished(redis.stop);
  const { call, openAlert } = await startIncident({
    alert: 'RecourseStoreDegraded',
    settings: { REDIS_URL: redis.url },
  });
  await call('fine');
  await redis.kill();
  const visit = await openAlert(() => call('fine'));
  await visit.sees(/down/);
  await visit.picture('before');
  await redis.restart();
  await visit.page.locator('#overview-store').getByText(/up/).first().waitFor();
  await visit.done();
});

test('an agent loops: its session, the two rows that hold the cause, and its budget reset', {
  timeout: 2 * SLOW_MS,
}, async () => {
  const picky = TOOL('picky', "throw new RetryableToolError('Orders have twelve digits.');");
  const { call, openAlert } = await startIncident({
    alert: 'RecourseAgentsLooping',
    files: { 'picky.ts': picky },
  });
  const visit = await openAlert(() => call('picky', 'looping-agent'), 'picky');
  await visit.sees('picky');
  await visit.picture('before');
  await visit.click(visit.page.locator('main').getByRole('link', { name: /^~[0-9a-f]{8}/ }));
  await visit.sees(/retry_budget_exhausted/, 'Orders have twelve digits.');
  expect(await call('picky', 'looping-agent')).toBe('retry_budget_exhausted');
  await visit.click(visit.page.getByRole('button', { name: 'Reset picky' }));
  await visit.click(visit.page.getByRole('dialog').getByRole('button', { name: 'Reset', exact: true }));
  await expect.poll(() => call('picky', 'looping-agent'), { timeout: SLOW_MS }).not.toBe('retry_budget_exhausted');
  await visit.done();
});

test('a deploy breaks a tool file: file, line and excerpt, gone once it is put back', {
  timeout: 2 * SLOW_MS,
}, async () => {
  const { tools, openAlert, call } = await startIncident({
    alert: 'RecourseToolFileNotLoaded',
    files: { 'orders.ts': TOOL('place_order', FINE) },
  });
  expect(await call('place_order')).toBeNull();
  tools.write('orders.ts', 'const open = () = {\n');
  const visit = await openAlert(() => call('place_order'));
  await visit.sees(/orders\.ts/, /const open/, /older version serves/);
  await visit.picture('before');
  tools.write('orders.ts', TOOL('place_order', FINE));
  await visit.page
    .locator('main')
    .getByText(/const open/)
    .first()
    .waitFor({ state: 'detached' });
  await visit.done();
});

test('a tool leaks: its file, its restarts and its memory', { timeout: 3 * SLOW_MS }, async () => {
  const leak = 'for (let n = 0; n < 4; n += 1) kept.push(Buffer.alloc(4_000_000, 1)); return kept.length;';
  const { call, openAlert } = await startIncident({
    alert: 'RecourseToolLeaking',
    files: { 'leak.ts': TOOL('leak', leak) },
    settings: { TOOL_HOST_MEMORY_MB: '256' },
  });
  const visit = await openAlert(() => call('leak'));
  await visit.sees(/leak\.ts/, /restarts in the last hour: growth/);
  await visit.picture('before');
  await visit.done();
});

test('a write whose outcome is unknown: what is known of it, and a verdict by hand', {
  timeout: 2 * SLOW_MS,
}, async () => {
  const pay = TOOL(
    'pay',
    'while (true);',
    'timeoutMs: 200, reconcile: () => unclear({ retryAfterMs: 60_000 }),',
  ).replace("effects: 'read'", "effects: 'write'");
  const { call, openAlert } = await startIncident({ alert: 'RecourseOutcomesUnknown', files: { 'pay.ts': pay } });
  const visit = await openAlert(() => call('pay'), 'pay');
  await visit.sees('pay', 'timeout');
  await visit.picture('before');
  await visit.click(visit.page.getByRole('link', { name: 'Unknown outcomes that can be settled' }).first());
  await visit.click(visit.page.getByRole('button', { name: /It did not happen/ }));
  await visit.page.getByRole('dialog').getByRole('textbox').last().fill('The bank has no such payment.');
  await visit.click(visit.page.getByRole('dialog').getByRole('button', { name: /It did not happen/ }));
  await visit.sees(/did not happen/);
  await visit.done();
});

/** A CRM whose database is down until it is mended, and the configuration file that names its OpenAPI document. */
const startCrm = async () => {
  let isDown = true;
  const server = createServer((_request, response) => {
    response.writeHead(isDown ? 500 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(isDown ? { error: 'database is down' } : { id: 'order' }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
  const id = { name: 'id', in: 'query', required: true, schema: { type: 'string' } };
  const responses = { 200: { description: 'A customer.' } };
  const document = {
    openapi: '3.1.0',
    info: { title: 'CRM', version: '1' },
    servers: [{ url }],
    paths: {
      '/customers': { get: { operationId: 'getCustomer', summary: 'Gets a customer.', parameters: [id], responses } },
    },
  };
  const folder = makeDirectory({ 'crm.json': JSON.stringify(document) });
  folder.write(
    'recourse.config.json',
    JSON.stringify({ openapi: { crm: { document: join(folder.root, 'crm.json'), privateAddresses: 'allow' } } }),
  );
  return {
    configFile: join(folder.root, 'recourse.config.json'),
    mend: (): void => {
      isDown = false;
    },
  };
};
