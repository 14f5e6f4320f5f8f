import { execFile } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Socket } from 'node:net';
import { promisify } from 'node:util';
import { createDriveRoutes } from '@recourse/test-support/google/drive-routes.ts';
import { CREDENTIALS_KINDS, findLeaks, writeCredentials } from '@recourse/test-support/google/google-credentials.ts';
import { FROM_SOURCES } from '@recourse/test-support/node-flags.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createReadDriveFile } from '#src/read-drive-file.ts';
import { createSearchDrive } from '#src/search-drive.ts';
import { callTool, type GoogleLab, startGoogleLab } from '#test/support/google-lab.ts';

const ACCESS = new URL('../src/google-access.ts', import.meta.url).href;
const SEARCH = new URL('../src/search-drive.ts', import.meta.url).href;
const ROUTES = createDriveRoutes([{ id: 'f1', name: 'Plan', mimeType: 'text/plain', content: 'one' }]);
const search = (lab: GoogleLab) => callTool(createSearchDrive(lab), { query: 'plan' });
const FOUND = { kind: 'ok', value: { count: 1 } };

test.each(CREDENTIALS_KINDS)('parallel calls and those after them share one sign-in: %s', async (credentials) => {
  const lab = await startGoogleLab({ routes: ROUTES, credentials });
  const ends = await Promise.all(Array.from({ length: 8 }, () => search(lab)));
  expect(ends).toMatchObject(Array.from({ length: 8 }, () => FOUND));
  expect(await callTool(createReadDriveFile(lab), { file_id: 'f1' })).toMatchObject({ value: { content: 'one' } });
  expect(lab.standIn.signIns()).toHaveLength(1);
  expect(lab.standIn.apiRequests()).toHaveLength(10);
});

test.each(CREDENTIALS_KINDS)('signs in again once a token is about to end: %s', async (credentials) => {
  const lab = await startGoogleLab({ routes: ROUTES, credentials, expiresIn: 60 });
  expect(await search(lab)).toMatchObject(FOUND);
  const before = lab.standIn.signIns().length;
  expect(await search(lab)).toMatchObject(FOUND);
  expect(lab.standIn.signIns().length).toBeGreaterThan(before);
});

test.each(CREDENTIALS_KINDS)(
  'a token that is refused early costs no call: they share one new sign-in: %s',
  async (kind) => {
    const lab = await startGoogleLab({ routes: ROUTES, credentials: kind });
    expect(await search(lab)).toMatchObject(FOUND);
    lab.standIn.expireTokens();
    const ends = await Promise.all(Array.from({ length: 8 }, () => search(lab)));
    expect(ends).toMatchObject(Array.from({ length: 8 }, () => FOUND));
    expect(lab.standIn.signIns()).toHaveLength(2);
    // One that begins after the sign-in has the new token at once.
    expect(lab.standIn.apiRequests().length).toBeGreaterThan(9);
    expect(lab.standIn.apiRequests().length).toBeLessThan(18);
  },
);

test('a call whose new token is refused as well is for a human, and the next one signs in again', async () => {
  const lab = await startGoogleLab({ routes: ROUTES });
  lab.standIn.fault({ kind: 'status', status: 401 }, 2);
  expect(await search(lab)).toMatchObject({ code: 'tool_failed' });
  expect(lab.standIn.apiRequests()).toHaveLength(2);
  expect(await search(lab)).toMatchObject(FOUND);
  expect(lab.standIn.signIns()).toHaveLength(3);
});

test('a call that is given up leaves the sign-in to the others that wait for it', async () => {
  const lab = await startGoogleLab({ routes: ROUTES, limits: { readMs: 15_000, signInMs: 2_000 } });
  lab.standIn.signInFault({ kind: 'silence' });
  const given = new AbortController();
  const first = callTool(createSearchDrive(lab), { query: 'plan' }, { signal: given.signal });
  const second = search(lab);
  await expect.poll(() => lab.standIn.signIns().length, { timeout: timeLimit(15_000) }).toBe(1);
  given.abort(new Error('The client went away.'));
  expect(await first).toMatchObject({ code: 'Error', message: 'The client went away.' });
  expect(await second).toMatchObject({
    code: 'upstream_unavailable',
    message: expect.stringMatching(/^Google Drive did not answer in time/),
  });
  expect(await search(lab)).toMatchObject(FOUND);
});

test.each([
  {
    what: '500 and then a token',
    fault: { kind: 'status', status: 500 },
    times: 1,
    end: FOUND,
    signIns: 2,
  },
  {
    what: '500 again and again',
    fault: { kind: 'status', status: 500 },
    times: 10,
    end: { code: 'upstream_unavailable', message: 'Google Drive is not available (500). Try again later.' },
    signIns: 3,
  },
  {
    what: 'truncated JSON',
    fault: { kind: 'truncated_json' },
    times: 1,
    end: {
      code: 'upstream_unavailable',
      message: 'Google Drive sent an answer that cannot be read. Try again later.',
    },
    signIns: 1,
  },
  {
    what: 'no token',
    fault: { kind: 'body', body: '{"expires_in":3600}' },
    times: 1,
    end: { code: 'upstream_unavailable' },
    signIns: 1,
  },
  {
    what: 'a token that is none',
    fault: { kind: 'body', body: '{"access_token":7,"expires_in":3600}' },
    times: 1,
    end: { code: 'upstream_unavailable' },
    signIns: 1,
  },
  {
    what: '429 with a long Retry-After',
    fault: { kind: 'status', status: 429, headers: { 'retry-after': '90' } },
    times: 1,
    end: { code: 'upstream_rate_limited', retryAfterMs: 90_000 },
    signIns: 1,
  },
] as const)('a sign-in that meets $what', async ({ fault, times, end, signIns }) => {
  for (const credentials of CREDENTIALS_KINDS) {
    const lab = await startGoogleLab({ routes: ROUTES, credentials });
    lab.standIn.signInFault(fault, times);
    expect(await search(lab)).toMatchObject(end);
    expect(lab.standIn.signIns()).toHaveLength(signIns);
    expect(lab.standIn.apiRequests()).toHaveLength('kind' in end ? 1 : 0);
  }
});

test.each([
  {
    error: 'unauthorized_client',
    credentials: 'authorized_user',
    message:
      "Google rejects the refresh token for this OAuth client. Google says: 'Not for these scopes.'. A human must put the client_id, client_secret and refresh_token of one sign-in into the file in GOOGLE_CREDENTIALS_PATH.",
  },
  ...CREDENTIALS_KINDS.map((credentials) => ({
    error: 'admin_policy_enforced',
    credentials,
    message:
      "The Google Workspace does not allow access to Google Drive. Google says: 'Not for these scopes.'. Its administrator must allow it.",
  })),
  {
    error: 'unauthorized_client',
    credentials: 'service_account',
    message:
      "The Google credentials do not give access to Google Drive. Google says: 'Not for these scopes.'. A human must grant them the scope https://www.googleapis.com/auth/drive.readonly.",
  },
  {
    error: 'invalid_client',
    credentials: 'service_account',
    message:
      "Google rejects the credentials (401). Google says: 'Not for these scopes.'. A human must check the file in GOOGLE_CREDENTIALS_PATH.",
  },
] as const)(
  'a sign-in that is refused is for a human: $error, $credentials',
  async ({ error, credentials, message }) => {
    const lab = await startGoogleLab({
      routes: ROUTES,
      credentials,
      signIn: () => ({ status: 401, body: { error, error_description: 'Not for these scopes.' } }),
    });
    expect(await search(lab)).toMatchObject({ code: 'tool_failed', message });
  },
);

test('no proxy of the environment is asked', async () => {
  const lab = await startGoogleLab({ routes: ROUTES });
  onTestFinished(() => void vi.unstubAllEnvs());
  for (const name of ['HTTPS_PROXY', 'HTTP_PROXY', 'https_proxy', 'http_proxy']) vi.stubEnv(name, 'not a proxy');
  expect(await search(lab)).toMatchObject(FOUND);
  expect(lab.standIn.requests).toHaveLength(2);
});

test('the library writes no request to stderr, whatever the environment asks it to', async () => {
  const lab = await startGoogleLab({ routes: ROUTES });
  const script = `
    import { GoogleAccess } from ${JSON.stringify(ACCESS)};
    import { createSearchDrive } from ${JSON.stringify(SEARCH)};
    const google = new GoogleAccess({ ...JSON.parse(process.argv[1]), registerSecrets: () => undefined });
    const tokens = { find: async () => null, keep: async () => undefined };
    const prepared = await createSearchDrive({ google, pageTokens: tokens }).prepare({ query: 'plan' });
    const { count } = await prepared.invocation.run({ signal: new AbortController().signal, session: null, timeoutMs: 30_000 });
    await google.close();
    console.log(count);`;
  const options = JSON.stringify({ credentialsPath: writeCredentials(), apiUrl: lab.standIn.url });
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    [...FROM_SOURCES, '--input-type=module', '--eval', script, options],
    { env: { ...process.env, GOOGLE_SDK_NODE_LOGGING: '*' } },
  );
  expect(stdout.trim()).toBe('1');
  expect(lab.standIn.tokens()).toHaveLength(1);
  expect(stderr).not.toMatch(/request|response|Bearer/i);
  expect(findLeaks(stdout + stderr)).toEqual([]);
});

test('nobody but the address of GOOGLE_API_URL is connected to, for sign-ins too', async () => {
  const sockets: Socket[] = [];
  const onSocket = (message: unknown): void => {
    if (typeof message === 'object' && message !== null && 'socket' in message && message.socket instanceof Socket)
      sockets.push(message.socket);
  };
  const lab = await startGoogleLab({ routes: ROUTES });
  subscribe('net.client.socket', onSocket);
  onTestFinished(() => void unsubscribe('net.client.socket', onSocket));
  expect(await search(lab)).toMatchObject(FOUND);
  expect(await callTool(createReadDriveFile(lab), { file_id: 'f1' })).toMatchObject({ kind: 'ok' });
  expect(sockets.length).toBeGreaterThan(0);
  expect([...new Set(sockets.map((socket) => `http://${socket.remoteAddress}:${socket.remotePort}`))]).toEqual([
    lab.standIn.url,
  ]);
});
