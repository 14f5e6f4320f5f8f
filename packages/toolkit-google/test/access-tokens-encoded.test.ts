import { createDriveRoutes } from '@recourse/test-support/google/drive-routes.ts';
import {
  findLeaks,
  TEST_CLIENT_SECRET,
  TEST_PRIVATE_KEY,
  writeCredentials,
} from '@recourse/test-support/google/google-credentials.ts';
import type { StandInRequest } from '@recourse/test-support/google/google-stand-in.ts';
import { describe, expect, test } from 'vitest';
import { createMailTools } from '#src/mail-tools.ts';
import { createReadDriveFile } from '#src/read-drive-file.ts';
import { createSearchDrive } from '#src/search-drive.ts';
import { createGmailRoutes } from '#test/support/gmail-routes.ts';
import { callTool, type GoogleLab, startGoogleLab } from '#test/support/google-lab.ts';

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

const listEmails = async (toMessage: (token: string) => object) => {
  const lab = await startGoogleLab({
    routes: [
      (request) =>
        request.path.endsWith('/messages/a') ? { body: { id: 'a', ...toMessage(tokenOf(request)) } } : undefined,
      ...createGmailRoutes({ messages: [{ id: 'a' }] }),
    ],
  });
  const [tool] = createMailTools(lab);
  if (tool === undefined) throw new Error('There is no tool.');
  return callTool(tool, {});
};

describe('an access token is taken out of what the tool itself decodes', () => {
  test('a header in encoded words, between which it is divided', async () => {
    const toWord = (text: string): string => `=?utf-8?B?${Buffer.from(text).toString('base64')}?=`;
    const end = await listEmails((token) => ({
      payload: {
        headers: [{ name: 'From', value: `${toWord(`Ann ${token.slice(0, 7)}`)} ${toWord(token.slice(7))}` }],
      },
    }));
    expect(end).toMatchObject({ value: { emails: [{ from: 'Ann [redacted]' }] } });
  });

  test('a snippet that is cut within it', async () => {
    const end = await listEmails((token) => ({ snippet: `${'x '.repeat(140)}${token.replace('.', '&#46;')} y` }));
    expect(end).toMatchObject({ value: { emails: [{ snippet: `${'x '.repeat(140)}[redacted] y` }] } });
    expect(findLeaks(JSON.stringify(end))).toEqual([]);
  });

  test.each(['utf-16le', 'utf-16be'])('a file in %s', async (charset) => {
    const write = (text: string): Buffer => {
      const bytes = Buffer.from(`\ufeff${text}`, 'utf16le');
      return charset === 'utf-16le' ? bytes : bytes.swap16();
    };
    const end = await readFile((token) => write(`é ${token}!`), {});
    expect(end).toMatchObject({ value: { content: 'é [redacted]!' } });
  });
});

const readFile = async (toContent: (token: string) => Buffer, part: object, token?: string) => {
  const lab = await startGoogleLab({
    routes: [
      (request) =>
        request.query.get('alt') === 'media'
          ? { headers: { 'content-type': 'text/plain' }, body: toContent(tokenOf(request)) }
          : { body: file('Plan') },
    ],
    ...(token === undefined
      ? {}
      : { takesAnyToken: true, signIn: () => ({ body: { access_token: token, expires_in: 3_599 } }) }),
  });
  return callTool(createReadDriveFile(lab), { file_id: 'f1', ...part });
};

describe('of a file that is read in parts', () => {
  const token = 'ya29.0123456789-0123456789';
  const content = () => Buffer.from(`abc ${token.replace('.', '%2E')} def`);

  test.each([
    { offset: 0, max_characters: 10, told: 'abc [redacted]' },
    { offset: 10, max_characters: 10, told: '[redacted]' },
    { offset: 20, max_characters: 100, told: '[redacted] def' },
    { offset: 32, max_characters: 4, told: ' def' },
  ])('no part of a token is told: $offset', async ({ told, ...part }) => {
    const next = part.offset + part.max_characters;
    expect(await readFile(content, part, token)).toMatchObject({
      value: { content: told, ...(next < 36 ? { truncated: true, next_offset: next } : { truncated: false }) },
    });
  });

  test.each([
    ['is like the token', 'a'],
    ['is full of escapes', '\\'],
  ])('one that %s stays as it is', async (_what, sign) => {
    const like = `${'a'.repeat(1_000)}b${'a'.repeat(1_000)}`;
    const part = { offset: 2_000_001, max_characters: 150_000 };
    const end = await readFile(() => Buffer.alloc(10_000_000, sign), part, like);
    expect(end).toMatchObject({ kind: 'ok', value: { truncated: true, next_offset: 2_150_001 } });
    expect(end).toMatchObject({ value: { content: sign.repeat(150_000) } });
  });
});

test('an access token that is longer than any of Google’s is not used', async () => {
  const signIn = () => ({ body: { access_token: 'x'.repeat(2_049), expires_in: 3_599 } });
  const lab = await startGoogleLab({ routes: ROUTES, signIn });
  expect(await search(lab)).toMatchObject({
    code: 'tool_failed',
    executed: 'no',
    message: `The sign-in for Google Drive returned an access token of more than 2048 characters, longer than any of Google. A human must check GOOGLE_API_URL: it is set to '${lab.standIn.url}'.`,
  });
  expect(lab.standIn.apiRequests()).toEqual([]);
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
