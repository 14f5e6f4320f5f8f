import { DATE_RULE, isToldValue, pageShape } from '@recourse/toolkit-kit/page-answers';
import { answerChainedPage } from '@recourse/toolkit-kit/paging/page-chain';
import { defineTool } from 'recourse-server';
import type { InlineTool, PageTokens, ToolContext } from 'recourse-server/extension';
import * as z from 'zod';
import { DRIVE_KINDS, type DriveFile, FoundDriveFile, openDrive, parseDriveFile } from './drive-file.ts';
import { mapInSteps, WellFormedText } from './email-text.ts';
import type { GoogleAccess } from './google-access.ts';
import { beginGoogleCall, createTokenHider, DRIVE } from './google-call.ts';

/**
 * A search for words in the names and texts of files, folders included, without what is in the trash, in Drive's query
 * language (https://developers.google.com/workspace/drive/api/guides/ref-search-terms). No text breaks out of its quotes.
 */
const buildDriveQuery = ({ query, kind, modified_after: day }: Omit<z.output<typeof input>, 'page'>): string => {
  const plain = query.replace(/[\s\p{Cc}]+/gu, ' ').trim();
  const kinds = (kind === undefined ? [] : DRIVE_KINDS[kind]).map((type) => `mimeType = ${quote(type)}`).join(' or ');
  return [
    `(name contains ${quote(plain.replaceAll('"', ''))} or fullText contains ${quote(findPhrases(plain))})`,
    'trashed = false',
    ...(kinds === '' ? [] : [`(${kinds})`]),
    ...(day === undefined ? [] : [`modifiedTime >= ${quote(`${day}T00:00:00`)}`]),
  ].join(' and ');
};

// The two signs that mean something within quotes.
const quote = (text: string): string => `'${text.replace(/[\\']/g, '\\$&')}'`;

// Double quotes make a phrase of words; one that has no partner is a mistake for Drive.
const findPhrases = (text: string): string =>
  (text.split('"').length - 1) % 2 === 0 ? text : text.replaceAll('"', '');

type DriveToolOptions = { readonly google: GoogleAccess; readonly pageTokens: PageTokens };

const MOST_ON_PAGE = 50;

const input = z.object({
  query: WellFormedText.max(1_000)
    .regex(/\S/, 'must not be blank')
    .describe('Words in the name or the text of a file; "in double quotes" as a phrase. Not a query language.')
    .meta({ examples: ['platform sync February'] }),
  kind: z
    .enum(['document', 'spreadsheet', 'presentation', 'text', 'pdf', 'folder'])
    .optional()
    .describe('Only files of this kind.'),
  modified_after: z.iso
    .date(DATE_RULE)
    .optional()
    .describe('Only files changed on this day (UTC) or later: YYYY-MM-DD.'),
  page: z.int().min(1).max(1_000).default(1).describe('Request pages in order, with the other arguments unchanged.'),
  page_size: z.int().min(1).max(MOST_ON_PAGE).default(20).describe('Files per page.'),
});

const output = z.object({
  ...pageShape,
  files: z.array(
    z.object({
      id: z.string().describe('For read_drive_file.'),
      name: z.string(),
      mime_type: z.string(),
      modified: z.string().nullable().describe('When it was last changed, RFC 3339.'),
      url: z.string().nullable(),
    }),
  ),
});

const FIELDS = 'kind,incompleteSearch,nextPageToken,files(id,name,mimeType,modifiedTime,webViewLink)';
// `kind` proves that this is the list: `files` may be left out of one that is empty.
const FileList = z.object({
  kind: z.literal('drive#fileList'),
  incompleteSearch: z.boolean().nullish(),
  nextPageToken: z.string().nullish(),
  files: z
    .array(z.unknown())
    .nullish()
    .transform((files) => (files ?? []).slice(0, MOST_ON_PAGE))
    .pipe(z.array(FoundDriveFile)),
});

/** `search_drive`: files that the account can see, in its own Drive and in shared ones. */
export const createSearchDrive = (options: DriveToolOptions): InlineTool =>
  // The page's list is a member named at run time: its type is checked with each call, not by the compiler.
  defineTool<typeof input, z.ZodType>({
    name: 'search_drive',
    description:
      'Searches Google Drive for files by words of their name or text. Returns id, name, mime_type, modified and url of each; read_drive_file reads one. Results come in pages: if has_more is true, call again with page + 1.',
    effects: 'read',
    input,
    output,
    run: (asked, context) => search(options, asked, context),
  });

const search = async (
  { google, pageTokens: tokens }: DriveToolOptions,
  { page, ...query }: z.output<typeof input>,
  context: Pick<ToolContext, 'session' | 'signal' | 'timeoutMs'>,
) => {
  const call = beginGoogleCall(context);
  let isIncomplete = false;
  const read = async (pageToken: string | undefined) => {
    const wanted = {
      q: buildDriveQuery(query),
      pageSize: query.page_size,
      fields: FIELDS,
      // What is in a shared drive is not the account's own, and is looked for all the same.
      corpora: 'allDrives',
      includeItemsFromAllDrives: true,
      supportsAllDrives: true,
      ...(pageToken === undefined ? {} : { pageToken }),
    };
    const found = await google.read(
      DRIVE,
      async (auth, send) => (await openDrive(auth)).files.list(wanted, send),
      FileList,
      call,
    );
    isIncomplete = found.incompleteSearch === true;
    const hide = createTokenHider(call);
    const files = found.files.slice(0, query.page_size);
    const items = await mapInSteps(files, (file) => readItem(parseDriveFile(file, hide)));
    return { items, nextToken: found.nextPageToken };
  };
  const words = { one: 'file', many: 'files' };
  const list = { words, key: 'files', tool: 'search_drive', verb: 'Search', query } as const;
  const answer = await answerChainedPage({ ...list, tokens, page, context, read });
  return isIncomplete ? explainIncomplete(answer) : answer;
};

const readItem = ({ id, name, mimeType, modifiedTime, webViewLink }: DriveFile) => ({
  id,
  name,
  mime_type: mimeType,
  modified: modifiedTime,
  url: webViewLink,
});

/** Never told as empty: what was not found may stand where Drive did not look. */
const explainIncomplete = (answer: object): z.output<typeof output> => {
  const value = output.parse(isToldValue(answer) ? answer.value : answer);
  return { ...value, display: `${value.display} Drive could not search everywhere: some files may be missing.` };
};
