import { createServer } from 'node:net';
import {
  answerWith,
  completed,
  createLab,
  createMemoryStore,
  DEADLINE,
  endpointAt,
  startReceiver,
  whenReceived,
} from '@recourse/test-support/webhook-lab.ts';
import { expect, onTestFinished, test, vi } from 'vitest';

test('a slow endpoint gets at most four messages at once, and harms no other', async () => {
  const slow = await startReceiver(() => undefined);
  const quick = await startReceiver();
  const { webhooks, reports } = createLab({ slow: endpointAt(slow.url), ops: endpointAt(quick.url) });
  for (let count = 0; count < 30; count += 1) await webhooks.emit(completed({ endpoint: 'slow' }));
  for (let count = 0; count < 20; count += 1) await webhooks.emit(completed());
  await whenReceived(quick, 20);
  await vi.waitFor(() => expect(slow.received).toHaveLength(4), DEADLINE);
  expect(reports.filter(({ endpoint }) => endpoint === 'slow')).toEqual([]);
});

test('emit does not wait for the endpoint', async () => {
  const silent = await startReceiver(() => undefined);
  const { webhooks, reports } = createLab({ ops: endpointAt(silent.url) });
  await webhooks.emit(completed());
  expect(reports).toEqual([]);
});

test('an endpoint that never answers fails at the time limit', async () => {
  const silent = await startReceiver(() => undefined);
  const { webhooks, reports } = createLab({ ops: endpointAt(silent.url) }, { limitMs: 300 });
  await webhooks.emit(completed());
  await vi.waitFor(() => expect(reports[0]).toMatchObject({ result: 'retried' }), DEADLINE);
  expect(reports[0]?.reason).toMatch(/^too_slow/);
});

test('an endless body changes nothing: the status is the answer', async () => {
  const endless = await startReceiver((response) => {
    response.writeHead(200);
    const chunk = Buffer.alloc(65_536);
    const pour = (): void => {
      while (!response.destroyed && response.write(chunk));
    };
    response.on('drain', pour).on('error', () => undefined);
    pour();
  });
  // Longer than the test waits: not the time limit ends it.
  const { webhooks, reports } = createLab({ ops: endpointAt(endless.url) }, { limitMs: 120_000 });
  await webhooks.emit(completed());
  await vi.waitFor(() => expect(reports.map(({ result }) => result)).toEqual(['delivered']), DEADLINE);
});

test('an endpoint that resets connections, or speaks no HTTP, is tried again', async () => {
  const answers = ['', 'SSH-2.0-OpenSSH_9.9\r\n'];
  let count = 0;
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => {
      const answer = answers[count] ?? 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n';
      count += 1;
      if (answer === '') socket.resetAndDestroy();
      else socket.end(answer);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const { webhooks, reports } = createLab({ ops: endpointAt(`http://127.0.0.1:${port}/`) });
  await webhooks.emit(completed());
  await vi.waitFor(
    () => expect(reports.map(({ result }) => result)).toEqual(['retried', 'retried', 'delivered']),
    DEADLINE,
  );
  expect(reports.map(({ reason }) => reason.split(' ')[0])).toEqual(['lost', 'unreadable', 'HTTP']);
});

test('what is kept only in this process is counted as lost when it ends', async () => {
  const silent = await startReceiver(answerWith(500));
  const { webhooks, lost, reports } = createLab({ ops: endpointAt(silent.url) }, { store: createMemoryStore(() => 0) });
  await webhooks.emit(completed());
  await vi.waitFor(() => expect(reports).toHaveLength(1), DEADLINE);
  await webhooks.close();
  expect(lost).toEqual([1]);
});

test('an attempt that runs at the end is cut off, and its message is given back', async () => {
  const silent = await startReceiver(() => undefined);
  const store = createMemoryStore();
  const { webhooks } = createLab({ ops: endpointAt(silent.url) }, { store });
  await webhooks.emit(completed());
  await whenReceived(silent, 1);
  await webhooks.close();
  const { deliveries } = await store.claim('ops', 1, 1000);
  expect(deliveries.map(({ attempt }) => attempt)).toEqual([2]);
});

test('an endpoint that leaves the configuration gets nothing more', async () => {
  const receiver = await startReceiver(answerWith(500));
  const { webhooks, reports } = createLab({ ops: endpointAt(receiver.url) }, { store: createMemoryStore(() => 0) });
  await webhooks.emit(completed());
  await vi.waitFor(() => expect(reports).toHaveLength(1), DEADLINE);
  webhooks.configure(new Map());
  await webhooks.emit(completed());
  expect(webhooks.has('acme', 'ops')).toBe(false);
  await webhooks.close();
  expect(receiver.received).toHaveLength(1);
});

test('a bug in sending is told of, and the message is tried again as after any failure', async () => {
  const receiver = await startReceiver();
  const wrong = endpointAt(receiver.url, { secret: ['whsec_%'] });
  const { webhooks, reports, failures, delays } = createLab({ ops: wrong });
  await webhooks.emit(completed());
  await vi.waitFor(() => expect(reports[0]).toMatchObject({ result: 'retried', reason: 'internal_error' }), DEADLINE);
  expect(failures.length).toBeGreaterThan(0);
  expect(delays[0]).toBe(4_000);
  webhooks.configure(new Map([['ops', endpointAt(receiver.url)]]));
  await vi.waitFor(() => expect(reports.at(-1)?.result).toBe('delivered'), DEADLINE);
});
