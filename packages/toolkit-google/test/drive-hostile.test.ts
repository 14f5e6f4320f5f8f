import { expect, test } from 'vitest';
import { createReadDriveFile } from '#src/read-drive-file.ts';
import { createSearchDrive } from '#src/search-drive.ts';
import { callTool, startGoogleLab } from '#test/support/google-lab.ts';

type Shape = Readonly<Record<string, unknown>>;

const FILE = { id: 'f1', name: 'Plan', mimeType: 'text/plain' };
const SHORTCUT = 'application/vnd.google-apps.shortcut';
const UNREADABLE = {
  code: 'upstream_unavailable',
  message: 'Google Drive sent an answer that cannot be read. Try again later.',
};

const searchAmong = async (list: Shape, input: Shape = {}) => {
  const lab = await startGoogleLab({ routes: [() => ({ body: { kind: 'drive#fileList', ...list } })] });
  return callTool(createSearchDrive(lab), { query: 'plan', ...input });
};

const readOne = async (file: Shape) => {
  const lab = await startGoogleLab({ routes: [() => ({ body: file })] });
  return { lab, end: await callTool(createReadDriveFile(lab), { file_id: 'f1' }) };
};

test('no more files are given than were asked for', async () => {
  const files = Array.from({ length: 10_000 }, (_, place) => ({ ...FILE, id: `f${place}` }));
  expect(await searchAmong({ files }, { page_size: 2 })).toMatchObject({
    value: { count: 2, files: [{ id: 'f0' }, { id: 'f1' }] },
  });
});

test('members that are null count as none', async () => {
  const file = { ...FILE, modifiedTime: null, webViewLink: null, shortcutDetails: null };
  expect(await searchAmong({ files: [file], nextPageToken: null })).toMatchObject({
    value: { has_more: false, files: [{ id: 'f1', modified: null, url: null }] },
  });
});

test('texts are one line of what can be seen, and a link that leads nowhere is none', async () => {
  const files = [
    {
      id: 'f1',
      name: '\u001b[31mPay\u202e\r\nnow\u{e0041}\ud800',
      mimeType: 'text/plain\nx',
      modifiedTime: 'soon',
      webViewLink: 'javascript:alert(1)',
    },
  ];
  const expected = { name: '[31mPay now \ufffd', mime_type: 'text/plain x', modified: null, url: null };
  expect(await searchAmong({ files })).toMatchObject({ value: { files: [expected] } });
});

test.each(['..', '', 'a/b', 'x'.repeat(201)])('an id that is none cannot be read: %j', async (id) => {
  expect(await searchAmong({ files: [{ ...FILE, id }] })).toMatchObject(UNREADABLE);
  const own = await readOne({ ...FILE, id });
  expect(own.end).toMatchObject(UNREADABLE);
  const target = await readOne({ ...FILE, mimeType: SHORTCUT, shortcutDetails: { targetId: id } });
  expect(target.end).toMatchObject(UNREADABLE);
  expect(target.lab.standIn.apiRequests()).toHaveLength(1);
});

test.each([
  { what: 'endless', token: 'x'.repeat(4_097) },
  { what: 'of several lines', token: 'a\nb' },
  { what: 'not ASCII', token: 'é' },
  { what: 'half an emoji', token: '\ud800' },
])('a further page whose token is $what is not promised', async ({ token }) => {
  expect(await searchAmong({ files: [FILE], nextPageToken: token })).toMatchObject({
    value: { has_more: true, display: '1 file found on page 1. There are more, but no further page is available.' },
  });
});

test.each(['x\ud800', '\udc00', 'a \ude00\ud83d b'])('half an emoji is no text to look for: %j', async (query) => {
  const lab = await startGoogleLab({ routes: [] });
  expect(await callTool(createSearchDrive(lab), { query })).toMatchObject({
    code: 'invalid_arguments',
    message: 'contains half a character (a lone surrogate); send the whole character',
  });
  expect(lab.standIn.requests).toEqual([]);
});
