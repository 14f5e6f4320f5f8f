import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createDriveRoutes } from '@recourse/test-support/google/drive-routes.ts';
import {
  createCredentialsPath,
  findLeaks,
  TEST_CLIENT_SECRET,
  TEST_PRIVATE_KEY,
  TEST_REFRESH_TOKEN,
  toCredentials,
  writeCredentials,
} from '@recourse/test-support/google/google-credentials.ts';
import { toClaims } from '@recourse/test-support/google/google-stand-in.ts';
import { describe, expect, test } from 'vitest';
import { createSearchDrive } from '#src/search-drive.ts';
import { callTool, type GoogleLab, startGoogleLab } from '#test/support/google-lab.ts';

const ROUTES = createDriveRoutes([{ id: 'f1', name: 'Plan', mimeType: 'text/plain' }]);
const startWith = (credentialsPath: string): Promise<GoogleLab> => startGoogleLab({ routes: ROUTES, credentialsPath });
const search = (lab: GoogleLab) => callTool(createSearchDrive(lab), { query: 'plan' });
const ENDING = "A human must set it to a JSON file with the key of a service account or a user's refresh token.";

test('names the setting where there are no credentials, and asks nobody', async () => {
  const lab = await startWith('');
  expect(await search(lab)).toMatchObject({
    code: 'retry_requested',
    executed: 'no',
    message:
      "Google Drive not configured. Set GOOGLE_CREDENTIALS_PATH to a JSON file with the key of a service account or a user's refresh token.",
  });
  expect(lab.standIn.requests).toEqual([]);
});

const EC_KEY = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' });

const BROKEN: readonly { readonly what: string; readonly content: string; readonly mistake: string }[] = [
  { what: 'no JSON', content: `{"private_key": "${TEST_CLIENT_SECRET}`, mistake: 'is not JSON' },
  { what: 'an empty file', content: '', mistake: 'is not JSON' },
  { what: 'a list', content: '[]', mistake: 'is neither of type service_account nor of type authorized_user' },
  {
    what: 'another type',
    content: '{"type":"external_account"}',
    mistake: 'is neither of type service_account nor of type authorized_user',
  },
  {
    what: 'the file of a client',
    content: JSON.stringify({ installed: { client_id: 'a', client_secret: TEST_CLIENT_SECRET } }),
    mistake:
      'is the file of an OAuth client (installed or web), without a refresh_token of a user: sign in with it first',
  },
  {
    what: 'a service account without a key',
    content: JSON.stringify(toCredentials('service_account', { private_key: undefined })),
    mistake: 'has no private_key',
  },
  {
    what: 'a service account with half a key',
    content: JSON.stringify(toCredentials('service_account', { private_key: TEST_PRIVATE_KEY.slice(0, 400) })),
    mistake: 'has a private_key that is not an RSA key in PEM format',
  },
  {
    what: 'a service account with a key that Google does not take',
    content: JSON.stringify(toCredentials('service_account', { private_key: EC_KEY })),
    mistake: 'has a private_key that is not an RSA key in PEM format',
  },
  {
    what: 'a service account without an address',
    content: JSON.stringify(toCredentials('service_account', { client_email: 7 })),
    mistake: 'has no client_email',
  },
  {
    what: 'a user without a token',
    content: JSON.stringify(toCredentials('authorized_user', { refresh_token: '' })),
    mistake: 'has an empty refresh_token',
  },
  { what: 'a file of 100 kB', content: ' '.repeat(100_000), mistake: 'has more than 65536 bytes' },
];

describe('a broken file is told of, and nothing in it', () => {
  test.each(BROKEN)('$what', async ({ content, mistake }) => {
    const path = createCredentialsPath();
    writeFileSync(path, content);
    const lab = await startWith(path);
    const end = await search(lab);
    expect(end).toMatchObject({
      code: 'retry_requested',
      executed: 'no',
      message: `Google Drive not configured: the file in GOOGLE_CREDENTIALS_PATH ${mistake}. ${ENDING}`,
    });
    expect(findLeaks(JSON.stringify(end))).toEqual([]);
    expect(lab.standIn.requests).toEqual([]);
  });

  test('no file at all', async () => {
    expect(await search(await startWith(createCredentialsPath()))).toMatchObject({
      message: `Google Drive not configured: the file in GOOGLE_CREDENTIALS_PATH does not exist. ${ENDING}`,
    });
  });

  test.each([
    { what: 'a directory', make: (path: string) => mkdirSync(path) },
    { what: 'a pipe that nobody writes to', make: (path: string) => execFileSync('mkfifo', [path]) },
  ])('$what', async ({ make }) => {
    const path = createCredentialsPath();
    make(path);
    expect(await search(await startWith(path))).toMatchObject({
      message: `Google Drive not configured: the file in GOOGLE_CREDENTIALS_PATH is not a file. ${ENDING}`,
    });
  });
});

test('follows a file that is mended, and one that is replaced', async () => {
  const path = createCredentialsPath();
  const lab = await startWith(path);
  expect(await search(lab)).toMatchObject({ code: 'retry_requested' });
  writeFileSync(
    path,
    JSON.stringify(toCredentials('authorized_user', { refresh_token: 'another-token-which-is-old' })),
  );
  expect(await search(lab)).toMatchObject({ code: 'tool_failed' });
  writeFileSync(path, JSON.stringify(toCredentials('authorized_user')));
  expect(await search(lab)).toMatchObject({ kind: 'ok' });
  writeFileSync(path, JSON.stringify(toCredentials('service_account')));
  expect(await search(lab)).toMatchObject({ kind: 'ok' });
  expect(lab.standIn.signIns().map(({ body }) => new URLSearchParams(body).get('grant_type'))).toEqual([
    'refresh_token',
    'refresh_token',
    'urn:ietf:params:oauth:grant-type:jwt-bearer',
  ]);
  rmSync(path);
  expect(await search(lab)).toMatchObject({ code: 'retry_requested' });
});

test('reads a file with a byte order mark', async () => {
  const path = createCredentialsPath();
  writeFileSync(path, `\ufeff${JSON.stringify(toCredentials('authorized_user'))}`);
  expect(await search(await startWith(path))).toMatchObject({ kind: 'ok' });
});

test('registers what is secret before it is used, and only once', async () => {
  const path = writeCredentials('authorized_user');
  const lab = await startWith(path);
  await search(lab);
  await search(lab);
  expect(lab.secrets).toEqual([TEST_CLIENT_SECRET, TEST_REFRESH_TOKEN]);
  writeFileSync(path, JSON.stringify(toCredentials('service_account')));
  await search(lab);
  expect(lab.secrets).toEqual([TEST_CLIENT_SECRET, TEST_REFRESH_TOKEN, TEST_PRIVATE_KEY]);
});

test.each([
  { subject: undefined, sub: undefined },
  { subject: 'anna@example.com', sub: 'anna@example.com' },
])('signs in with the least scope, for the user of GOOGLE_SUBJECT: $subject', async ({ subject, sub }) => {
  const lab = await startGoogleLab({ routes: ROUTES, ...(subject === undefined ? {} : { subject }) });
  await search(lab);
  const assertion = new URLSearchParams(lab.standIn.signIns()[0]?.body).get('assertion') ?? '';
  expect(toClaims(assertion)).toMatchObject({
    iss: 'reader@recourse-test.iam.gserviceaccount.com',
    scope: 'https://www.googleapis.com/auth/drive.readonly',
  });
  expect(toClaims(assertion)).toHaveProperty('aud', 'https://oauth2.googleapis.com/token');
  expect(JSON.parse(JSON.stringify(toClaims(assertion))).sub).toBe(sub);
});
