import { createDriveRoutes } from '@recourse/test-support/google/drive-routes.ts';
import {
  CREDENTIALS_KINDS,
  findLeaks,
  TEST_CLIENT_SECRET,
  writeCredentials,
} from '@recourse/test-support/google/google-credentials.ts';
import type { StandInRequest } from '@recourse/test-support/google/google-stand-in.ts';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { beginGoogleCall, DRIVE } from '#src/google-call.ts';
import { createMailTools } from '#src/mail-tools.ts';
import { createReadDriveFile } from '#src/read-drive-file.ts';
import { createSearchDrive } from '#src/search-drive.ts';
import { createGmailRoutes } from '#test/support/gmail-routes.ts';
import { callTool, type GoogleLab, startGoogleLab } from '#test/support/google-lab.ts';

const ROUTES = createDriveRoutes([{ id: 'f1', name: 'Plan', mimeType: 'text/plain', content: 'one' }]);
const search = (lab: GoogleLab) => callTool(createSearchDrive(lab), { query: 'plan' });

const tokenOf = ({ headers }: StandInRequest): string => (headers.authorization ?? '').replace('Bearer ', '');
const file = (name: string) => ({ id: 'f1', name, mimeType: 'text/plain' });

describe('an access token that Google repeats in an answer is in no result', () => {
  test.each([
    { what: 'as it is', write: (token: string) => `"Bearer ${token}."` },
    { what: 'escaped', write: (token: string) => `"Bearer \\u0079${token.slice(1)}."` },
  ])('of a list, $what', async ({ write }) => {
    const lab = await startGoogleLab({
      routes: [
        (request) => ({
          headers: { 'content-type': 'application/json' },
          body: `{"kind":"drive#fileList","files":[{"id":"f1","mimeType":"text/plain","name":${write(tokenOf(request))}}]}`,
        }),
      ],
    });
    const end = await search(lab);
    expect(end).toMatchObject({ kind: 'ok', value: { files: [{ name: 'Bearer [redacted].' }] } });
    expect(findLeaks(JSON.stringify(end))).toEqual([]);
  });

  test('of a file', async () => {
    const lab = await startGoogleLab({
      routes: [
        (request) =>
          request.query.get('alt') === 'media'
            ? { headers: { 'content-type': 'text/plain' }, body: `é ${tokenOf(request)} é` }
            : { body: file(`Plan ${tokenOf(request)}`) },
      ],
    });
    const end = await callTool(createReadDriveFile(lab), { file_id: 'f1' });
    expect(end).toMatchObject({ kind: 'ok', value: { name: 'Plan [redacted]', content: 'é [redacted] é' } });
    expect(findLeaks(JSON.stringify(end))).toEqual([]);
  });

  test('of a list that was asked for with a token the library renewed by itself', async () => {
    const files = (request: StandInRequest) => [file(`Plan ${tokenOf(request)}`)];
    const lab = await startGoogleLab({
      routes: [(request) => ({ body: { kind: 'drive#fileList', files: files(request) } })],
      expiresIn: 60,
    });
    expect(await search(lab)).toMatchObject({ kind: 'ok', value: { files: [{ name: 'Plan [redacted]' }] } });
    expect(lab.standIn.signIns().length).toBeGreaterThan(1);
  });

  test('of a failure that names the file', async () => {
    const lab = await startGoogleLab({
      routes: [(request) => ({ body: { ...file(tokenOf(request)), mimeType: 'application/vnd.google-apps.folder' } })],
    });
    const end = await callTool(createReadDriveFile(lab), { file_id: 'f1' });
    expect(end).toMatchObject({
      code: 'retry_requested',
      message: expect.stringMatching(/^'\[redacted\]' is a folder/),
    });
  });

  test('of an email', async () => {
    const lab = await startGoogleLab({
      routes: [
        (request) => {
          const headers = [{ name: 'Subject', value: `About ${tokenOf(request)}` }];
          const body = { id: 'a', snippet: tokenOf(request), payload: { headers } };
          return request.path.endsWith('/messages/a') ? { body } : undefined;
        },
        ...createGmailRoutes({ messages: [{ id: 'a' }] }),
      ],
    });
    const [listEmails] = createMailTools(lab);
    if (listEmails === undefined) throw new Error('There is no tool.');
    const end = await callTool(listEmails, {});
    expect(end).toMatchObject({ value: { emails: [{ subject: 'About [redacted]', snippet: '[redacted]' }] } });
  });

  test('but a token that is no secret takes nothing out of an answer', async () => {
    const signIn = () => ({ body: { access_token: 'a', expires_in: 3_599 } });
    const body = { kind: 'drive#fileList', files: [file('A plan')] };
    const lab = await startGoogleLab({ routes: [() => ({ body })], signIn, takesAnyToken: true });
    expect(await search(lab)).toMatchObject({ value: { files: [{ name: 'A plan', mime_type: 'text/plain' }] } });
  });

  test('however deep an answer is', async () => {
    const lab = await startGoogleLab({ routes: [() => ({ body: '['.repeat(200_000) + ']'.repeat(200_000) })] });
    expect(await search(lab)).toMatchObject({ code: 'upstream_unavailable' });
  });
});

test.each(['ya29.a\nx-b: c', 'ya29.€', 'ya29 b'])(
  'a token that no header can hold is an answer that cannot be read: %j',
  async (token) => {
    for (const credentials of CREDENTIALS_KINDS) {
      const signIn = () => ({ body: { access_token: token, expires_in: 3_599 } });
      const lab = await startGoogleLab({ routes: ROUTES, credentials, signIn });
      expect(await search(lab)).toMatchObject({
        code: 'upstream_unavailable',
        message: 'Google Drive sent an answer that cannot be read. Try again later.',
      });
      expect(lab.standIn.apiRequests()).toEqual([]);
    }
  },
);

test('a sign-in that is repeated in its refusal is not shown, wherever the text is cut', async () => {
  for (const before of ['', 'x'.repeat(100), 'x'.repeat(185)]) {
    const lab = await startGoogleLab({
      routes: ROUTES,
      signIn: ({ body }) => {
        const assertion = new URLSearchParams(body).get('assertion') ?? '';
        return { status: 401, body: { error: 'invalid_client', error_description: `${before} ${assertion}` } };
      },
    });
    const end = await search(lab);
    expect(end).toMatchObject({ code: 'tool_failed', message: expect.stringContaining('[redacted]') });
    expect(JSON.stringify(end)).not.toContain('eyJ');
  }
});

test('only what is long enough to be a secret is taken out of texts, once', async () => {
  const credentialsPath = writeCredentials('authorized_user', {
    client_secret: 'e',
    refresh_token: TEST_CLIENT_SECRET,
  });
  const description = `The secret ${TEST_CLIENT_SECRET} is refused.`;
  const lab = await startGoogleLab({
    routes: ROUTES,
    credentialsPath,
    signIn: () => ({ status: 401, body: { error: 'invalid_client', error_description: description } }),
  });
  expect(await search(lab)).toMatchObject({
    message: expect.stringContaining("Google says: 'The secret [redacted] is refused.'."),
  });
});

test('what the library cannot write is no word on Google', async () => {
  const lab = await startGoogleLab({ routes: ROUTES });
  const call = beginGoogleCall({ signal: new AbortController().signal, timeoutMs: 30_000 });
  const read = lab.google.read(DRIVE, async () => Promise.reject(new URIError('URI malformed')), z.unknown(), call);
  await expect(read).rejects.toMatchObject({
    name: 'RetryableToolError',
    message: 'The request to Google Drive failed: URIError: URI malformed. Correct the parameters.',
    executed: 'no',
  });
  expect(lab.standIn.apiRequests()).toEqual([]);
});

describe('an answer that is none of Google is no word on the credentials or the file', () => {
  const html = (status: number) => ({
    status,
    headers: { 'content-type': 'text/html' },
    body: '<html>Nothing here</html>',
  });

  test.each([404, 418, 425])('of a sign-in: %i', async (status) => {
    const lab = await startGoogleLab({ routes: ROUTES, signIn: () => html(status) });
    expect(await search(lab)).toMatchObject({
      code: 'tool_failed',
      message: `The answer for Google Drive did not come from Google (${status}). A human must check GOOGLE_API_URL: it is set to '${lab.standIn.url}'.`,
    });
  });

  test.each([400, 403, 404])('of a read: %i', async (status) => {
    const lab = await startGoogleLab({ routes: [() => html(status)] });
    const message = `The answer for Google Drive did not come from Google (${status}). A human must check GOOGLE_API_URL: it is set to '${lab.standIn.url}'.`;
    expect(await search(lab)).toMatchObject({ code: 'tool_failed', message });
    expect(await callTool(createReadDriveFile(lab), { file_id: 'f1' })).toMatchObject({ message });
  });

  test('of one email, which is not taken for one that is gone', async () => {
    const lab = await startGoogleLab({
      routes: [
        ({ path }) => (path.endsWith('/messages/a') ? html(404) : undefined),
        ...createGmailRoutes({ messages: [{ id: 'a' }] }),
      ],
    });
    const [listEmails] = createMailTools(lab);
    if (listEmails === undefined) throw new Error('There is no tool.');
    expect(await callTool(listEmails, {})).toMatchObject({ code: 'tool_failed' });
  });
});
