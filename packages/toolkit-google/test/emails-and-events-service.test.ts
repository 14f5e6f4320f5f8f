import { findLeaks, writeCredentials } from '@recourse/test-support/google/google-credentials.ts';
import { startGoogleStandIn, toClaims } from '@recourse/test-support/google/google-stand-in.ts';
import { startService } from '@recourse/test-support/start-service.ts';
import { expect, onTestFinished, test } from 'vitest';
import { createCalendarRoutes, createEvents } from '#test/support/calendar-routes.ts';
import { createGmailRoutes, createMessages } from '#test/support/gmail-routes.ts';

const start = async (environment: Readonly<Record<string, string>>) => {
  const service = await startService({ TOOL_GROUPS: 'mail,calendar', ...environment });
  onTestFinished(service.stop);
  return service;
};

const startWithGoogle = async () => {
  const standIn = await startGoogleStandIn({
    routes: [
      ...createGmailRoutes({ messages: createMessages(5) }),
      ...createCalendarRoutes(new Map([['primary', { timeZone: 'Europe/Berlin', events: createEvents(5) }]])),
    ],
  });
  const service = await start({
    GOOGLE_CREDENTIALS_PATH: writeCredentials(),
    GOOGLE_SUBJECT: 'anna@example.com',
    GOOGLE_API_URL: standIn.url,
  });
  return { standIn, service };
};

const call = (name: string, args: Readonly<Record<string, unknown>>) => ({ id: name, name, arguments: args });
const DAYS = { from: '2026-11-22', to: '2026-11-22', page_size: 3 };

test('a session reads mail and calendar page by page, and another one cannot go on with its pages', async () => {
  const { standIn, service } = await startWithGoogle();
  const session = { session_id: 'one' };
  const first = [call('search_emails', { query: 'subject', page_size: 3 }), call('list_calendar_events', DAYS)];
  expect(await service.call(first, session)).toMatchObject([
    { success: true, value: { display: '3 emails found on page 1. More on page 2.', has_more: true } },
    { success: true, value: { display: '3 events found on page 1. More on page 2.', has_more: true } },
  ]);
  const second = [
    call('search_emails', { query: 'subject', page_size: 3, page: 2 }),
    call('list_calendar_events', { ...DAYS, page: 2 }),
  ];
  expect(await service.call(second, { session_id: 'two' })).toMatchObject([
    {
      outcome: 'retry',
      error: { code: 'retry_requested' },
      message: expect.stringMatching(/^Page 2 not available\. Search from page 1 first\./),
    },
    {
      outcome: 'retry',
      error: { code: 'retry_requested' },
      message: expect.stringMatching(/^Page 2 not available\. List from page 1 first\./),
    },
  ]);
  expect(await service.call(second, session)).toMatchObject([
    {
      success: true,
      value: { display: '2 emails found on page 2.', has_more: false, emails: [{ id: 'm4' }, { id: 'm5' }] },
    },
    {
      success: true,
      value: { display: '2 events found on page 2.', has_more: false, events: [{ id: 'e4' }, { id: 'e5' }] },
    },
  ]);
  const scopes = standIn.signIns().map(({ body }) => toClaims(new URLSearchParams(body).get('assertion') ?? ''));
  expect(scopes).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ scope: 'https://www.googleapis.com/auth/gmail.readonly', sub: 'anna@example.com' }),
      expect.objectContaining({ scope: 'https://www.googleapis.com/auth/calendar.readonly', sub: 'anna@example.com' }),
    ]),
  );
  expect(findLeaks(JSON.stringify(service.logLines()))).toEqual([]);
});

test('searches that find nothing are empty successes that cost no retry', async () => {
  const { service } = await startWithGoogle();
  const calls = [
    call('search_emails', { query: 'holiday' }),
    call('search_calendar_events', { query: 'Chris 1:1 February 5 2026', ...DAYS }),
  ];
  for (let round = 0; round < 3; round += 1)
    expect(await service.call(calls, { session_id: 'quiet' })).toMatchObject([
      { success: true, empty: true, message: 'No emails found.', value: { count: 0 } },
      { success: true, empty: true, message: 'No events found.', value: { count: 0 } },
    ]);
});

test('wrong days are wrong arguments, with the form that is wanted', async () => {
  const { service } = await startWithGoogle();
  const calls = [
    call('search_emails', { query: 'x', after: '24.12.2026' }),
    call('list_calendar_events', { from: '2026-13-01' }),
    call('search_calendar_events', { query: 'x', to: 'tomorrow' }),
  ];
  for (const { outcome, error, message } of await service.call(calls)) {
    expect({ outcome, code: error?.code }).toEqual({ outcome: 'retry', code: 'invalid_arguments' });
    expect(message).toContain('Invalid date format. Use YYYY-MM-DD.');
  }
});

test('without credentials the tools are there and say what to set', async () => {
  const service = await start({});
  const calls = [
    call('list_emails', {}),
    call('search_emails', { query: 'x' }),
    call('list_calendar_events', {}),
    call('search_calendar_events', { query: 'x' }),
  ];
  for (const { error, message } of await service.call(calls)) {
    expect(error?.code).toBe('retry_requested');
    expect(message).toMatch(/^(Gmail|Google Calendar) not configured\. Set GOOGLE_CREDENTIALS_PATH to a JSON file/);
  }
});
