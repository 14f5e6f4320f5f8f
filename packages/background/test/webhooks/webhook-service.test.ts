import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startRedisServer } from '@recourse/test-support/redis-server.ts';
import {
  answerWith,
  completed,
  DEADLINE,
  NEW_SECRET,
  OLD_SECRET,
  startReceiver,
} from '@recourse/test-support/webhook-lab.ts';
import { pino } from 'pino';
import { loadConfig } from 'recourse-server/internal/config/settings/config.ts';
import { createLogHooks } from 'recourse-server/internal/telemetry/logger.ts';
import { wire } from 'recourse-server/internal/wiring/wire.ts';
import { wireRedaction } from 'recourse-server/internal/wiring/wire-redaction.ts';
import { Webhook } from 'standardwebhooks';
import { expect, onTestFinished, test, vi } from 'vitest';

const endpoint = (url: string, more: Readonly<Record<string, unknown>> = {}) => ({
  url,
  secret: NEW_SECRET,
  events: ['tool_call.completed'],
  privateAddresses: 'allow',
  ...more,
});

/** The whole service with a configuration file on the real disk. Gone with its test. */
const startService = async (webhooks: unknown, environment: Readonly<Record<string, string>> = {}) => {
  const folder = await mkdtemp(join(tmpdir(), 'recourse-webhooks-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, 'recourse.config.json');
  const write = (next: unknown): Promise<void> => writeFile(path, JSON.stringify({ webhooks: next }));
  await write(webhooks);
  const variables = { PORT: '0', LOG_LEVEL: 'debug', CONFIG_FILE: path, ...environment };
  const loaded = loadConfig(variables);
  if ('mistakes' in loaded) throw new Error(loaded.mistakes.join('\n'));
  const lines: string[] = [];
  const redaction = wireRedaction(loaded.config, variables);
  const hooks = createLogHooks(redaction.redactor);
  const log = pino({ level: 'debug', base: null, hooks }, { write: (line: string) => void lines.push(line) });
  const service = await wire(loaded.config, log, { environment: variables, redaction, metricsSharedMs: 0 });
  let isClosed = false;
  const close = async (): Promise<void> => {
    if (isClosed) return;
    isClosed = true;
    await service.app.close();
    await service.close();
  };
  onTestFinished(close);
  return {
    webhooks: service.webhooks,
    log: () => lines.join(''),
    close,
    write,
    metrics: async () => (await service.app.inject('/metrics')).body,
  };
};

test('the service delivers what it is told, counts it, and logs no address, secret or id of the caller', async () => {
  const receiver = await startReceiver((response, count) => answerWith(count === 1 ? 500 : 200)(response, count));
  const service = await startService({ ops: endpoint(`${receiver.url}?sig=kx3vQ81nTz`) });
  await service.webhooks.emit(completed());
  await vi.waitFor(() => expect(receiver.received).toHaveLength(2), DEADLINE);
  const [{ headers, body, path } = { headers: {}, body: '', path: '' }] = receiver.received;
  expect(path).toBe('/hook?sig=kx3vQ81nTz');
  new Webhook(NEW_SECRET).verify(body, { ...headers });
  await vi.waitFor(async () => {
    const metrics = await service.metrics();
    expect(metrics).toContain('recourse_webhook_deliveries_total{endpoint="ops",result="retried"} 1');
    expect(metrics).toContain('recourse_webhook_deliveries_total{endpoint="ops",result="delivered"} 1');
    expect(metrics).toContain('recourse_webhook_deliveries_total{endpoint="ops",result="given_up"} 0');
    expect(metrics).toContain('recourse_webhooks_waiting{endpoint="ops"} 0');
  }, DEADLINE);
  expect(service.log()).toContain('webhook not delivered, trying again');
  expect(service.log()).toContain('webhook delivered');
  for (const secret of ['kx3vQ81nTz', NEW_SECRET, '/hook', 'call_2', 'c_0123456789abcdefghijkl', 'deploy'])
    expect(service.log()).not.toContain(secret);
});

test('a change of the configuration file is used for the next message, and an invalid one is not', async () => {
  const [one, other] = [await startReceiver(), await startReceiver()];
  const service = await startService({});
  expect(service.webhooks.has('acme', 'ops')).toBe(false);
  await service.webhooks.emit(completed());
  await service.write({ ops: endpoint(one.url) });
  await vi.waitFor(() => expect(service.webhooks.has('acme', 'ops')).toBe(true), DEADLINE);
  await service.webhooks.emit(completed());
  await vi.waitFor(() => expect(one.received).toHaveLength(1), DEADLINE);
  await service.write({ ops: endpoint(other.url, { secret: 'whsec_c2hvcnQ=' }) });
  await vi.waitFor(() => expect(service.log()).toContain('invalid configuration file'), DEADLINE);
  expect(service.log()).not.toContain('c2hvcnQ');
  await service.webhooks.emit(completed());
  await vi.waitFor(() => expect(one.received).toHaveLength(2), DEADLINE);
  await service.write({ ops: endpoint(other.url, { secret: [OLD_SECRET, NEW_SECRET], tenants: ['acme'] }) });
  await vi.waitFor(() => expect(service.webhooks.has('other', 'ops')).toBe(false), DEADLINE);
  await service.webhooks.emit(completed());
  await vi.waitFor(() => expect(other.received).toHaveLength(1), DEADLINE);
  const [{ headers, body } = { headers: {}, body: '' }] = other.received;
  new Webhook(OLD_SECRET).verify(body, { ...headers });
  await service.write({});
  await vi.waitFor(() => expect(service.webhooks.has('acme', 'ops')).toBe(false), DEADLINE);
});

test('an address that is not public is refused where the file does not allow it', async () => {
  const receiver = await startReceiver();
  const service = await startService({
    ops: endpoint(`https://localhost:${receiver.port}/`, { privateAddresses: 'refuse' }),
  });
  await service.webhooks.emit(completed());
  await vi.waitFor(() => expect(service.log()).toContain('address_refused'), DEADLINE);
  expect(receiver.received).toEqual([]);
});

test('a secret of the service that a caller put into an id does not leave', async () => {
  const receiver = await startReceiver();
  const service = await startService({ ops: endpoint(receiver.url) }, { GITHUB_TOKEN: 'ghx-4711-0815-secret' });
  await service.webhooks.emit(completed({ data: { request_id: 'r', call_id: 'ghx-4711-0815-secret' } }));
  await vi.waitFor(() => expect(receiver.received).toHaveLength(1), DEADLINE);
  const [{ headers, body } = { headers: {}, body: '' }] = receiver.received;
  expect(new Webhook(NEW_SECRET).verify(body, { ...headers })).toMatchObject({
    data: { request_id: 'r', call_id: '[redacted]' },
  });
});

test('without Redis a message that waits is lost with the service, and the log says so', async () => {
  const receiver = await startReceiver(answerWith(500));
  const service = await startService({ ops: endpoint(receiver.url) });
  await service.webhooks.emit(completed());
  await vi.waitFor(() => expect(service.log()).toContain('trying again'), DEADLINE);
  await service.close();
  expect(service.log()).toContain('webhook messages lost: they were kept only in this process');
});

test('with Redis the next service delivers what waits, under the same id, and 410 holds for it, too', async () => {
  const redis = await startRedisServer();
  onTestFinished(() => redis.stop());
  const environment = { REDIS_URL: redis.url };
  const receiver = await startReceiver((response, count) =>
    answerWith([500, 200, 410][count - 1] ?? 200)(response, count),
  );
  const first = await startService({ ops: endpoint(receiver.url) }, environment);
  await first.webhooks.emit(completed());
  await vi.waitFor(() => expect(first.log()).toContain('trying again'), DEADLINE);
  await first.close();
  expect(first.log()).not.toContain('lost');
  const second = await startService({ ops: endpoint(receiver.url) }, environment);
  await vi.waitFor(() => expect(receiver.received).toHaveLength(2), DEADLINE);
  expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  await second.webhooks.emit(completed());
  await vi.waitFor(() => expect(second.log()).toContain('it answered HTTP 410'), DEADLINE);
  await second.close();
  const third = await startService({ ops: endpoint(receiver.url) }, environment);
  await third.webhooks.emit(completed());
  await vi.waitFor(
    async () =>
      expect(await third.metrics()).toContain('recourse_webhook_deliveries_total{endpoint="ops",result="disabled"} 1'),
    DEADLINE,
  );
  expect(receiver.received).toHaveLength(3);
});
