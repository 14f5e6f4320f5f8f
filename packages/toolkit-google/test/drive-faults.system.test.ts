import { createDriveRoutes } from '@recourse/test-support/google/drive-routes.ts';
import { CREDENTIALS_KINDS, findLeaks, TEST_ACCOUNT } from '@recourse/test-support/google/google-credentials.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import type { InlineTool } from 'recourse-server/internal/tools/tool.ts';
import { describe, expect, test } from 'vitest';
import { createReadDriveFile } from '#src/read-drive-file.ts';
import { createSearchDrive } from '#src/search-drive.ts';
import { PASSING_FAULTS, toFaultMatrix } from '#test/support/fault-matrix.ts';
import { callTool, type GoogleLab, startGoogleLab } from '#test/support/google-lab.ts';

const ROUTES = createDriveRoutes([{ id: 'f1', name: 'Plan', mimeType: 'text/plain', content: 'one' }]);
const API = {
  name: 'Google Drive',
  service: 'drive.googleapis.com',
  scope: 'https://www.googleapis.com/auth/drive.readonly',
};

const TOOLS = [
  {
    name: 'search_drive',
    input: { query: 'plan' },
    create: (lab: GoogleLab): InlineTool => createSearchDrive(lab),
    requests: 1,
    texts: {
      missing: "Not found in Google Drive (404). Google says: 'File not found'. Check the id.",
      forbidden: `Google Drive refuses access (403). Google says: 'Google has its reasons.'. A human must grant it to ${TEST_ACCOUNT}.`,
    },
  },
  {
    name: 'read_drive_file',
    input: { file_id: 'f1' },
    create: (lab: GoogleLab): InlineTool => createReadDriveFile(lab),
    requests: 2,
    texts: {
      missing: `There is no file 'f1', or it is not shared with ${TEST_ACCOUNT}. Call search_drive to find it.`,
      forbidden: `There is no access to file 'f1'. A human must share it with ${TEST_ACCOUNT}.`,
    },
  },
];

describe.each(TOOLS)('$name', ({ input, create, requests, texts }) => {
  test.each(toFaultMatrix({ ...API, ...texts }))('says what went wrong: $name', async (row) => {
    const lab = await startGoogleLab({ routes: ROUTES });
    lab.standIn.fault(row.fault, 10);
    const end = await callTool(create(lab), input);
    expect(end).toMatchObject({ kind: 'failure', code: row.code, message: row.text, retryAfterMs: row.retryAfterMs });
    expect(lab.standIn.apiRequests()).toHaveLength(row.requests);
    expect(lab.standIn.signIns()).toHaveLength(row.signIns ?? 1);
    expect(findLeaks(JSON.stringify(end))).toEqual([]);
  });

  test.each(PASSING_FAULTS)('gets over what passes: $name, seen once more', async ({ fault }) => {
    const lab = await startGoogleLab({ routes: ROUTES });
    lab.standIn.fault(fault);
    expect(await callTool(create(lab), input)).toMatchObject({ kind: 'ok', value: { count: 1 } });
    expect(lab.standIn.apiRequests()).toHaveLength(requests + 1);
  });

  test('gives up an answer that does not come in time', async () => {
    const lab = await startGoogleLab({ routes: ROUTES, limits: { readMs: 300, signInMs: 15_000 } });
    lab.standIn.fault({ kind: 'silence' });
    expect(await callTool(create(lab), input)).toMatchObject({
      code: 'upstream_unavailable',
      message: expect.stringMatching(/^Google Drive did not answer in time \(\w+\)\. Try again later\.$/),
    });
  });

  test('gives up an answer of which the body does not end', async () => {
    const lab = await startGoogleLab({ routes: ROUTES, limits: { readMs: 1_000, signInMs: 15_000 } });
    lab.standIn.fault({ kind: 'drip' });
    expect(await callTool(create(lab), input)).toMatchObject({
      code: 'upstream_unavailable',
      message: 'Google Drive did not answer in time. Try again later.',
    });
  });

  test('ends with the reason of the call that is given up', async () => {
    const lab = await startGoogleLab({ routes: ROUTES });
    lab.standIn.fault({ kind: 'silence' });
    const given = new AbortController();
    const call = callTool(create(lab), input, { signal: given.signal });
    await expect.poll(() => lab.standIn.apiRequests().length, { timeout: timeLimit(15_000) }).toBe(1);
    given.abort(new Error('The client went away.'));
    expect(await call).toMatchObject({ code: 'Error', message: 'The client went away.' });
  });

  test.each(CREDENTIALS_KINDS)('asks a human to renew what was revoked: %s', async (credentials) => {
    const lab = await startGoogleLab({ routes: ROUTES, credentials });
    lab.standIn.revoke();
    expect(await callTool(create(lab), input)).toMatchObject({
      code: 'tool_failed',
      message: expect.stringMatching(
        /^The Google credentials have expired or were revoked\. Google says: 'Token has been expired or revoked\.'\. A human must /,
      ),
    });
    expect(lab.standIn.apiRequests()).toEqual([]);
    expect(lab.standIn.signIns()).toHaveLength(1);
  });

  test('shows no token that an error of Google repeats', async () => {
    const echo = createDriveRoutes([]);
    const lab = await startGoogleLab({
      routes: [
        ({ headers }) => ({
          status: 403,
          body: { error: { code: 403, message: `Not with ${headers.authorization}`, errors: [] } },
        }),
        ...echo,
      ],
    });
    const end = await callTool(create(lab), input);
    expect(end).toMatchObject({ code: 'tool_failed' });
    expect(lab.standIn.tokens()).toHaveLength(1);
    expect(findLeaks(JSON.stringify(end))).toEqual([]);
  });
});

test('read_drive_file gives up a download of which the body does not end', async () => {
  const lab: GoogleLab = await startGoogleLab({
    routes: [
      () => {
        lab.standIn.fault({ kind: 'drip' });
        return undefined;
      },
      ...ROUTES,
    ],
    limits: { readMs: 1_000, signInMs: 15_000 },
  });
  expect(await callTool(createReadDriveFile(lab), { file_id: 'f1' })).toMatchObject({
    code: 'upstream_unavailable',
    message: 'Google Drive did not answer in time. Try again later.',
  });
  expect(lab.standIn.apiRequests()).toHaveLength(2);
});
