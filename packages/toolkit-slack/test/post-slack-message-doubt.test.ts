import { createInstantClock, failureOf } from '@recourse/test-support/http-target.ts';
import { expect, test } from 'vitest';
import { startSlackLab } from '#test/support/slack-lab.ts';
import { failing, refusing, type SlackFault } from '#test/support/slack-stand-in.ts';
import { SLACK_TOKEN } from '#test/support/slack-workspace.ts';

const RETRY = 'RetryableToolError';
const TERMINAL = 'TerminalToolError';
const UPSTREAM = 'UpstreamToolError';

const DOUBT = 'It may have been posted. Check before posting again.';
const UNREADABLE = `Slack sent an answer that cannot be read. ${DOUBT}`;
const BROKEN = expect.stringMatching(
  /^The connection to Slack broke before the answer was complete \(\w+\)\. It may have been posted\. Check before posting again\.$/,
);

test.each([
  ['internal_error', refusing('internal_error'), `Slack is unavailable (internal_error). ${DOUBT}`],
  ['fatal_error', refusing('fatal_error'), `Slack is unavailable (fatal_error). ${DOUBT}`],
  ['service_unavailable', refusing('service_unavailable'), `Slack is unavailable (service_unavailable). ${DOUBT}`],
  ['request_timeout', refusing('request_timeout'), `Slack is unavailable (request_timeout). ${DOUBT}`],
  ['500', failing(500), `Slack failed (HTTP 500). ${DOUBT}`],
  ['503 in words of Slack', { ...refusing('channel_not_found'), status: 503 }, `Slack failed (HTTP 503). ${DOUBT}`],
  ['408', failing(408), `Slack failed (HTTP 408). ${DOUBT}`],
  ['half an answer', { kind: 'half' }, UNREADABLE],
  ['a page of HTML', failing(200), UNREADABLE],
  ['an answer without ts', { kind: 'answer', status: 200, body: '{"ok":true,"channel":"C1"}' }, UNREADABLE],
  ['a word that is no JSON', { kind: 'answer', status: 200, body: 'timeout' }, UNREADABLE],
  ['null', { kind: 'answer', status: 200, body: 'null' }, UNREADABLE],
  ['a list', { kind: 'answer', status: 200, body: '[]' }, UNREADABLE],
  ['201 and a page of HTML', failing(201), UNREADABLE],
  ['204', { kind: 'done_with', status: 204 }, UNREADABLE],
  ['205', { kind: 'answer', status: 205, body: '' }, UNREADABLE],
  ['299 and nothing', { kind: 'answer', status: 299, body: '' }, UNREADABLE],
  [
    'more than is read',
    { kind: 'answer', status: 200, body: `{"ok":true,"more":"${'x'.repeat(5_000_000)}"}` },
    `Slack sent an answer that is too large to be read. ${DOUBT}`,
  ],
  ['a cut connection', { kind: 'cut' }, BROKEN],
  ['a cut after the post', { kind: 'done_then_cut' }, BROKEN],
] satisfies readonly (readonly [string, SlackFault, unknown])[])(
  'after %s nobody knows, and the message is not sent again',
  async (_what, fault, message) => {
    const { slack, post } = await startSlackLab({ clock: createInstantClock() });
    slack.meet(fault);
    const failure = await failureOf(post());
    expect(failure).toMatchObject({ name: UPSTREAM, message, executed: 'maybe' });
    expect(JSON.stringify(failure) + String(failure)).not.toContain(SLACK_TOKEN);
    expect(slack.requests).toHaveLength(1);
  },
);

test.each([{ kind: 'silent' }, { kind: 'drip' }] satisfies readonly SlackFault[])(
  'a Slack that does not answer in time (%j) is told so, and the message may stand',
  async (fault) => {
    const { slack, post } = await startSlackLab({ limitMs: 1000 });
    slack.meet(fault);
    expect(await failureOf(post())).toMatchObject({
      name: UPSTREAM,
      message: expect.stringMatching(
        /^Slack did not answer in time.* It may have been posted\. Check before posting again\.$/,
      ),
      executed: 'maybe',
    });
    expect(slack.requests).toHaveLength(1);
  },
);

test.each([200, 201, 202, 206, 226, 299])('Slack’s own answer with %d is the success that it says', async (status) => {
  const { slack, post } = await startSlackLab();
  slack.meet({ kind: 'done_with', status });
  expect(await post()).toMatchObject({ channel: 'C0000000001', ts: '1700000000.000001' });
  expect(slack.requests).toHaveLength(1);
});

test('a refusal of Slack’s is one with 201, too', async () => {
  const { slack, post } = await startSlackLab();
  slack.meet({ ...refusing('msg_too_long'), status: 201 });
  expect(await failureOf(post())).toMatchObject({
    name: RETRY,
    message: 'The text is too long for Slack. Shorten it, or post it in parts.',
    executed: 'no',
  });
});

test('303 says that something was done: a human must look where requests go, and the message may stand', async () => {
  const { slack, post, list } = await startSlackLab();
  slack.meet({ kind: 'done_with', status: 303 }, failing(303));
  const message = 'Received HTTP 303, which is not an answer of Slack. A human must check SLACK_API_URL.';
  expect(await failureOf(post())).toMatchObject({ name: TERMINAL, message: `${message} ${DOUBT}`, executed: 'maybe' });
  expect(await failureOf(list())).toMatchObject({ name: TERMINAL, message, executed: 'no' });
});

test('how long an upstream that fails wants to be left alone is passed on', async () => {
  const { slack, post, list } = await startSlackLab({ clock: createInstantClock() });
  slack.meet(failing(503, { 'retry-after': '90' }), failing(503, { 'retry-after': '90' }));
  expect(await failureOf(post())).toMatchObject({ message: `Slack failed (HTTP 503). ${DOUBT}`, retryAfterMs: 90_000 });
  expect(await failureOf(list())).toMatchObject({
    message: 'Slack failed (HTTP 503). Try again in 90 seconds.',
    retryAfterMs: 90_000,
  });
});
