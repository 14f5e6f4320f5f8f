import { writeFileSync } from 'node:fs';
import { createDriveRoutes } from '@recourse/test-support/google/drive-routes.ts';
import { findLeaks, toCredentials, writeCredentials } from '@recourse/test-support/google/google-credentials.ts';
import { startGoogleStandIn } from '@recourse/test-support/google/google-stand-in.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { expect, onTestFinished, test } from 'vitest';

const FILES = [
  { id: 'f1', name: 'Plan A', mimeType: 'application/vnd.google-apps.document', content: 'Meet at ten.' },
  { id: 'f2', name: 'Plan B', mimeType: 'text/plain', content: 'Meet at eleven.' },
];

const startDrive = async (credentialsPath: string) => {
  const standIn = await startGoogleStandIn({ routes: createDriveRoutes(FILES) });
  const service = await startService({
    TOOL_GROUPS: 'drive',
    GOOGLE_API_URL: standIn.url,
    GOOGLE_CREDENTIALS_PATH: credentialsPath,
  });
  onTestFinished(service.stop);
  return { standIn, service };
};

const call = async (service: RunningService, name: string, args: Readonly<Record<string, unknown>>, session = 's1') =>
  (await service.call([{ id: 'c1', name, arguments: args }], { session_id: session }))[0];

const logOf = (service: RunningService): string => JSON.stringify(service.logLines());

test('an agent finds files, page by page, and reads one', async () => {
  const { service } = await startDrive(writeCredentials());
  expect(await call(service, 'search_drive', { query: 'plan', page_size: 1 })).toMatchObject({
    success: true,
    value: { count: 1, page: 1, has_more: true, files: [{ id: 'f1', name: 'Plan A' }] },
  });
  expect(await call(service, 'search_drive', { query: 'plan', page_size: 1, page: 2 })).toMatchObject({
    success: true,
    value: { count: 1, page: 2, has_more: false, files: [{ id: 'f2' }] },
  });
  expect(await call(service, 'read_drive_file', { file_id: 'f1' })).toMatchObject({
    success: true,
    value: { display: "'Plan A' (Google Doc), 12 characters.", content: 'Meet at ten.' },
  });
  expect(await call(service, 'search_drive', { query: 'plan', page_size: 1, page: 2 }, 's2')).toMatchObject({
    outcome: 'retry',
    error: { code: 'retry_requested' },
    message: expect.stringMatching(/^Page 2 not available\. Search from page 1 first\./),
  });
});

test('nothing found costs no retry', async () => {
  const { service } = await startDrive(writeCredentials());
  expect(await call(service, 'search_drive', { query: 'Chris 1:1' })).toMatchObject({
    success: true,
    outcome: 'success',
    message: 'No files found.',
    value: { display: 'No files found.', count: 0, files: [] },
    retry: null,
  });
});

test('a call in a hurry hears at once that Google limits it', async () => {
  const { standIn, service } = await startDrive(writeCredentials());
  // The libraries are loaded with the first call.
  await call(service, 'search_drive', { query: 'plan' });
  standIn.fault({ kind: 'status', status: 429, headers: { 'retry-after': '4' } }, 2);
  const slow = { id: 'c1', name: 'search_drive', arguments: { query: 'plan' }, timeout_ms: 3_000 };
  expect(await service.call([slow])).toMatchObject([
    { error: { code: 'upstream_rate_limited', retry_after_ms: 4_000 } },
  ]);
});

test('half an emoji is a mistake of the caller, and closes the tool for nobody', async () => {
  const { standIn, service } = await startDrive(writeCredentials());
  for (let round = 0; round < 12; round += 1)
    expect(await call(service, 'search_drive', { query: 'x\ud800' }, `s${round}`)).toMatchObject({
      error: { code: 'invalid_arguments' },
    });
  expect(standIn.requests).toEqual([]);
  expect(await call(service, 'search_drive', { query: 'plan' }, 'other')).toMatchObject({ success: true });
});

test('no secret is in an answer, in the log or on any other way, whatever goes wrong', async () => {
  const path = writeCredentials('authorized_user');
  const { standIn, service } = await startDrive(path);
  const results = [await call(service, 'search_drive', { query: 'plan' })];
  const faults = [
    { fault: { kind: 'status', status: 401 }, times: 2 },
    { fault: { kind: 'status', status: 500 }, times: 3 },
    { fault: { kind: 'cut_connection' }, times: 3 },
  ] as const;
  for (const { fault, times } of faults) {
    standIn.fault(fault, times);
    results.push(await call(service, 'search_drive', { query: 'plan' }));
  }
  writeFileSync(path, JSON.stringify(toCredentials('service_account')));
  results.push(await call(service, 'read_drive_file', { file_id: 'f2' }));
  standIn.revoke();
  results.push(await call(service, 'read_drive_file', { file_id: 'f2' }));
  results.push(await call(service, 'read_drive_file', { file_id: 'f2' }));
  expect(results.map((result) => result?.error?.code ?? 'found')).toEqual([
    'found',
    'tool_failed',
    'upstream_unavailable',
    'upstream_unavailable',
    'found',
    'tool_failed',
    'tool_failed',
  ]);
  expect(standIn.tokens().length).toBeGreaterThan(1);
  expect(findLeaks(JSON.stringify(results))).toEqual([]);
  expect(findLeaks(logOf(service))).toEqual([]);
});

test('a file that holds the key of the service shows nothing of it', async () => {
  const { private_key: key } = toCredentials('service_account');
  const standIn = await startGoogleStandIn({
    routes: createDriveRoutes([{ id: 'f1', name: 'Backup', mimeType: 'text/plain', content: String(key) }]),
  });
  const service = await startService({
    TOOL_GROUPS: 'drive',
    GOOGLE_API_URL: standIn.url,
    GOOGLE_CREDENTIALS_PATH: writeCredentials(),
  });
  onTestFinished(service.stop);
  const result = await call(service, 'read_drive_file', { file_id: 'f1' });
  expect(result).toMatchObject({ success: true });
  expect(findLeaks(JSON.stringify(result))).toEqual([]);
});

test('the tools are offered before there are credentials, and say what is missing', async () => {
  const service = await startService({ TOOL_GROUPS: 'drive' });
  onTestFinished(service.stop);
  expect(await call(service, 'search_drive', { query: 'plan' })).toMatchObject({
    outcome: 'retry',
    executed: 'no',
    message: expect.stringMatching(/^Google Drive not configured\. Set GOOGLE_CREDENTIALS_PATH to /),
  });
});
