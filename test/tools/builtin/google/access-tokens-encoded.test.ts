import { describe, expect, test } from 'vitest';
import { createMailTools } from '#src/tools/builtin/google/gmail-tools.ts';
import { createReadDriveFile } from '#src/tools/builtin/google/read-drive-file.ts';
import { createSearchDrive } from '#src/tools/builtin/google/search-drive.ts';
import { createDriveRoutes } from '#test/support/google/drive-routes.ts';
import { createGmailRoutes } from '#test/support/google/gmail-routes.ts';
import {
  findLeaks,
  TEST_CLIENT_SECRET,
  TEST_PRIVATE_KEY,
  writeCredentials,
} from '#test/support/google/google-credentials.ts';
import { callTool, type GoogleLab, startGoogleLab } from '#test/support/google/google-lab.ts';
import type { StandInRequest } from '#test/support/google/google-stand-in.ts';

const ROUTES = createDriveRoutes([{ id: 'f1', name: 'Plan', mimeType: 'text/plain', content: 'one' }]);
const search = (lab: GoogleLab) => callTool(createSearchDrive(lab), { query: 'plan' });

const tokenOf = ({ headers }: StandInRequest): string => (headers.authorization ?? '').replace('Bearer ', '');
const file = (name: string) => ({ id: 'f1', name, mimeType: 'text/plain' });

/** Each sign as an escape: `%79%61`. */
const inHex = (text: string, sign: string): string =>
  [...text].map((one) => `${sign}${one.charCodeAt(0).toString(16)}`).join('');

describe('an access token that Google repeats encoded is in no result', () => {
  test.each([
    [
      'in a URL',
      'See https://x.test/?access_token=[redacted]&x=%20',
      (token: string) => `See https://x.test/?access_token=${token.replace('.', '%2E')}&x=%20`,
    ],
    ['in a URL in a URL', '?u=[redacted]', (token: string) => `?u=${token.replace('.', '%252e')}`],
    ['with every sign escaped', '[redacted] a%20b', (token: string) => `${inHex(token, '%')} a%20b`],
    ['in JSON', '{"Authorization":"[redacted]"}', (token: string) => `{"Authorization":"\\u0079${token.slice(1)}"}`],
    ['in JSON in JSON', '[redacted]', (token: string) => inHex(token, '\\\\u00')],
    ['in HTML', 'Tom &amp; [redacted]', (token: string) => `Tom &amp; &#121;&#x61;${token.slice(2)}`],
    ['in mail', '[redacted]', (token: string) => inHex(token, '=')],
  ])('of a list, as it is written %s', async (_where, name, write) => {
    const lab = await startGoogleLab({
      routes: [(request) => ({ body: { kind: 'drive#fileList', files: [file(write(tokenOf(request)))] } })],
    });
    expect(await search(lab)).toMatchObject({ kind: 'ok', value: { files: [{ name }] } });
  });

  test.each(['', 'a', 'ab'])('of a list, in the Base64 of a text that begins with %j', async (before) => {
    // Of these signs the two alphabets have different ones.
    const token = 'a~token?of>signs~that?differ';
    const signIn = () => ({ body: { access_token: token, expires_in: 3_599 } });
    for (const alphabet of ['base64', 'base64url'] as const) {
      const name = Buffer.from(`${before}${token} is it`).toString(alphabet);
      const routes = [() => ({ body: { kind: 'drive#fileList', files: [file(name)] } })];
      const lab = await startGoogleLab({ routes, signIn, takesAnyToken: true });
      const found = expect.stringMatching(/^\S{0,3}\[redacted\]\S{8,12}$/);
      expect(await search(lab)).toMatchObject({ value: { files: [{ name: found }] } });
    }
  });

  test('of an email, whose headers and snippet are decoded', async () => {
    const lab = await startGoogleLab({
      routes: [
        (request) => {
          const word = `=?utf-8?Q?${inHex(tokenOf(request), '=')}?=`;
          const body = {
            id: 'a',
            snippet: `&#121;${tokenOf(request).slice(1)}`,
            payload: { headers: [{ name: 'Subject', value: word }] },
          };
          return request.path.endsWith('/messages/a') ? { body } : undefined;
        },
        ...createGmailRoutes({ messages: [{ id: 'a' }] }),
      ],
    });
    const [listEmails] = createMailTools(lab);
    if (listEmails === undefined) throw new Error('There is no tool.');
    const end = await callTool(listEmails, {});
    expect(end).toMatchObject({ value: { emails: [{ snippet: '[redacted]' }] } });
    expect(findLeaks(JSON.stringify(end))).toEqual([]);
  });

  test('of a file, as URLs write it, and all else of the file stays as it is', async () => {
    const lab = await startGoogleLab({
      routes: [
        (request) =>
          request.query.get('alt') === 'media'
            ? {
                headers: { 'content-type': 'text/plain' },
                body: `é%41 ${tokenOf(request).replace('.', '%2e')}\n 100%\u0041`,
              }
            : { body: file('Plan') },
      ],
    });
    const end = await callTool(createReadDriveFile(lab), { file_id: 'f1' });
    expect(end).toMatchObject({ value: { content: 'é%41 [redacted]\n 100%A' } });
  });
});

test.each([
  ['as URLs write it', (secret: string) => secret.replaceAll('-', '%2D')],
  ['in Base64', (secret: string) => Buffer.from(secret).toString('base64').replace(/=+$/, '')],
  ['as it is beside an escaped one', (secret: string) => `${secret} %73${secret.slice(1)}`],
])('a secret in a refusal is not shown, %s', async (_how, write) => {
  const lab = await startGoogleLab({
    routes: ROUTES,
    credentialsPath: writeCredentials('authorized_user', {
      client_secret: 'secret-of-a-client',
      refresh_token: TEST_CLIENT_SECRET,
    }),
    signIn: () => ({
      status: 401,
      body: { error: 'invalid_client', error_description: `It is ${write('secret-of-a-client')}.` },
    }),
  });
  expect(await search(lab)).toMatchObject({
    message: expect.stringMatching(/Google says: 'It is \[redacted\]( \[redacted\])?.{0,2}\.'/),
  });
});

test('a private key in a refusal is not shown, as JSON writes it', async () => {
  const lab = await startGoogleLab({
    routes: ROUTES,
    credentials: 'service_account',
    signIn: () => ({
      status: 401,
      body: { error: 'invalid_client', error_description: `It is ${JSON.stringify(TEST_PRIVATE_KEY)}, a%20b.` },
    }),
  });
  expect(await search(lab)).toMatchObject({ message: expect.stringContaining('\'It is "[redacted]", a%20b.\'') });
});
