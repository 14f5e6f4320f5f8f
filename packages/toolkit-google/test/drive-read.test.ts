import { createDriveRoutes, type StandInFile } from '@recourse/test-support/google/drive-routes.ts';
import { TEST_ACCOUNT } from '@recourse/test-support/google/google-credentials.ts';
import { expect, test } from 'vitest';
import { createReadDriveFile } from '#src/read-drive-file.ts';
import { callTool, startGoogleLab } from '#test/support/google-lab.ts';

const GOOGLE = 'application/vnd.google-apps.';

const startRead = async (files: readonly StandInFile[]) => {
  const lab = await startGoogleLab({ routes: createDriveRoutes(files) });
  const tool = createReadDriveFile(lab);
  return { lab, read: (input: Readonly<Record<string, unknown>>) => callTool(tool, input) };
};

test.each([
  { type: `${GOOGLE}document`, format: 'text/plain', display: "'Plan' (Google Doc), 4 characters." },
  { type: `${GOOGLE}presentation`, format: 'text/plain', display: "'Plan' (Google Slides), 4 characters." },
  {
    type: `${GOOGLE}spreadsheet`,
    format: 'text/csv',
    display: "'Plan' (Google Sheet), 4 characters. Only its first sheet is shown, as CSV.",
  },
])('exports $type as $format', async ({ type, format, display }) => {
  const { lab, read } = await startRead([{ id: 'f1', name: 'Plan', mimeType: type, content: '\ufeffZeit' }]);
  expect(await read({ file_id: 'f1' })).toEqual({
    kind: 'ok',
    message: '',
    value: {
      display,
      count: 1,
      id: 'f1',
      name: 'Plan',
      mime_type: type,
      modified: '2026-02-05T10:30:37.000Z',
      url: 'https://drive.google.com/file/d/f1/view',
      content: 'Zeit',
      truncated: false,
    },
  });
  expect(lab.standIn.apiRequests().map(({ path, query }) => [path, query.get('mimeType')])).toEqual([
    ['/drive/v3/files/f1', null],
    ['/drive/v3/files/f1/export', format],
  ]);
});

test.each(['text/plain', 'text/markdown', 'application/json', 'image/svg+xml'])('downloads %s', async (mimeType) => {
  const { lab, read } = await startRead([{ id: 'f1', name: 'a', mimeType, content: 'grün' }]);
  expect(await read({ file_id: 'f1' })).toMatchObject({ value: { content: 'grün', count: 1, truncated: false } });
  expect(lab.standIn.apiRequests()[1]?.query.get('alt')).toBe('media');
});

test.each(['application/pdf', 'image/png'])('asks for a text file instead of %s', async (mimeType) => {
  const { read } = await startRead([{ id: 'f1', name: 'Scan', mimeType, content: Buffer.from([0, 1, 2]) }]);
  expect(await read({ file_id: 'f1' })).toMatchObject({
    code: 'retry_requested',
    message: `'Scan' is ${mimeType}, not text. Choose a text file, a Google Doc, Sheet or Slides, or ask a human to convert it.`,
  });
});

test.each([
  {
    type: 'folder',
    message: "'Plan' is a folder. Call search_drive to find the files you want, and read one of them.",
  },
  {
    type: 'form',
    message:
      "'Plan' is application/vnd.google-apps.form, which has no text. Choose a Google Doc, Sheet or Slides, or a text file.",
  },
])('asks for another file instead of a $type', async ({ type, message }) => {
  const { read } = await startRead([{ id: 'f1', name: 'Plan', mimeType: `${GOOGLE}${type}` }]);
  expect(await read({ file_id: 'f1' })).toMatchObject({ code: 'retry_requested', message });
});

test('says of an empty file that it is empty', async () => {
  const { read } = await startRead([{ id: 'f1', name: 'Plan', mimeType: 'text/plain' }]);
  expect(await read({ file_id: 'f1' })).toMatchObject({
    kind: 'empty',
    message: "'Plan' (text/plain) is empty.",
    value: { display: "'Plan' (text/plain) is empty.", count: 0, content: '', truncated: false },
  });
});

test('reads a long file in parts that are the file together, and splits no character', async () => {
  const content = 'ab😀cd😀'.repeat(20);
  const { read } = await startRead([{ id: 'f1', name: 'Plan', mimeType: 'text/plain', content }]);
  let whole = '';
  let offset: unknown = 0;
  while (typeof offset === 'number') {
    const { value } = await read({ file_id: 'f1', offset, max_characters: 7 }).then((end) =>
      'value' in end ? { value: JSON.parse(JSON.stringify(end.value)) } : { value: {} },
    );
    expect(value.content.isWellFormed()).toBe(true);
    whole += value.content;
    expect(value.truncated).toBe(value.next_offset !== undefined);
    offset = value.next_offset;
  }
  expect(whole).toBe(content);
});

test('reads a long text of characters of three bytes in parts of the length that was asked for', async () => {
  const content = `\ufeff${'€'.repeat(100)}`;
  const { read } = await startRead([{ id: 'f1', name: 'Plan', mimeType: 'text/plain', content }]);
  expect(await read({ file_id: 'f1', max_characters: 40 })).toMatchObject({
    value: { content: '€'.repeat(40), truncated: true, next_offset: 40 },
  });
  expect(await read({ file_id: 'f1', offset: 40, max_characters: 40 })).toMatchObject({
    value: { content: '€'.repeat(40), truncated: true, next_offset: 80 },
  });
  expect(await read({ file_id: 'f1', offset: 80, max_characters: 40 })).toMatchObject({
    value: { content: '€'.repeat(20), truncated: false },
  });
});

test('tells how to go on, and refuses to begin behind the end', async () => {
  const { read } = await startRead([{ id: 'f1', name: 'Plan', mimeType: 'text/plain', content: 'x'.repeat(100) }]);
  expect(await read({ file_id: 'f1', max_characters: 10 })).toMatchObject({
    value: {
      display: "'Plan' (text/plain), 10 characters. There is more: call again with offset 10.",
      truncated: true,
      next_offset: 10,
    },
  });
  expect(await read({ file_id: 'f1', offset: 100 })).toMatchObject({
    kind: 'empty',
    message: "The end of 'Plan' (text/plain) is reached.",
  });
  expect(await read({ file_id: 'f1', offset: 101 })).toMatchObject({
    code: 'retry_requested',
    message: "offset 101 is past the readable end of 'Plan', at 100 characters. Send a smaller offset.",
  });
});

test('reads no more than 10 MiB of a file, and says so', async () => {
  const content = 'x'.repeat(10_485_760 + 50);
  const { read } = await startRead([{ id: 'f1', name: 'Log', mimeType: 'text/plain', content }]);
  expect(await read({ file_id: 'f1', offset: 10_485_750, max_characters: 100 })).toMatchObject({
    value: {
      display:
        "'Log' (text/plain), 10 characters. The rest cannot be read: only the first 10485760 bytes of a file are readable.",
      truncated: true,
    },
  });
});

test('follows a shortcut once', async () => {
  const { read } = await startRead([
    { id: 's1', name: 'Link', mimeType: `${GOOGLE}shortcut`, target: 'f1' },
    { id: 's2', name: 'Link', mimeType: `${GOOGLE}shortcut`, target: 's1' },
    { id: 's3', name: 'Link', mimeType: `${GOOGLE}shortcut`, target: 'gone' },
    { id: 'f1', name: 'Plan', mimeType: 'text/plain', content: 'one' },
  ]);
  expect(await read({ file_id: 's1' })).toMatchObject({ value: { id: 'f1', content: 'one' } });
  expect(await read({ file_id: 's2' })).toMatchObject({ code: 'retry_requested' });
  expect(await read({ file_id: 's3' })).toMatchObject({
    code: 'retry_requested',
    message: expect.stringContaining("There is no file 'gone'"),
  });
});

test.each([
  'https://docs.google.com/document/d/f1/edit?usp=sharing',
  'https://drive.google.com/file/d/f1/view',
  'https://drive.google.com/open?id=f1',
  'https://docs.google.com/spreadsheets/u/0/d/f1/edit#gid=0',
  ' f1 ',
])('takes %s for the file', async (written) => {
  const { read } = await startRead([{ id: 'f1', name: 'Plan', mimeType: 'text/plain', content: 'one' }]);
  expect(await read({ file_id: written })).toMatchObject({ value: { id: 'f1' } });
});

test.each([
  'https://example.com/d/f1',
  '../about',
  'f1?alt=media',
  'Plan.txt',
  'https://drive.google.com/drive/my-drive',
])('takes %s for no file, and asks nobody', async (written) => {
  const { lab, read } = await startRead([]);
  expect(await read({ file_id: written })).toMatchObject({
    code: 'retry_requested',
    message: `'${written}' is not the id or URL of a Google Drive file. Call search_drive to find the file.`,
  });
  expect(lab.standIn.requests).toEqual([]);
});

test.each([
  {
    reason: 'exportSizeLimitExceeded',
    code: 'retry_requested',
    message:
      'The document is too large: Google exports at most 10 MB. Choose a smaller one, or ask a human to split it.',
  },
  {
    reason: 'cannotDownloadFile',
    code: 'tool_failed',
    message:
      'The owner of the file has disabled downloads. A human must allow them in the sharing settings of the file.',
  },
])('says why an export is refused: $reason', async ({ reason, code, message }) => {
  let asked = 0;
  const files = createDriveRoutes([{ id: 'f1', name: 'Plan', mimeType: `${GOOGLE}document` }]);
  const lab = await startGoogleLab({
    routes: [
      ({ path }) => {
        asked += path.endsWith('/export') ? 1 : 0;
        const error = { code: 403, message: 'No.', errors: [{ reason, domain: 'global', message: 'No.' }] };
        return path.endsWith('/export') ? { status: 403, body: { error } } : undefined;
      },
      ...files,
    ],
  });
  expect(await callTool(createReadDriveFile(lab), { file_id: 'f1' })).toMatchObject({ code, message });
  expect(asked).toBe(1);
});

const NO_ACCESS = `There is no access to file 'f1'. A human must share it with ${TEST_ACCOUNT}.`;
const QUOTED = "Google Drive refuses this (403). Google says: 'No.'. A human must resolve this.";

test.each([
  ['forbidden', 'No.', NO_ACCESS],
  ['insufficientFilePermissions', 'No.', NO_ACCESS],
  ['', 'No.', NO_ACCESS],
  ['domainPolicy', 'No.', QUOTED],
  ['appNotAuthorizedToFile', 'No.', QUOTED],
  ['cannotDownloadAbusiveFile', 'No.', QUOTED],
  ['fileNotDownloadable', 'No.', QUOTED],
  ['responseTooLarge', 'No.', QUOTED],
  ['limitExceeded', 'No.', QUOTED],
  [
    'a_reason_of_tomorrow',
    '',
    "Google Drive refuses this (403). Google says: 'a_reason_of_tomorrow'. A human must resolve this.",
  ],
])('asks for the file to be shared only where that is what is missing: %s, %s', async (reason, words, message) => {
  const { lab, read } = await startRead([{ id: 'f1', name: 'Plan', mimeType: 'text/plain', content: 'one' }]);
  lab.standIn.fault({ kind: 'status', status: 403, reason, message: words });
  expect(await read({ file_id: 'f1' })).toMatchObject({ code: 'tool_failed', message });
});
