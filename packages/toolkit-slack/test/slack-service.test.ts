import { randomUUID } from 'node:crypto';
import { createKeyedClient, whenConnected } from '@recourse/test-support/keyed-client.ts';
import { type RedisServer, startRedisServer } from '@recourse/test-support/redis-server.ts';
import { startService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { limiting, type SlackStandIn, startSlackStandIn } from '#test/support/slack-stand-in.ts';
import { createChannel, createWorkspace, SLACK_TOKEN } from '#test/support/slack-workspace.ts';

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedisServer();
});
afterAll(() => redis.stop());

const startSlack = (channels = [createChannel(1, { name: 'general' })]): Promise<SlackStandIn> =>
  startSlackStandIn(createWorkspace(channels));

const start = async (environment: Readonly<Record<string, string>>) => {
  const service = await startService({ TOOL_GROUPS: 'slack', ...environment });
  onTestFinished(service.stop);
  const client = createKeyedClient(service.url);
  if (environment['REDIS_URL'] !== undefined) await whenConnected(client);
  return { service, ...client };
};

const settingsFor = (slack: SlackStandIn) => ({ SLACK_BOT_TOKEN: SLACK_TOKEN, SLACK_API_URL: slack.origin });

const POST = { name: 'post_slack_message', arguments: { channel: '#general', text: 'Hello' } };

describe.each([
  ['Redis', () => ({ REDIS_URL: redis.url })],
  ['this process alone', () => ({})],
])('with %s', (_where, toSettings) => {
  test('the same Idempotency-Key twice is one request to Slack and the same answer', async () => {
    const slack = await startSlack();
    const { post } = await start({ ...settingsFor(slack), ...toSettings() });
    const key = randomUUID();
    const batch = { session_id: randomUUID(), calls: [POST] };
    const first = await post(batch, { key });
    const again = await post(batch, { key });
    expect(first.results).toMatchObject([
      {
        success: true,
        executed: 'yes',
        value: { display: 'Posted to #general.', count: 1, channel: 'C0000000001', ts: '1700000000.000001' },
      },
    ]);
    expect(again.results.map(({ value }) => value)).toEqual(first.results.map(({ value }) => value));
    expect(slack.requests).toHaveLength(1);
    expect(slack.requests[0]?.form['client_msg_id']).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('a key whose message may stand is not posted again, and its repeat says so', async () => {
    const slack = await startSlack();
    const { post } = await start({ ...settingsFor(slack), ...toSettings() });
    const key = randomUUID();
    slack.meet({ kind: 'done_then_cut' });
    const unknown = {
      success: false,
      outcome: 'unknown',
      executed: 'maybe',
      error: { code: 'upstream_unavailable' },
      message: expect.stringMatching(/\. It may have been posted\. Check before posting again\.$/),
      retry: { allowed: false },
    };
    expect((await post([POST], { key })).results).toMatchObject([unknown]);
    expect((await post([POST], { key })).results).toMatchObject([{ executed: 'maybe' }]);
    expect(slack.workspace.messages).toHaveLength(1);
  });

  test('pages of one session follow one another over batches', async () => {
    const slack = await startSlack(Array.from({ length: 250 }, (_, at) => createChannel(at + 1)));
    const { service } = await start({ ...settingsFor(slack), ...toSettings() });
    const session_id = randomUUID();
    const list = async (page: number) =>
      (await service.call([{ name: 'list_slack_channels', arguments: { page } }], { session_id }))[0];
    expect(await list(2)).toMatchObject({
      success: false,
      outcome: 'retry',
      message: expect.stringContaining('Page 2 not available. List from page 1 first.'),
    });
    expect(await list(1)).toMatchObject({ value: { count: 200, has_more: true } });
    expect(await list(2)).toMatchObject({ value: { count: 50, page: 2, has_more: false } });
  });
});

/** Redis has 50 ms for a command, which a busy machine does not always give it: then it is 503, and asked once more. */
const remove = async (url: string): Promise<void> => {
  const toStatus = async (): Promise<number> => (await fetch(url, { method: 'DELETE' })).status;
  await expect.poll(toStatus, { timeout: timeLimit(15_000) }).toBe(204);
};

test('a session that ends takes its pages with it, at every replica, and other sessions keep theirs', async () => {
  const slack = await startSlack(Array.from({ length: 250 }, (_, at) => createChannel(at + 1)));
  const settings = { ...settingsFor(slack), REDIS_URL: redis.url };
  const services = [await start(settings), await start(settings), await start(settingsFor(slack))].map(
    ({ service }) => service,
  );
  const [ended, other] = [randomUUID(), randomUUID()];
  const list = async (at: number, session_id: string, page: number) =>
    (await services[at]?.call([{ name: 'list_slack_channels', arguments: { page } }], { session_id }))?.[0];
  for (const at of [0, 1, 2]) for (const id of [ended, other]) await list(at, id, 1);
  for (const at of [0, 2]) {
    await remove(`${services[at]?.url}/sessions/${ended}/budgets`);
    expect(await list(at, ended, 2)).toMatchObject({ value: { page: 2 } });
    await remove(`${services[at]?.url}/sessions/${ended}`);
  }
  for (const at of [0, 1, 2]) {
    expect(await list(at, ended, 2)).toMatchObject({
      message: expect.stringContaining('Page 2 not available. List from page 1 first.'),
    });
    expect(await list(at, other, 2)).toMatchObject({ value: { page: 2 } });
  }
});

test('half a character costs nobody else anything: nothing is sent, and no circuit opens', async () => {
  const slack = await startSlack();
  const { service } = await start(settingsFor(slack));
  const half = { ...POST, arguments: { ...POST.arguments, text: 'half an emoji \ud83d' } };
  for (let round = 0; round < 12; round += 1)
    expect(await service.call([half])).toMatchObject([{ executed: 'no', error: { code: 'invalid_arguments' } }]);
  expect(slack.requests).toEqual([]);
  expect(await service.call([POST])).toMatchObject([{ success: true }]);
});

test('a rate limit is told as one also to a call that has little time', async () => {
  const slack = await startSlack();
  const { service } = await start(settingsFor(slack));
  slack.meet(limiting('20'));
  expect(await service.call([{ name: 'list_slack_channels', timeout_ms: 1500 }])).toMatchObject([
    { outcome: 'retry', error: { code: 'upstream_rate_limited', retry_after_ms: 20_000 } },
  ]);
});

test('another replica goes on with the pages of a session', async () => {
  const slack = await startSlack(Array.from({ length: 250 }, (_, at) => createChannel(at + 1)));
  const settings = { ...settingsFor(slack), REDIS_URL: redis.url };
  const [one, other] = [await start(settings), await start(settings)];
  const session_id = randomUUID();
  await one.service.call([{ name: 'list_slack_channels' }], { session_id });
  const [second] = await other.service.call([{ name: 'list_slack_channels', arguments: { page: 2 } }], { session_id });
  expect(second).toMatchObject({ value: { count: 50, page: 2 } });
});

test('a page that was listed while Redis was away ends with its session, also for the next time that Redis is away', async () => {
  const slack = await startSlack(Array.from({ length: 250 }, (_, at) => createChannel(at + 1)));
  const settings = { ...settingsFor(slack), REDIS_URL: redis.url };
  const [one, other] = [await start(settings), await start(settings)];
  const session_id = randomUUID();
  const list = async (page: number) =>
    (await one.service.call([{ name: 'list_slack_channels', arguments: { page } }], { session_id }))[0];
  onTestFinished(redis.resume);
  redis.pause();
  await list(1);
  expect(await list(2)).toMatchObject({ value: { page: 2 } });
  redis.resume();
  for (const client of [one, other]) await whenConnected(client);
  await remove(`${other.service.url}/sessions/${session_id}`);
  redis.pause();
  expect(await list(2)).toMatchObject({
    message: expect.stringContaining('Page 2 not available. List from page 1 first.'),
  });
});

test('two lists that hold nothing, in a session with a budget of one, cost no retry', async () => {
  const slack = await startSlack([]);
  const { service } = await start({ ...settingsFor(slack), SESSION_RETRIES: '1' });
  const session_id = randomUUID();
  const calls = [{ name: 'list_slack_channels' }, { name: 'list_slack_channels', arguments: { name: 'x' } }];
  for (let round = 0; round < 2; round += 1)
    expect(await service.call(calls, { session_id })).toMatchObject(
      Array(2).fill({ success: true, outcome: 'success', message: 'No channels found.', value: { count: 0 } }),
    );
});

test('without a token the tools are offered, and say what is to be set', async () => {
  const { service } = await start({});
  for (const call of [POST, { name: 'list_slack_channels' }])
    expect(await service.call([call])).toMatchObject([
      {
        success: false,
        outcome: 'retry',
        executed: 'no',
        message: expect.stringContaining('Slack not configured. Set SLACK_BOT_TOKEN to the bot token of a Slack app.'),
      },
    ]);
});

test.each([
  ['in URLs', (token: string) => token.replaceAll('-', '%2D')],
  ['in JSON', (token: string) => `\\u0078${token.slice(1)}`],
  ['in Base64', (token: string) => Buffer.from(`Bearer ${token}`).toString('base64')],
])('a token that Slack repeats as it is written %s is in no result', async (_where, write) => {
  const topic = { value: `It is ${write(SLACK_TOKEN)} here.`, creator: 'U1', last_set: 1 };
  const slack = await startSlack([createChannel(1, { name: 'general', topic })]);
  const { service } = await start(settingsFor(slack));
  expect(await service.call([{ name: 'list_slack_channels' }])).toMatchObject([
    { value: { channels: [{ topic: expect.stringMatching(/^It is \S*\[redacted\]\S* here\.$/) }] } },
  ]);
});

test('the token is in no result, no log line and no metric, even where Slack repeats it', async () => {
  const topic = { value: `the token is ${SLACK_TOKEN}`, creator: 'U1', last_set: 1 };
  const slack = await startSlack([createChannel(1, { name: 'general', topic })]);
  const { service } = await start({ ...settingsFor(slack), LOG_LEVEL: 'trace' });
  const echo = { ok: false, error: 'invalid_auth', response_metadata: { messages: [`[ERROR] bad ${SLACK_TOKEN}`] } };
  const answers = [await service.call([{ name: 'list_slack_channels' }, POST])];
  slack.meet({ kind: 'answer', status: 200, body: JSON.stringify(echo) });
  answers.push(await service.call([POST]));
  slack.meet({ kind: 'cut' });
  answers.push(await service.call([POST]));
  slack.workspace.tokens.clear();
  answers.push(await service.call([{ name: 'list_slack_channels', arguments: { name: 'y' } }]));
  expect(slack.requests.length).toBeGreaterThan(4);
  const metrics = await (await fetch(`${service.opsUrl}/metrics`)).text();
  const seen = JSON.stringify([answers, service.logLines(), metrics]);
  expect(seen).toContain('slack warning');
  expect(seen).not.toContain(SLACK_TOKEN);
});
