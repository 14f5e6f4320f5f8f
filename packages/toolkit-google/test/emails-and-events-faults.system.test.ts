import type { ServerResponse } from 'node:http';
import { findLeaks, writeCredentials } from '@recourse/test-support/google/google-credentials.ts';
import { type Answerer, startHttpTarget } from '@recourse/test-support/http-target.ts';
import { createMemoryPageTokens } from '@recourse/test-support/memory-page-tokens.ts';
import { roomyMemory } from '@recourse/test-support/roomy-memory.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { GoogleAccess } from '#src/google-access.ts';
import { createMailTools } from '#src/mail-tools.ts';
import { createEvents } from '#test/support/calendar-routes.ts';
import { PASSING_FAULTS, toFaultMatrix } from '#test/support/fault-matrix.ts';
import { startLab } from '#test/support/gmail-and-calendar-lab.ts';
import { createMessages } from '#test/support/gmail-routes.ts';
import { callTool } from '#test/support/google-lab.ts';

const GMAIL = {
  name: 'Gmail',
  service: 'gmail.googleapis.com',
  scope: 'https://www.googleapis.com/auth/gmail.readonly',
  missing: "Not found in Gmail (404). Google says: 'File not found'. Check the id.",
  forbidden:
    "Gmail refuses access (403). Google says: 'Google has its reasons.'. A human must grant it to anna@example.com.",
};
const CALENDAR = {
  name: 'Google Calendar',
  service: 'calendar-json.googleapis.com',
  scope: 'https://www.googleapis.com/auth/calendar.readonly',
  missing:
    "There is no calendar 'primary', or it is not shared with anna@example.com. Use primary, or the id of a calendar, usually the email address of its owner.",
  forbidden:
    "Google Calendar refuses access (403). Google says: 'Google has its reasons.'. A human must grant it to anna@example.com.",
};

const TOOLS = [
  { tool: 'list_emails', api: GMAIL, input: {} },
  { tool: 'search_emails', api: GMAIL, input: { query: 'subject' } },
  { tool: 'list_calendar_events', api: CALENDAR, input: { time_zone: 'UTC' } },
  { tool: 'search_calendar_events', api: CALENDAR, input: { time_zone: 'UTC', query: 'event' } },
] as const;

const WORLD = {
  mailbox: { messages: createMessages(1) },
  calendars: new Map([['primary', { timeZone: 'UTC', events: createEvents(1) }]]),
};

describe.each(TOOLS)('$tool', ({ tool, api, input }) => {
  test.each(toFaultMatrix(api))('when Google answers with $name', async ({ fault, requests, code, text, ...row }) => {
    const { call, standIn } = await startLab(WORLD);
    standIn.fault(fault, requests);
    const { failure } = await call(tool, input);
    expect(failure).toMatchObject({ code, message: text, retryAfterMs: row.retryAfterMs });
    expect(standIn.apiRequests()).toHaveLength(requests);
    expect(findLeaks(failure?.whole ?? '')).toEqual([]);
  });

  test.each(PASSING_FAULTS)('when $name passes, the call succeeds', async ({ fault }) => {
    const { call, standIn } = await startLab(WORLD);
    standIn.fault(fault);
    expect(await call(tool, input)).toMatchObject({ failure: undefined, value: { count: 1 } });
  });

  test('when Google is silent', async () => {
    const { call, standIn } = await startLab({ ...WORLD, limits: { readMs: 300, signInMs: 10_000 } });
    standIn.fault({ kind: 'silence' }, 10);
    const { failure } = await call(tool, input);
    expect(failure).toMatchObject({ code: 'upstream_unavailable', executed: 'maybe' });
    expect(failure?.message).toMatch(
      new RegExp(`^${api.name} did not answer in time \\(\\w+\\)\\. Try again later\\.$`),
    );
  });

  test('when the body of an answer does not end', async () => {
    const { call, standIn } = await startLab({ ...WORLD, limits: { readMs: 1_000, signInMs: 10_000 } });
    standIn.fault({ kind: 'drip' });
    expect((await call(tool, input)).failure).toMatchObject({
      code: 'upstream_unavailable',
      message: `${api.name} did not answer in time. Try again later.`,
    });
  });

  test('when the token is revoked', async () => {
    const { call, standIn } = await startLab({ ...WORLD, credentials: 'authorized_user' });
    standIn.revoke();
    expect((await call(tool, input)).failure).toMatchObject({
      code: 'tool_failed',
      message:
        "The Google credentials have expired or were revoked. Google says: 'Token has been expired or revoked.'. A human must sign in again and put the new refresh token into the file in GOOGLE_CREDENTIALS_PATH.",
    });
  });

  test('when nothing is set up', async () => {
    const { call, standIn } = await startLab({ ...WORLD, credentialsPath: '' });
    expect((await call(tool, input)).failure).toMatchObject({
      code: 'retry_requested',
      message: `${api.name} not configured. Set GOOGLE_CREDENTIALS_PATH to a JSON file with the key of a service account or a user's refresh token.`,
    });
    expect(standIn.requests).toEqual([]);
  });

  test('when the caller has gone, nobody is asked', async () => {
    const { call, standIn } = await startLab(WORLD);
    const { failure } = await call(tool, input, { signal: AbortSignal.abort(new Error('gone')) });
    expect(failure).toMatchObject({ message: 'gone' });
    expect(standIn.requests).toEqual([]);
  });
});

// All but a 404, which is left out.
const OF_ONE_MESSAGE = toFaultMatrix(GMAIL).filter(({ name }) => name !== '404');

test.each(OF_ONE_MESSAGE)(
  'when one message is answered with $name, the call fails',
  async ({ fault, code, text, requests }) => {
    const { call, standIn } = await startLab({
      ...WORLD,
      routes: [
        ({ path }) => {
          if (path.endsWith('/messages')) standIn.fault(fault, requests);
          return undefined;
        },
      ],
    });
    expect((await call('list_emails')).failure).toMatchObject({ code, message: text });
    expect(standIn.apiRequests()).toHaveLength(requests + 1);
  },
);

/** `list_emails` on a server by script: a token, a list of messages, and what `onMessage` makes of each. */
const startScript = async (count: number, onMessage: Answerer) => {
  const ids = Array.from({ length: count }, (_, place) => ({ id: `m${place + 1}` }));
  const target = await startHttpTarget((response, request, nth) => {
    if (request.path.includes('/messages/')) onMessage(response, request, nth);
    else if (request.path.startsWith('/token')) sendJson(response, 200, { access_token: 'ya29.x', expires_in: 3599 });
    else sendJson(response, 200, { messages: ids });
  });
  const google = new GoogleAccess({
    credentialsPath: writeCredentials('authorized_user'),
    subject: undefined,
    apiUrl: target.origin,
    registerSecrets: () => undefined,
  });
  onTestFinished(google.close);
  const pageTokens = createMemoryPageTokens({ memory: roomyMemory(), ttlMs: 60_000, now: Date.now });
  const [listEmails] = createMailTools({ google, pageTokens });
  if (listEmails === undefined) throw new Error('There is no tool.');
  return { target, list: () => callTool(listEmails, { page_size: count }) };
};

const sendJson = (response: ServerResponse, status: number, body: unknown): void => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
};

test('one message that fails ends the requests for the others', async () => {
  const { target, list } = await startScript(5, (response, { path }) => {
    // The others are not answered at all.
    if (path.includes('/messages/m1?')) sendJson(response, 400, { error: { code: 400, message: 'Bad' } });
  });
  expect(await list()).toMatchObject({ code: 'retry_requested' });
  // Long before the time of a read is over.
  await vi.waitFor(() => expect(target.open()).toBeLessThan(3), { timeout: timeLimit(15_000) });
});

test('messages are asked for five at a time', async () => {
  const waiting: (() => void)[] = [];
  const lengths: number[] = [];
  const { list } = await startScript(25, (response, { path }) => {
    const [, id = ''] = /messages\/(\w+)\?/.exec(path) ?? [];
    const length = waiting.push(() => sendJson(response, 200, { id }));
    lengths.push(length);
    // Nobody is answered before five wait, and any more have a moment to come.
    if (length === 5) setTimeout(() => waiting.splice(0).forEach((answer) => void answer()), 50);
  });
  expect(await list()).toMatchObject({ kind: 'ok', value: { count: 25 } });
  expect(Math.max(...lengths)).toBe(5);
});

test.each([
  ['list_emails', {}, 'invalidArgument'],
  ['list_calendar_events', { time_zone: 'UTC' }, 'invalid'],
] as const)('a page of %s that Google has forgotten is a retry', async (tool, input, reason) => {
  const { call, standIn } = await startLab({
    mailbox: { messages: createMessages(4) },
    calendars: new Map([['primary', { timeZone: 'UTC', events: createEvents(4) }]]),
  });
  expect((await call(tool, { ...input, page_size: 2 })).value).toMatchObject({ has_more: true });
  standIn.fault({ kind: 'status', status: 400, reason, message: 'Invalid page token', location: 'pageToken' });
  expect((await call(tool, { ...input, page_size: 2, page: 2 })).failure).toMatchObject({
    code: 'retry_requested',
    message: 'This page is no longer available. Start from page 1 again.',
  });
});

test('a calendar of which the time zone cannot be asked fails as its events would', async () => {
  const { call, standIn } = await startLab(WORLD);
  standIn.fault({ kind: 'status', status: 403, reason: 'accessNotConfigured' });
  expect((await call('list_calendar_events')).failure).toMatchObject({
    code: 'retry_requested',
    message:
      'Google Calendar API is not enabled. Run: gcloud services enable calendar-json.googleapis.com (then try again).',
  });
});

test('without a session the first page is told, and that no further one can be had', async () => {
  const { call } = await startLab({ mailbox: { messages: createMessages(4) } });
  const context = { session: null };
  expect((await call('list_emails', { page_size: 2 }, context)).value).toMatchObject({
    display: '2 emails found on page 1. There are more, but further pages need a session.',
  });
  expect((await call('list_emails', { page_size: 2, page: 2 }, context)).failure).toMatchObject({
    code: 'retry_requested',
  });
});
