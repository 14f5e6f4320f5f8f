import { createDriveRoutes } from '@recourse/test-support/google/drive-routes.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { beginGoogleCall, DRIVE, type GoogleRequest } from '#src/google-call.ts';
import { createMailTools } from '#src/mail-tools.ts';
import { createSearchDrive } from '#src/search-drive.ts';
import { createGmailRoutes, createMessages } from '#test/support/gmail-routes.ts';
import { callTool, type GoogleLab, startGoogleLab } from '#test/support/google-lab.ts';

const ROUTES = createDriveRoutes([{ id: 'f1', name: 'Plan', mimeType: 'text/plain', content: 'one' }]);
const search = (lab: GoogleLab, timeoutMs: number) =>
  callTool(createSearchDrive(lab), { query: 'plan' }, { timeoutMs });
const busy = (seconds: number) =>
  ({ kind: 'status', status: 429, reason: 'rateLimitExceeded', headers: { 'retry-after': `${seconds}` } }) as const;

test.each([
  { seconds: 4, timeoutMs: 1_500 },
  { seconds: 14, timeoutMs: 30_000 },
])("a wait of $seconds s is the caller's, where the call has $timeoutMs ms", async ({ seconds, timeoutMs }) => {
  const lab = await startGoogleLab({ routes: ROUTES });
  lab.standIn.fault(busy(seconds), 3);
  expect(await search(lab, timeoutMs)).toMatchObject({
    code: 'upstream_rate_limited',
    retryAfterMs: seconds * 1_000,
  });
  expect(lab.standIn.apiRequests()).toHaveLength(1);
});

test('a sign-in that is limited does not let all who need it wait', async () => {
  const lab = await startGoogleLab({ routes: ROUTES });
  lab.standIn.signInFault(busy(3));
  expect(await search(lab, 30_000)).toMatchObject({ code: 'upstream_rate_limited', retryAfterMs: 3_000 });
});

test('a request for which no time is left is not sent', async () => {
  const lab = await startGoogleLab({ routes: ROUTES });
  await search(lab, 30_000);
  const call = { ...beginGoogleCall({ signal: new AbortController().signal, timeoutMs: 30_000 }) };
  const ask: GoogleRequest = async (auth, options) => {
    // As if the library had taken all of the time to be loaded.
    Object.assign(call, { endsAtMs: performance.now() });
    return auth.request({ ...options, url: 'https://www.googleapis.com/drive/v3/files' });
  };
  await expect(lab.google.read(DRIVE, ask, z.unknown(), call)).rejects.toMatchObject({
    message: 'The request to Google Drive cannot be sent (no time left). Try again later.',
    executed: 'no',
  });
  expect(lab.standIn.apiRequests()).toHaveLength(1);
});

const SLOW = 'did not answer in time (TimeoutError). Try again later.';

test('a silent sign-in ends with the time of the call, in which nothing was asked for', async () => {
  const lab = await startGoogleLab({ routes: ROUTES });
  lab.standIn.signInFault({ kind: 'silence' });
  expect(await search(lab, 500)).toMatchObject({
    code: 'upstream_unavailable',
    message: `Google Drive ${SLOW}`,
    executed: 'no',
  });
  expect(lab.standIn.apiRequests()).toEqual([]);
});

test('the requests of one call share its time, which is a little less than the call has', async () => {
  const lab: GoogleLab = await startGoogleLab({
    routes: [
      ({ path }) => {
        // From the list on, nothing is answered.
        if (path.endsWith('/messages')) lab.standIn.fault({ kind: 'silence' }, 100);
        return undefined;
      },
      ...createGmailRoutes({ messages: createMessages(25) }),
    ],
  });
  const [listEmails] = createMailTools(lab);
  if (listEmails === undefined) throw new Error('There is no tool.');
  const startedAt = performance.now();
  expect(await callTool(listEmails, { page_size: 25 }, { timeoutMs: 2_000 })).toMatchObject({
    code: 'upstream_unavailable',
    message: `Gmail ${SLOW}`,
  });
  // One request alone may take longer than that.
  expect(performance.now() - startedAt).toBeLessThan(timeLimit(15_000));
  expect(lab.standIn.apiRequests()).toHaveLength(6);
});
