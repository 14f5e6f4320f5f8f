import { createDriveRoutes, type StandInFile } from '@recourse/test-support/google/drive-routes.ts';
import { expect, test } from 'vitest';
import { createSearchDrive } from '#src/search-drive.ts';
import { callTool, type GoogleLab, startGoogleLab } from '#test/support/google-lab.ts';

const file = (place: number): StandInFile => ({ id: `id${place}`, name: `Plan ${place}`, mimeType: 'text/plain' });
const THREE = [file(1), file(2), file(3)];

const startSearch = async (files: readonly StandInFile[]) => {
  const lab: GoogleLab = await startGoogleLab({ routes: createDriveRoutes(files) });
  const tool = createSearchDrive(lab);
  return {
    lab,
    search: (input: Readonly<Record<string, unknown>>, session: string | null = 's1') =>
      callTool(tool, input, { session }),
    queries: () => lab.standIn.apiRequests().map(({ query }) => query.get('q')),
  };
};

const listed = (place: number) => ({
  id: `id${place}`,
  name: `Plan ${place}`,
  mime_type: 'text/plain',
  modified: '2026-02-05T10:30:37.000Z',
  url: `https://drive.google.com/file/d/id${place}/view`,
});

test('finds files', async () => {
  const { lab, search } = await startSearch(THREE);
  expect(await search({ query: 'Plan 2' })).toEqual({
    kind: 'ok',
    message: '',
    value: { display: '1 file found.', count: 1, page: 1, has_more: false, files: [listed(2)] },
  });
  expect(Object.fromEntries(lab.standIn.apiRequests()[0]?.query ?? [])).toEqual({
    q: "(name contains 'Plan 2' or fullText contains 'Plan 2') and trashed = false",
    pageSize: '20',
    fields: 'kind,incompleteSearch,nextPageToken,files(id,name,mimeType,modifiedTime,webViewLink)',
    corpora: 'allDrives',
    includeItemsFromAllDrives: 'true',
    supportsAllDrives: 'true',
  });
});

test('finds nothing, which is a success', async () => {
  const { search } = await startSearch(THREE);
  expect(await search({ query: 'Chris 1:1 February 5 2026' })).toEqual({
    kind: 'empty',
    message: 'No files found.',
    value: { display: 'No files found.', count: 0, page: 1, has_more: false, files: [] },
  });
});

test('finds nothing where Google leaves the empty list out', async () => {
  const { lab, search } = await startSearch([]);
  lab.standIn.fault({ kind: 'body', body: '{"kind":"drive#fileList"}' });
  expect(await search({ query: 'x' })).toMatchObject({ kind: 'empty', value: { count: 0 } });
});

test.each([
  {
    what: 'what it found',
    body: { files: [{ id: 'id1', name: 'Plan 1', mimeType: 'text/plain' }] },
    display: '1 file found. Drive could not search everywhere: some files may be missing.',
    count: 1,
  },
  {
    what: 'that it found nothing, which is not told as empty',
    body: { files: [] },
    display: 'No files found. Drive could not search everywhere: some files may be missing.',
    count: 0,
  },
])('says where Drive has not looked everywhere, with $what', async ({ body, display, count }) => {
  const { lab, search } = await startSearch([]);
  const list = { kind: 'drive#fileList', incompleteSearch: true, ...body };
  lab.standIn.fault({ kind: 'body', body: JSON.stringify(list) });
  expect(await search({ query: 'plan' })).toMatchObject({ kind: 'ok', value: { display, count, has_more: false } });
});

test('reads page after page, each with the token that came with the one before', async () => {
  const { lab, search } = await startSearch(THREE);
  const page = (number: number) => search({ query: 'plan', page_size: 1, page: number });
  expect(await page(1)).toMatchObject({
    value: { display: '1 file found on page 1. More on page 2.', has_more: true },
  });
  expect(await page(2)).toMatchObject({ value: { files: [listed(2)], page: 2, has_more: true } });
  expect(await page(3)).toMatchObject({ value: { files: [listed(3)], page: 3, has_more: false } });
  expect(lab.standIn.apiRequests().map(({ query }) => query.get('pageToken'))).toEqual([
    null,
    '~!!~after-1',
    '~!!~after-2',
  ]);
});

test.each([
  {
    what: 'that no page led to',
    before: { query: 'plan', page_size: 1 },
    page: 5,
    after: { query: 'plan', page_size: 1 },
  },
  {
    what: 'of another search',
    before: { query: 'plan', page_size: 1 },
    page: 2,
    after: { query: 'other', page_size: 1 },
  },
])('refuses a page $what, and asks nobody', async ({ before, page, after }) => {
  const { lab, search } = await startSearch(THREE);
  await search(before);
  expect(await search({ ...after, page })).toMatchObject({
    code: 'retry_requested',
    message: `Page ${page} not available. Search from page 1 first.`,
  });
  expect(lab.standIn.apiRequests()).toHaveLength(1);
});

test('refuses the page of another session', async () => {
  const { search } = await startSearch(THREE);
  await search({ query: 'plan', page_size: 1 }, 's1');
  expect(await search({ query: 'plan', page_size: 1, page: 2 }, 's2')).toMatchObject({ code: 'retry_requested' });
});

test('asks to start again where Google has forgotten the page', async () => {
  const { lab, search } = await startSearch(THREE);
  await search({ query: 'plan', page_size: 1 });
  lab.standIn.fault({ kind: 'status', status: 400, reason: 'invalid', location: 'pageToken' });
  expect(await search({ query: 'plan', page_size: 1, page: 2 })).toMatchObject({
    code: 'retry_requested',
    message: 'This page is no longer available. Start from page 1 again.',
  });
});

test.each([
  { query: "Anna's", q: "(name contains 'Anna\\'s' or fullText contains 'Anna\\'s') and trashed = false" },
  {
    query: "x' or name contains 'a",
    q: "(name contains 'x\\' or name contains \\'a' or fullText contains 'x\\' or name contains \\'a') and trashed = false",
  },
  {
    query: "\\' or trashed = true",
    q: "(name contains '\\\\\\' or trashed = true' or fullText contains '\\\\\\' or trashed = true') and trashed = false",
  },
  { query: 'back\\', q: "(name contains 'back\\\\' or fullText contains 'back\\\\') and trashed = false" },
  { query: '"two words"', q: "(name contains 'two words' or fullText contains '\"two words\"') and trashed = false" },
  { query: '"half', q: "(name contains 'half' or fullText contains 'half') and trashed = false" },
  { query: ' a\n\tb\u0000c ', q: "(name contains 'a b c' or fullText contains 'a b c') and trashed = false" },
])('looks for the text as it is: $query', async ({ query, q }) => {
  const { search, queries } = await startSearch(THREE);
  expect(await search({ query })).toMatchObject({ kind: expect.stringMatching(/^(ok|empty)$/) });
  expect(queries()).toEqual([q]);
});

test('limits a search to a kind and to a time', async () => {
  const { search, queries } = await startSearch(THREE);
  await search({ query: 'a', kind: 'pdf', modified_after: '2026-02-05' });
  await search({ query: 'a', kind: 'text' });
  expect(queries()).toEqual([
    "(name contains 'a' or fullText contains 'a') and trashed = false and (mimeType = 'application/pdf') and modifiedTime >= '2026-02-05T00:00:00'",
    "(name contains 'a' or fullText contains 'a') and trashed = false and (mimeType = 'text/plain' or mimeType = 'text/markdown')",
  ]);
});

test.each(['tomorrow', '2026-13-01', '2026-02-30', '5.2.2026'])('refuses %s as a day', async (day) => {
  const { lab, search } = await startSearch(THREE);
  expect(await search({ query: 'a', modified_after: day })).toMatchObject({
    code: 'invalid_arguments',
    message: 'Invalid date format. Use YYYY-MM-DD.',
  });
  expect(lab.standIn.requests).toEqual([]);
});

test.each([
  { query: '' },
  { query: '  ' },
  { query: 'a'.repeat(1_001) },
  { query: 'a', page: 1_001 },
  { query: 'a', page_size: 51 },
])('refuses arguments beyond its bounds', async (input) => {
  const { search } = await startSearch(THREE);
  expect(await search(input)).toMatchObject({ code: 'invalid_arguments' });
});
