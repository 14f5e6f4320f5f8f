import { createHmac } from 'node:crypto';
import {
  answerWith,
  completed,
  createLab,
  createMemoryStore,
  DEADLINE,
  endpointAt,
  NEW_SECRET,
  OLD_SECRET,
  type Receiver,
  startReceiver,
  whenReceived,
} from '@recourse/test-support/webhook-lab.ts';
import OpenAI from 'openai';
import { Webhook } from 'standardwebhooks';
import { expect, test, vi } from 'vitest';
import type { ClaimedDelivery } from '#src/webhooks/delivery-store.ts';

const first = async (receiver: Receiver) => {
  const [message] = await whenReceived(receiver, 1);
  if (message === undefined) throw new Error('Nothing came.');
  return message;
};

test('a message is thin, signed and dated, and standardwebhooks, openai and HMAC-SHA256 accept it', async () => {
  const receiver = await startReceiver();
  const { webhooks, reports } = createLab({ ops: endpointAt(receiver.url) });
  await webhooks.emit(completed());
  const { headers, body, path } = await first(receiver);
  expect(path).toBe('/hook');
  expect(headers['content-type']).toBe('application/json');
  expect(headers['webhook-id']).toMatch(/^msg_[0-9A-Z]{26}$/);
  const sent: unknown = JSON.parse(body);
  expect(sent).toEqual({
    type: 'tool_call.completed',
    timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    data: {
      request_id: '01JB0000000000000000000000',
      index: 1,
      call: 'c_0123456789abcdefghijkl',
      call_id: 'call_2',
      tool: 'deploy',
      outcome: 'success',
      executed: 'yes',
      code: null,
    },
  });
  expect(new Webhook(NEW_SECRET).verify(body, { ...headers })).toEqual(sent);
  const client = new OpenAI({ apiKey: 'none', webhookSecret: NEW_SECRET });
  expect(await client.webhooks.unwrap(body, { ...headers })).toEqual(sent);
  const key = Buffer.from(NEW_SECRET.slice('whsec_'.length), 'base64');
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
  expect(headers['webhook-signature']).toBe(`v1,${createHmac('sha256', key).update(signed).digest('base64')}`);
  await vi.waitFor(() =>
    expect(reports.map(({ result, reason }) => [result, reason])).toEqual([['delivered', 'HTTP 204']]),
  );
});

test('a receiver refuses a message that was changed, or signed with another secret', async () => {
  const receiver = await startReceiver();
  const { webhooks } = createLab({ ops: endpointAt(receiver.url) });
  await webhooks.emit(completed());
  const { headers, body } = await first(receiver);
  expect(() => new Webhook(NEW_SECRET).verify(body.replace('success', 'failure'), { ...headers })).toThrow('signature');
  expect(() => new Webhook(OLD_SECRET).verify(body, { ...headers })).toThrow('signature');
  const client = new OpenAI({ apiKey: 'none', webhookSecret: OLD_SECRET });
  await expect(client.webhooks.unwrap(body, { ...headers })).rejects.toThrow('signature');
});

test('with two secrets a receiver of either accepts the message', async () => {
  const receiver = await startReceiver();
  const { webhooks } = createLab({ ops: endpointAt(receiver.url, { secret: [NEW_SECRET, OLD_SECRET] }) });
  await webhooks.emit(completed());
  const { headers, body } = await first(receiver);
  expect(headers['webhook-signature']).toMatch(/^v1,\S{44} v1,\S{44}$/);
  for (const secret of [NEW_SECRET, OLD_SECRET]) {
    new Webhook(secret).verify(body, { ...headers });
    await new OpenAI({ apiKey: 'none', webhookSecret: secret }).webhooks.unwrap(body, { ...headers });
  }
});

test('a message that fails is sent again with the same id and body, later and later, dated anew', async () => {
  const receiver = await startReceiver((response, count) => answerWith(count < 4 ? 500 : 200)(response, count));
  let time = Date.now();
  const { webhooks, reports, delays } = createLab(
    { ops: endpointAt(receiver.url) },
    {
      time: () => {
        time += 1000;
        return time;
      },
    },
  );
  await webhooks.emit(completed());
  const received = await whenReceived(receiver, 4);
  expect(new Set(received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  expect(new Set(received.map(({ body }) => body)).size).toBe(1);
  expect(new Set(received.map(({ headers }) => headers['webhook-timestamp'])).size).toBe(4);
  for (const { headers, body } of received) new Webhook(NEW_SECRET).verify(body, { ...headers });
  await vi.waitFor(() =>
    expect(reports.map(({ result, attempt, retryMs }) => [result, attempt, retryMs])).toEqual([
      ['retried', 1, 4_000],
      ['retried', 2, 24_000],
      ['retried', 3, 96_000],
      ['delivered', 4, null],
    ]),
  );
  expect(delays).toEqual([4_000, 24_000, 96_000]);
});

test.each([429, 503])('HTTP %i with Retry-After is sent again after as long as it says', async (status) => {
  const receiver = await startReceiver((response, count) =>
    (count === 1 ? answerWith(status, { 'retry-after': '120' }) : answerWith(200))(response, count),
  );
  const { webhooks, delays } = createLab({ ops: endpointAt(receiver.url) });
  await webhooks.emit(completed());
  await whenReceived(receiver, 2);
  expect(delays).toEqual([120_000]);
});

test('a wait that ends beyond a day after the event is not begun: the message is given up', async () => {
  const receiver = await startReceiver(answerWith(503, { 'retry-after': '86400' }));
  const { webhooks, reports } = createLab(
    { ops: endpointAt(receiver.url) },
    // The clock runs on between the event and the answer.
    { storeTime: createRunningClock(1000) },
  );
  await webhooks.emit(completed());
  await vi.waitFor(
    () => expect(reports.map(({ result, reason }) => [result, reason])).toEqual([['given_up', 'HTTP 503']]),
    DEADLINE,
  );
});

const createRunningClock = (stepMs: number) => {
  let time = Date.now();
  return () => {
    time += stepMs;
    return time;
  };
};

test('an endpoint that fails all day gets ten attempts, then the message is given up', async () => {
  const receiver = await startReceiver(answerWith(500));
  const { webhooks, reports, delays } = createLab({ ops: endpointAt(receiver.url) }, { store: createEagerStore() });
  await webhooks.emit(completed());
  await vi.waitFor(() => expect(reports.at(-1)?.result).toBe('given_up'), DEADLINE);
  expect(receiver.received).toHaveLength(10);
  expect(delays).toHaveLength(9);
});

/** A store whose messages are due at once, however long they are to wait. */
const createEagerStore = () => {
  const store = createMemoryStore();
  return { ...store, reschedule: (delivery: ClaimedDelivery) => store.reschedule(delivery, 0) };
};

test('HTTP 410 disables the endpoint until its configuration changes', async () => {
  const receiver = await startReceiver((response, count) => answerWith(count === 1 ? 410 : 200)(response, count));
  const { webhooks, reports } = createLab({ ops: endpointAt(receiver.url) });
  await webhooks.emit(completed());
  await vi.waitFor(() => expect(reports.map(({ result }) => result)).toEqual(['disabled']), DEADLINE);
  await webhooks.emit(completed());
  await vi.waitFor(() => expect(reports.map(({ result }) => result)).toEqual(['disabled', 'disabled']), DEADLINE);
  expect(receiver.received).toHaveLength(1);
  webhooks.configure(new Map([['ops', endpointAt(receiver.url)]]));
  await webhooks.emit(completed());
  await vi.waitFor(() => expect(reports).toHaveLength(3), DEADLINE);
  expect(receiver.received).toHaveLength(1);
  webhooks.configure(new Map([['ops', endpointAt(`${receiver.url}?v=2`)]]));
  await webhooks.emit(completed());
  await vi.waitFor(() => expect(reports.at(-1)?.result).toBe('delivered'), DEADLINE);
  expect(receiver.received.map(({ path }) => path)).toEqual(['/hook', '/hook?v=2']);
});

test.each([301, 302, 303, 307, 308])(
  'a redirect (%i) is a failure, and no one else gets the message',
  async (status) => {
    const other = await startReceiver();
    const receiver = await startReceiver(answerWith(status, { location: other.url }));
    const { webhooks, reports } = createLab({ ops: endpointAt(receiver.url) });
    await webhooks.emit(completed());
    await vi.waitFor(() => expect(reports[0]).toMatchObject({ result: 'retried', reason: `HTTP ${status}` }), DEADLINE);
    expect(other.received).toEqual([]);
  },
);

test.each(['http://127.0.0.1', 'http://localhost', 'http://[::1]', 'http://0.0.0.0', 'http://[::ffff:127.0.0.1]'])(
  'an address that is not public gets nothing unless it is allowed: %s',
  async (origin) => {
    const receiver = await startReceiver();
    const { webhooks, reports } = createLab({
      ops: endpointAt(`${origin}:${receiver.port}/`, { privateAddresses: 'refuse' }),
    });
    await webhooks.emit(completed());
    await vi.waitFor(() => expect(reports[0]?.result).toBe('retried'), DEADLINE);
    expect(reports[0]?.reason).toMatch(/^address_refused/);
    expect(receiver.received).toEqual([]);
  },
);

test('only tenants that an endpoint names may choose it, and it is told only of events that it names', async () => {
  const receiver = await startReceiver();
  const { webhooks } = createLab({
    ops: endpointAt(receiver.url, { tenants: ['acme'] }),
    all: endpointAt(receiver.url, { events: ['tool_calls.completed'] }),
  });
  expect(
    [
      ['acme', 'ops'],
      ['evil', 'ops'],
      ['evil', 'all'],
      ['acme', 'none'],
      ['acme', 'constructor'],
    ].map(([tenant = '', endpoint = '']) => webhooks.has(tenant, endpoint)),
  ).toEqual([true, false, true, false, false]);
  await webhooks.emit(completed({ tenant: 'evil' }));
  await webhooks.emit(completed({ endpoint: 'all' }));
  await webhooks.emit(completed({ endpoint: 'none' }));
  await webhooks.emit(completed({ type: 'tool_call.pending' }));
  await webhooks.emit(completed({ endpoint: 'all', type: 'tool_calls.completed', data: { request_id: 'r' } }));
  const { body } = await first(receiver);
  expect(JSON.parse(body)).toMatchObject({ type: 'tool_calls.completed', data: { request_id: 'r' } });
  await webhooks.close();
  expect(receiver.received).toHaveLength(1);
});

test('what an event holds beside ids, outcome and code does not leave', async () => {
  const receiver = await startReceiver();
  const { webhooks } = createLab({ ops: endpointAt(receiver.url) });
  const { data, ...event } = completed();
  const fat = { ...data, arguments: { password: 'hunter2' }, value: 'hunter2', message: 'hunter2', tenant: 'hunter2' };
  await webhooks.emit({ ...event, data: fat });
  const { body, headers } = await first(receiver);
  expect(body + JSON.stringify(headers)).not.toContain('hunter2');
});
